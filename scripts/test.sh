#!/usr/bin/env bash
# Everything that must hold before a change is merged: `make test`, and what CI runs. At the end a
# table tells where the time went. What takes longer is in scripts/nightly.sh.
# JOBS=N limits the compilers and tests that run at once (default: the processors there are).
set -euo pipefail
cd "$(dirname "$0")/.."
export JOBS=${JOBS:-$(nproc)}
at_once=$((JOBS + 1))  # tests: many of them wait for other processes, or a disk, most of the time
began=$SECONDS
notes=$(mktemp -d)

say() { printf '\n== %s  (%d s so far)\n' "$1" $((SECONDS - began)); }

# The seconds of a processor that the commands of this shell have taken.
processor_seconds() {
  times >"$notes/times.$BASHPID"
  awk 'NR == 2 { split($1 "m" $2, t, /[ms]+/); print int(60 * (t[1] + t[3]) + t[2] + t[4]) }' \
    "$notes/times.$BASHPID"
}

# noted NAME COMMAND...: runs it, and notes its seconds, by the clock and of a processor.
noted() {
  local name=$1 start=$SECONDS code=0 processor
  processor_seconds >"$notes/before.$BASHPID"
  shift
  "$@" || code=$?
  processor_seconds >"$notes/after.$BASHPID"
  processor=$(($(<"$notes/after.$BASHPID") - $(<"$notes/before.$BASHPID")))
  printf '%6d s  %6d s  %s\n' $((SECONDS - start)) "$processor" "$name" >>"$notes/table"
  [ $code -eq 0 ] || printf '                    failed, exit code %d\n' $code >>"$notes/table"
  return $code
}

# stage NAME COMMAND...: the first failure ends the run. Of a function it is the status that counts:
# `set -e` does not reach into one.
stage() {
  ! beside_has_failed || exit 1
  say "$1"
  noted "$@" || exit
}

# What runs beside the stages, in lanes, one behind the other in each: it is said when it ends, and
# is awaited at last.
#   beside NAME COMMAND...     one more for the next lane
#   start_lane NICENESS        runs these; 5: in processor time that others leave
besides=() lanes=()
beside() { besides+=("$(printf '%q ' "$@")"); }
run_lane() {
  local each
  for each in "${besides[@]}"; do
    eval "noted_beside $each" && continue
    mv "$notes/output.$BASHPID" "$notes/failed"
    return 1
  done
}
noted_beside() {
  local code=0
  noted "$@" >"$notes/output.$BASHPID" 2>&1 || code=$?
  say "beside: $1"
  cat "$notes/output.$BASHPID"
  return $code
}
start_lane() {
  set -m  # a group of its own, which ends as a whole
  (renice -n "$1" $BASHPID >"$notes/nice.$BASHPID"; run_lane) &
  lanes+=($!)
  set +m
  besides=()
}
beside_has_failed() { [ -e "$notes/failed" ]; }
await_lanes() {
  local lane
  for lane in "${lanes[@]}"; do wait "$lane"; done
}

ended() {
  local code=$? lane
  for lane in "${lanes[@]}"; do
    if kill -- -"$lane" 2>/dev/null; then wait "$lane" || true; fi
  done
  printf '\n== where the time went: seconds of the clock, seconds of a processor\n'
  cat "$notes/table" 2>/dev/null
  printf '%6d s            in all\n' $((SECONDS - began))
  if beside_has_failed; then
    printf '\n== what failed beside the stages ended with\n'
    tail -n 30 "$notes/failed"
  fi
  rm -rf "$notes"
  exit $code
}
trap ended EXIT

# The public interface, over every engine, and damaged pools. What is not shipped, or looks at the
# engines from within, is for scripts/nightly.sh: its build alone takes ten minutes. So are the checks
# of the preset asan that double the time of the compiler.
asan_targets=(base_test media_test persist_test store_test fuzz_smoke_test warp_test)
unit_under_asan() {
  DURAHASH_FUZZ_POOLS=400 ctest --preset asan-quick -j $at_once --progress -L unit \
    -R '^(base|media|persist|store|fuzz_smoke|warp)\.' -E '\.(LongModel|Kill)\.'
}
references() {
  scripts/check_layers.py && scripts/check_names.py && scripts/check_engines.py && scripts/check_docs.py && scripts/check_prose.py &&
    scripts/docs.sh --or-skip && scripts/aarch64.sh headers
}
stress_under_tsan() {
  scripts/with_tsan.sh build/tsan-quick/bin/stress_test --gtest_brief=1
}
explore() {
  local explore="build/check/bin/durahash crash --engine all --quick --seed ${CRASH_SEED:-1}"
  # what can be left out is tried by tool.crash_test, by its witnesses; more schedules take as long
  # as all else here, and are for nightly.sh
  $explore --ops 40 --rounds 1 --schedules 30 --no-elisions &&
    $explore --mutants
}

scripts/setup.sh gdb count clang  # gdb's printers have a test

# What fails soonest stands first.
stage "layers, names, documents: what refers to what, and short sentences" references
stage "formatting" scripts/check_format.sh
stage "release build: library, tool, explorer, tests" \
  scripts/build.sh check all durahash_server durahash_server_faulty durahash_instructions

stage "the Python package: its extensions" scripts/python.sh --or-skip build

beside "AddressSanitizer, UndefinedBehaviorSanitizer: build of six tests" \
  scripts/build.sh asan-quick "${asan_targets[@]}"
beside "AddressSanitizer, UndefinedBehaviorSanitizer: unit tests" unit_under_asan
beside "ThreadSanitizer: build of the stress tests" scripts/build.sh tsan-quick stress_test
beside "ThreadSanitizer: stress tests" stress_under_tsan
start_lane 5
# These wait most of the time. What they have to build is built.
beside "the Python package: tests" scripts/python.sh --or-skip test
beside "the module for redis-server and valkey-server, where one can be installed" \
  scripts/server.sh --or-skip test
beside "instructions of each operation, beside those recorded" scripts/instructions.py --check
start_lane 0

# The stress tests run longer under ThreadSanitizer.
stage "all tests, release build" env DURAHASH_STRESS_SECONDS=0.1 ctest --preset check -j $at_once
stage "crash exploration, bounded; what is left out, and planted bugs" explore
stage "power cuts in a guest machine, where QEMU is installed (all of them: make guest)" \
  test/guest/guest.py --bin build/check/bin --or-skip --only-cuts --cuts 10
stage "power cuts of a disk that loses what was not flushed (all of them: make guest-disk)" \
  test/guest/disk_guest.py --bin build/check/bin --or-skip --cuts 4
say "what runs beside all of this"
await_lanes
