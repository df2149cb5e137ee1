#!/usr/bin/env bash
# Everything that must hold before a change is merged: `make test`, and what CI runs. At the end a
# table tells where the time went. What takes longer is in scripts/nightly.sh.
# JOBS=N limits the compilers and tests that run at once (default: the processors there are).
set -euo pipefail
cd "$(dirname "$0")/.."
export JOBS=${JOBS:-$(nproc)}
at_once=$((JOBS + (JOBS + 1) / 2))  # tests: many of them wait for other processes most of the time
began=$SECONDS
stages=()

# stage NAME COMMAND...: runs it, and notes its seconds. The first failure ends the run.
stage() {
  local name=$1 start=$SECONDS code=0
  shift
  printf '\n== %s  (%d s so far)\n' "$name" $((SECONDS - began))
  "$@" || code=$?
  stages+=("$(printf '%6d s  %s' $((SECONDS - start)) "$name")")
  [ $code -eq 0 ] || stages+=("          failed, exit code $code")
  [ $code -eq 0 ] || exit $code
}
table() {
  printf '\n== where the time went, in seconds of the clock\n'
  [ ${#stages[@]} -eq 0 ] || printf '%s\n' "${stages[@]}"
  printf '%6d s  in all\n' $((SECONDS - began))
}
trap table EXIT

# The public interface, over every engine, and damaged pools. What is not shipped, or looks at the
# engines from within, is for scripts/nightly.sh: its build alone takes ten minutes.
asan_targets=(store_test persist_test fuzz_smoke_test warp_test)
# All tests of a program in $at_once processes, which is much faster than a process for each test.
sharded() {
  local program=$1 shard failed=0 children=() seed=${DURAHASH_SEED:-$RANDOM}
  shift
  for ((shard = 0; shard < at_once; ++shard)); do
    GTEST_TOTAL_SHARDS=$at_once GTEST_SHARD_INDEX=$shard DURAHASH_SEED=$seed "$program" --gtest_brief=1 "$@" &
    children+=($!)
  done
  for shard in "${children[@]}"; do wait "$shard" || failed=1; done
  return $failed
}
unit_under_asan() {
  local program failed=0
  for program in store_test persist_test warp_test; do
    sharded build/asan/bin/$program "--gtest_filter=-*Stress*:*LongModel*:*Kill*" || failed=1
  done
  DURAHASH_FUZZ_POOLS=800 build/asan/bin/fuzz_smoke_test --gtest_brief=1 || failed=1
  return $failed
}
stress_under_tsan() {
  scripts/with_tsan.sh build/tsan/bin/stress_test --gtest_brief=1
  scripts/with_tsan.sh ctest --preset tsan -j 1 \
    -R '^gpu\.(GpuStreams|GpuCopies|GpuMap\.(FindsGoOn|AnswersAsTheModel|KeysOfABatch))'
}
explore() {
  local explore="build/check/bin/durahash crash --engine all --quick --seed ${CRASH_SEED:-1}"
  $explore --rounds 1 --schedules 100
  $explore --mutants
}

# What fails soonest stands first.
stage "layers: no include looks upward" scripts/check_layers.py
stage "release build: library, tool, explorer, tests" scripts/build.sh check
# The stress tests run longer under ThreadSanitizer.
stage "all tests, release build" env DURAHASH_STRESS_SECONDS=0.1 ctest --preset check -j $at_once
stage "AddressSanitizer, UndefinedBehaviorSanitizer: build of four tests" scripts/build.sh asan "${asan_targets[@]}"
stage "AddressSanitizer, UndefinedBehaviorSanitizer: unit tests" unit_under_asan
stage "ThreadSanitizer: build of two tests" scripts/build.sh tsan stress_test gpu_test
stage "ThreadSanitizer: stress tests, and streams of a device" stress_under_tsan
stage "crash exploration, bounded; what is left out, and planted bugs" explore
stage "power cuts in a guest machine, where QEMU is installed (all of them: make guest)" \
  test/guest/guest.py --bin build/check/bin --or-skip --only-cuts --cuts 10
