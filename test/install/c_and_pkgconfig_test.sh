#!/usr/bin/env bash
# Installs a finished build as `make install DESTDIR=ROOT` does, and uses it as a program in C does: by pkg-config, shared and static; by
# pkg-config from C++; by CMake, durahash::c; and, where it may, from within the root alone, which has nothing but what was installed and
# the system's own libraries.        c_and_pkgconfig_test.sh SOURCE_FOLDER BUILD_FOLDER SCRATCH_FOLDER C_COMPILER CXX_COMPILER
set -euo pipefail
source=$1 build=$2 scratch=$3 cc=$4 cxx=$5

fail() {
  echo "c_and_pkgconfig_test: $*" >&2
  exit 1
}
# Runs a program that is to end by SIGKILL, and compares what it said.
says() {
  local expected=$1 code=0 said
  shift
  said=$("$@") 2>/dev/null || code=$?
  [ "$code" -eq 137 ] || fail "$* was to end by SIGKILL (137) and ended with $code"
  [ "$said" = "$expected" ] || fail "$* said: $said"
}

rm -rf "$scratch"
mkdir -p "$scratch/data"
root=$scratch/root prefix=$scratch/root/usr/local
DESTDIR=$root cmake --install "$build" --prefix /usr/local >"$scratch/install.log" || fail "cmake --install failed"
library=$(dirname "$(find "$prefix" -name libdurahash.so | head -n 1)")
for file in "$prefix/bin/durahash" "$prefix/include/durahash/durahash.h" "$prefix/include/durahash/table.hpp" "$library/libdurahash.a" \
  "$library/libdurahash.so" "$library/pkgconfig/durahash.pc" "$library/pkgconfig/durahash-cpp.pc" "$library/cmake/durahash/durahashConfig.cmake"; do
  [ -e "$file" ] || fail "$file was not installed"
done
[ -z "$(find "$root" -mindepth 1 -maxdepth 1 -not -name usr)" ] || fail "something was installed beside /usr"
! grep -r "$scratch\|$build" "$library"/pkgconfig/*.pc || fail "a pkg-config file names the folder that it was built in"

export PKG_CONFIG_PATH=$library/pkgconfig
[ "$(pkg-config --modversion durahash)" = "$(sed -n 's/^project(durahash VERSION \([0-9.]*\).*/\1/p' "$source/CMakeLists.txt")" ] || fail "pkg-config has another version"

cp "$source/examples/c/visits.c" "$scratch"
flags=(-std=c11 -Wall -Wextra -Werror -pedantic)
read -ra shared < <(pkg-config --cflags --libs durahash)
"$cc" "${flags[@]}" "$scratch/visits.c" "${shared[@]}" -o "$scratch/shared" || fail "a program in C does not link"
readelf -d "$scratch/shared" | grep -q 'NEEDED.*\[libdurahash.so.0\]' || fail "the program does not name libdurahash.so.0"
says "this program was killed 0 times" env LD_LIBRARY_PATH="$library" "$scratch/shared" "$scratch/data/a.dh"
says "this program was killed 1 times" env LD_LIBRARY_PATH="$library" "$scratch/shared" "$scratch/data/a.dh"

# The archive beside it.
read -ra static < <(pkg-config --static --cflags --libs durahash)
"$cc" "${flags[@]}" "$scratch/visits.c" "${static[@]/-ldurahash/-l:libdurahash.a}" -o "$scratch/alone" || fail "a program in C does not link statically"
says "this program was killed 2 times" "$scratch/alone" "$scratch/data/a.dh"

# C++, by pkg-config.
cp "$source/examples/quickstart/main.cpp" "$scratch/quickstart.cpp"
read -ra cpp < <(pkg-config --cflags --libs durahash-cpp)
"$cxx" -std=c++20 "$scratch/quickstart.cpp" "${cpp[@]}" -o "$scratch/quickstart" || fail "a program in C++ does not link by pkg-config"
says "this program was killed 3 times" "$scratch/quickstart" "$scratch/data/a.dh"

# C, by CMake.
cat >"$scratch/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(visits LANGUAGES C CXX)
find_package(durahash REQUIRED)
add_executable(visits visits.c)
target_link_libraries(visits PRIVATE durahash::c)
CMAKE
{ cmake -S "$scratch" -B "$scratch/cmake" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx" &&
  cmake --build "$scratch/cmake"; } >"$scratch/cmake.log" 2>&1 || { cat "$scratch/cmake.log"; fail "durahash::c is not found, or does not link"; }
says "this program was killed 4 times" "$scratch/cmake/visits" "$scratch/data/a.dh"

# The root alone, with a /proc, which the creation of a pool needs, and says that it needs.
enter() {
  # shellcheck disable=SC2016
  LD_LIBRARY_PATH=${library#"$root"} unshare --mount bash -c 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"' "$root" "$@"
}
enter_without_proc() { LD_LIBRARY_PATH=${library#"$root"} chroot "$root" "$@"; }
mkdir "$root/proc"
cp "$scratch/shared" "$prefix/bin/visits"
LD_LIBRARY_PATH=$library ldd "$prefix/bin/durahash" "$prefix/bin/visits" /bin/true | grep -o '/[^ ]*' | grep -v "^$root" | grep -v ':$' |
  sort -u | while read -r file; do install -D "$file" "$root$file"; done
cp /bin/true "$prefix/bin/true"
if ! enter /usr/local/bin/true 2>"$scratch/entered"; then
  echo "c_and_pkgconfig_test: no root of its own: $(cat "$scratch/entered")"
else
  says "this program was killed 0 times" enter /usr/local/bin/visits /b.dh
  [ "$(enter /usr/local/bin/durahash dump /b.dh)" = "$(printf '42\t1')" ] || fail "the tool of the root does not read the pool"
  ! enter_without_proc /usr/local/bin/durahash create /c.dh 2>"$scratch/refused" || fail "a pool is made without /proc"
  grep -q 'through /proc, and none is here' "$scratch/refused" || fail "a pool without /proc: $(cat "$scratch/refused")"
  ! enter_without_proc /usr/local/bin/durahash get /b.dh 42 2>"$scratch/refused" || fail "a killed pool is opened without /proc"
  grep -q 'without /proc nothing here tells' "$scratch/refused" || fail "a killed pool without /proc: $(cat "$scratch/refused")"
  echo "c_and_pkgconfig_test: in a root of its own, too"
fi
echo "c_and_pkgconfig_test: what was installed serves C and C++"
