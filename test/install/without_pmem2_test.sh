#!/usr/bin/env bash
# Builds the folders that know of persistent memory without libpmem2, and asks them for some.
#   without_pmem2_test.sh SOURCE_FOLDER SCRATCH_FOLDER CXX_COMPILER
set -euo pipefail
source=$1 scratch=$2 compiler=$3

rm -rf "$scratch"
cmake -S "$source" -B "$scratch" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=Debug \
  -DDURAHASH_PMEM2=OFF -DDURAHASH_BUILD_TOOL=OFF -DDURAHASH_BUILD_TESTS=OFF -DDURAHASH_INSTALL=ON >"$scratch.log"
cmake --build "$scratch" --target durahash_base durahash_media >"$scratch.log"
mapfile -t objects < <(find "$scratch/src/base" "$scratch/src/media" -name '*.o')
"$compiler" -std=c++20 -I"$source/src" -I"$source/include" "$source/test/install/without_pmem2.cpp" \
  "${objects[@]}" -lpthread -o "$scratch/program"
if nm "$scratch/program" | grep pmem2_; then
  echo "without_pmem2_test: libpmem2 is needed all the same" >&2
  exit 1
fi
said=$("$scratch/program")
echo "$said"
[ "$said" = "cannot use /dev/shm/none.dh as persistent memory: this build of durahash was made without libpmem2" ]
