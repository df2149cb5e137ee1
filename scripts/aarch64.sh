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
    $compiler -std=c++20 -march=armv8-a+crc -Wall -Wextra -Werror -Wno-psabi -fsyntax-only -Iinclude -Isrc -I. "$unit"
  done
  # the headers alone: xxhash.h of this machine does for both
  printf '#include "base/bytes16.hpp"\n#include "base/spin_lock.hpp"\n#include "media/pmem_medium.hpp"\n' |
    $compiler -std=c++20 -march=armv8-a+crc -Wall -Wextra -Werror -fsyntax-only -Iinclude -Isrc -x c++ -
  exit 0
fi

scripts/setup.sh aarch64
scripts/build.sh aarch64 base_test media_test store_test durahash_explorer
bin=build/aarch64/bin built=$SECONDS
# Without a bound on addresses (-R, 16 GiB) the emulator's notes on the pages that a pool sets aside
# take gigabytes. The processor is one of Armv8.0: later ones of qemu 7.2 say that they have
# `dc cvap`, and end a program that uses it.
emulated=(nice -n 5 qemu-aarch64 -cpu cortex-a72 -R 0x400000000 -L /)
run() {
  printf '\n== %s\n' "$*"
  "${emulated[@]}" "$@"
}
# As many at once as JOBS, each with its share of the tests.
run_in_shares() {
  local shares=${JOBS:-$(nproc)} share code=0
  local running=()
  printf '\n== %s (in %d shares)\n' "$*" "$shares"
  for ((share = 0; share < shares; ++share)); do
    GTEST_TOTAL_SHARDS=$shares GTEST_SHARD_INDEX=$share "${emulated[@]}" "$@" &
    running+=($!)
  done
  for share in "${running[@]}"; do wait "$share" || code=$?; done
  return $code
}
# What these two ask /proc of is the emulator: its addresses, and a number of threads that is 0.
run $bin/base_test --gtest_brief=1 --seed "$seed" \
  --gtest_filter='-OwnThread.TakesFewAddressesOfTheProgram:ProcessFacts.OfThisProcessAreThoseOfItsNumber'
run $bin/media_test --gtest_brief=1 --seed "$seed" --gtest_filter='CacheLine.*:*Medium.*'
run_in_shares $bin/store_test --gtest_brief=1 --seed "$seed" \
  --gtest_filter='*Operations.*:*Batches.*:*Scans.*:*Closing.*:*Model.*:*TypedMap*:-*Long*'
run $bin/durahash-crash --engine all --quick --rounds 1 --ops 12 --schedules 5 --no-elisions --seed "$seed"
printf '\n%d s after the build\n' $((SECONDS - built))
