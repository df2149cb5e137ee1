#!/usr/bin/env bash
# aarch64, on a machine of another kind: builds by a cross compiler, and runs under qemu-user. That
# runs one instruction after the other, so that it shows no weak memory order: for that see
# test/litmus and docs/explanation/weak-memory.md.
#   scripts/aarch64.sh             the library, its tests of conformance and of the model, and the explorer: built, run
#   scripts/aarch64.sh headers     only compiles what the processors spell each in its own way
# JOBS=N limits the compilers that run at once. AARCH64_SEED (1) is that of model and explorer.
set -euo pipefail
cd "$(dirname "$0")/.."
seed=${AARCH64_SEED:-1}

if [ "${1:-}" = headers ]; then
  compiler=aarch64-linux-gnu-g++
  if ! command -v $compiler >/dev/null; then
    echo "aarch64: no $compiler is here; nothing is compiled for it" >&2
    exit 0
  fi
  for unit in src/media/cache_line.cpp src/media/emulated_medium.cpp src/warp/host_warp.cpp src/persist/epochs.cpp bench/limits.cpp; do
    $compiler -std=c++20 -march=armv8-a -Wall -Wextra -Werror -Wno-psabi -fsyntax-only -Iinclude -Isrc -I. "$unit"
  done
  # the headers alone: xxhash.h of this machine does for both
  printf '#include "base/bytes16.hpp"\n#include "base/spin_lock.hpp"\n#include "media/pmem_medium.hpp"\n' |
    $compiler -std=c++20 -march=armv8-a -Wall -Wextra -Werror -fsyntax-only -Iinclude -Isrc -x c++ -
  exit 0
fi

scripts/setup.sh aarch64
scripts/build.sh aarch64 store_test durahash_explorer
bin=build/aarch64/bin
run() {
  printf '\n== %s\n' "$*"
  qemu-aarch64 -L / "$@"
}
run $bin/store_test --gtest_brief=1 --seed "$seed" \
  --gtest_filter='*Operations.*:*Batches.*:*Scans.*:*Closing.*:*Model.*:*TypedMap*:-*Long*'
run $bin/durahash-crash --engine all --quick --rounds 1 --schedules 20 --no-elisions --seed "$seed"
