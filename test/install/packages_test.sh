#!/usr/bin/env bash
# Builds and installs the library in other forms than the finished build's, and sees what each demands of the projects that use it:
# without libpmem2 nothing; shared, nothing but what the loader finds; static with libpmem2, that one.
#   packages_test.sh SOURCE_FOLDER BUILD_FOLDER SCRATCH_FOLDER CXX_COMPILER
set -euo pipefail
source=$1 build=$2 scratch=$3 compiler=$4

if [ "${DURAHASH_LONG:-}" != 1 ]; then
  echo "packages_test: it builds the library twice, in minutes: for DURAHASH_LONG=1, as make nightly sets it"
  exit 77
fi

fail() {
  echo "packages_test: $*" >&2
  exit 1
}

# The flags of the finished build: a compiler cache has most of the objects.
package() {
  local name=$1
  shift
  if ! { cmake -S "$source" -B "$scratch/$name" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=Release \
      -DDURAHASH_WERROR=ON -DDURAHASH_BUILD_TOOL=OFF -DDURAHASH_BUILD_TESTS=OFF -DDURAHASH_INSTALL=ON "$@" &&
      cmake --build "$scratch/$name" && cmake --install "$scratch/$name" --prefix "$scratch/$name-prefix"; } >"$scratch/$name.log" 2>&1; then
    cat "$scratch/$name.log"
    fail "the package $name is not made"
  fi
}
# Configures the example, and a program that asks for persistent memory, where pkg-config cannot be had.
configure_user() {
  local name=$1 prefix=$2
  cp -r "$source/examples/embed" "$scratch/$name-user"
  cp "$source/test/install/without_pmem2.cpp" "$scratch/$name-user"
  printf 'add_executable(without_pmem2 without_pmem2.cpp)\ntarget_link_libraries(without_pmem2 PRIVATE durahash::durahash)\n' \
    >>"$scratch/$name-user/CMakeLists.txt"
  cmake -S "$scratch/$name-user" -B "$scratch/$name-user-build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_COMPILER="$compiler" \
    -DCMAKE_DISABLE_FIND_PACKAGE_PkgConfig=ON >"$scratch/$name-user.log" 2>&1
}
use() {
  local name=$1
  configure_user "$name" "$scratch/$name-prefix" || { cat "$scratch/$name-user.log"; fail "the package $name demands more than it needs"; }
  cmake --build "$scratch/$name-user-build" >>"$scratch/$name-user.log" 2>&1 ||
    { cat "$scratch/$name-user.log"; fail "a program does not link with the package $name"; }
  mkdir "$scratch/$name-data"
  "$scratch/$name-user-build/embed" "$scratch/$name-data" | grep -qx 'run 1' || fail "a program of the package $name does not run"
}

rm -rf "$scratch"
mkdir -p "$scratch"

package small -DDURAHASH_PMEM2=OFF
use small
if nm "$scratch/small-user-build/embed" | grep pmem2_; then fail "libpmem2 is needed all the same"; fi
said=$("$scratch/small-user-build/without_pmem2")
echo "$said"
[ "$said" = "cannot use /dev/shm/none.dh as persistent memory: this build of durahash was made without libpmem2" ] ||
  fail "that is not what a library without libpmem2 says of persistent memory"

package shared -DBUILD_SHARED_LIBS=ON
use shared
readelf -d "$scratch/shared-user-build/embed" | grep -q 'NEEDED.*libdurahash' || fail "the library is not shared"

if grep -q '^if(ON)' "$build/durahashConfig.cmake"; then  # with libpmem2
  cmake --install "$build" --prefix "$scratch/static-prefix" >"$scratch/static.log"
  if configure_user static "$scratch/static-prefix"; then fail "a static library with libpmem2 does not demand it"; fi
fi
echo "packages_test: each package demands what it needs"
