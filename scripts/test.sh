#!/usr/bin/env bash
# Everything that must hold before a change is merged: `make test`, and what CI runs.
# JOBS=N limits the compilers and tests that run at once (default: the processors there are).
set -euo pipefail
cd "$(dirname "$0")/.."
export JOBS=${JOBS:-$(nproc)}
began=$SECONDS

stage() { printf '\n== %s  (%d s so far)\n' "$*" $((SECONDS - began)); }

stage "layers: no include looks upward"
scripts/check_layers.py

stage "release build"
scripts/build.sh release

stage "unit tests under AddressSanitizer and UndefinedBehaviorSanitizer"
scripts/build.sh asan
ctest --preset asan -j "$JOBS" -L unit --progress

stage "stress tests, and streams of a device, under ThreadSanitizer"
scripts/build.sh tsan store_test gpu_test
scripts/with_tsan.sh ctest --preset tsan -j 1 -L stress
scripts/with_tsan.sh ctest --preset tsan -j 1 -R '^gpu\.(GpuStreams|GpuCopies|GpuMap\.(FindsGoOn|AnswersAsTheModel|KeysOfABatch))'

stage "all tests, release build"
DURAHASH_STRESS_SECONDS=0.1 ctest --preset release -j "$JOBS"  # they have run longer above

stage "crash exploration, bounded (the long one: make crash)"
for engine in turbo cceh; do build/bin/durahash crash --engine $engine --rounds 1 --seed "${CRASH_SEED:-1}"; done
for engine in level gphash; do  # their elisions take longer: make crash
  build/bin/durahash crash --engine $engine --rounds 1 --seed "${CRASH_SEED:-1}" --quick --schedules 100 --no-elisions
done

stage "power cuts in a guest machine, where QEMU is installed (all of them: make guest)"
test/guest/guest.py --bin build/bin --or-skip --only-cuts --cuts 10
