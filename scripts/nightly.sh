#!/usr/bin/env bash
# What `make test` has no time for, and why: `make nightly`.
#   the explorer        make test takes elisions and planted bugs by their witnesses, and believes the arguments;
#                       here programs of another seed are explored, and the arguments are put to the test
#   all setups          make test draws a third of engines x places x interfaces x durabilities, and of
#                       the kills, damages and faults a sample (DURAHASH_LONG=1: all)
#   clang-tidy          takes five seconds a file
#   all sanitized tests the instrumented builds of the engines' own tests and of the explorer take ten minutes each;
#                       what goes on beside a table (test/world, test/faults) is watched by the clock, and slow there
#   streams of a device under ThreadSanitizer: their build and run take about 130 seconds of a processor
#   packages            the library is built twice more, for test/install/packages_test.sh
#   PTX                 of every architecture, in strong and weak order, by another seed; make test runs sm_90
#   aarch64             the library is built once more, and its tests run under an emulator
#   wheels              of the Python package, built and installed; its model and kills at length
#   ray                 is 70 MB; its example kills actors for a minute
#   the module          twenty failovers of each server
#   fuzzing             finds more the longer it runs: FUZZ_SECONDS (600)
#   the guests          minutes of booting machines: conformance, 50 power cuts on DAX and a plain disk,
#                       50 on a disk that loses what was not flushed
set -uo pipefail
cd "$(dirname "$0")/.." || exit
export JOBS=${JOBS:-$(nproc)}
seed=${CRASH_SEED:-$(date +%s)}
failed=()

part() {
  printf '\n== %s\n' "$*"
  "$@" || failed+=("$*")
}

scripts/build.sh check || exit 1
part env DURAHASH_LONG=1 DURAHASH_READER_ROUNDS=100 ctest --preset check -j "$JOBS" -LE crash --timeout 7200
if [ -e build/check/bin/gpu_on_ptx_test ]; then
  # make test has one architecture
  part cmake --preset check -DDURAHASH_CUDA_INTERPRETED=OFF
  part cmake --build --preset check --target durahash_cuda ptx_text
  part ctest --preset check -R "^gpu.is_compiled_for_every_architecture"
  mapfile -t architectures <build/check/test/ptx/architectures
  for architecture in "${architectures[@]}"; do
    for weak in 0 1; do
      part env DURAHASH_PTX_ARCHITECTURE="$architecture" DURAHASH_PTX_WEAK=$weak DURAHASH_SEED="$seed" \
        ctest --preset check -R '^gpu_on_ptx' --timeout 7200
    done
    # kills, planted bugs and budgets choose seeds and order themselves
    part env DURAHASH_PTX_ARCHITECTURE="$architecture" DURAHASH_LONG=1 \
      ctest --preset check -R '^ptx_kernels' --timeout 7200
  done
fi
scripts/python.sh build && build/python/venv/bin/pip install --quiet ray ||
  echo "nightly: ray cannot be installed; its example is skipped" >&2
part env DURAHASH_LONG=1 scripts/python.sh test
part env DURAHASH_FAILOVERS=20 scripts/server.sh test
part scripts/wheels.sh
part scripts/aarch64.sh
part make tidy
part make asan
part make tsan
part build/check/bin/durahash crash --engine all --mutants --seed "$seed"
part build/check/bin/durahash crash --engine all --rounds 1 --seed "$seed"
part build/check/bin/linear/durahash crash --engine linear --mutants --seed "$seed"
part build/check/bin/linear/durahash crash --engine linear --rounds 1 --seed "$seed"
part make fuzz FUZZ_SECONDS="${FUZZ_SECONDS:-600}"
part make guest
part make guest-disk
[ ${#failed[@]} -eq 0 ] && exit 0
printf 'failed: %s\n' "${failed[@]}" >&2
exit 1
