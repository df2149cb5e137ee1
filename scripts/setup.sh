#!/usr/bin/env bash
# Installs what is missing to build durahash on Debian 12. Silent and quick when everything is there.
#   scripts/setup.sh           compilers, libraries, test tools
#   scripts/setup.sh clang     and clang with its sanitizers and libFuzzer
#   scripts/setup.sh format    and clang-format, shellcheck
#   scripts/setup.sh lint      and clang-format, clang-tidy
#   scripts/setup.sh gdb       and gdb, for the test of its printers
#   scripts/setup.sh count     and valgrind, which counts instructions
#   scripts/setup.sh coverage  and gcovr
#   scripts/setup.sh docs      and doxygen
#   scripts/setup.sh aarch64   and a cross compiler for it, its libraries (of the architecture arm64), and qemu-user
#   scripts/setup.sh deb       and what makes Debian packages
#   scripts/setup.sh python    and what builds Python's extensions and makes virtual environments
#   scripts/setup.sh python-peers  and what PyPI lacks of what bench/python/compare.py measures
#   scripts/setup.sh peers     and the stores that scripts/bench_disk.py measures beside durahash
#   scripts/setup.sh yardsticks  and the table in memory that Level's paper compares with
#   scripts/setup.sh lmdb      and the one that scripts/bench_readers.py does
#   scripts/setup.sh server    and redis-server with its tools, and what makes virtual environments
#   scripts/setup.sh guest     and QEMU, with what its guest and its disk are made of (the guest's kernel is fetched by test/guest, and not installed)
set -euo pipefail

# package:what tells that it is there (a command, a header below /usr/include, or see is_there)
architectures=()
wanted=(
  g++:g++ make:make cmake:cmake ninja-build:ninja pkg-config:pkg-config ccache:ccache git:git python3:python3
  libpmem2-dev:libpmem2.h libxxhash-dev:xxhash.h
  libcli11-dev:CLI/CLI.hpp nlohmann-json3-dev:nlohmann/json.hpp libfmt-dev:fmt/format.h
  libgtest-dev:gtest/gtest.h python3-xxhash:python-xxhash
)
for extra in "$@"; do
  case "$extra" in
    clang) wanted+=(clang:clang++ libclang-rt-dev:clang-rt) ;;
    format) wanted+=(clang-format:clang-format shellcheck:shellcheck) ;;
    lint) wanted+=(clang-format:clang-format clang-tidy:clang-tidy) ;;
    gdb) wanted+=(gdb:gdb) ;;
    count) wanted+=(valgrind:valgrind) ;;
    deb) wanted+=(dpkg-dev:dpkg-shlibdeps) ;;
    coverage) wanted+=(gcovr:gcovr) ;;
    docs) wanted+=(doxygen:doxygen) ;;
    aarch64)
      architectures=(arm64)
      wanted+=(g++-aarch64-linux-gnu:aarch64-linux-gnu-g++ qemu-user:qemu-aarch64 libxxhash-dev:arm64:arm64/libxxhash.a
        libfmt-dev:arm64:arm64/libfmt.so libgtest-dev:arm64:arm64/libgtest.a)
      ;;
    python) wanted+=(python3-dev:python3-headers python3-venv:python3-ensurepip) ;;
    python-peers) wanted+=(python3-tkrzw:python-tkrzw) ;;
    server) wanted+=(redis-server:redis-server redis-tools:redis-cli python3-venv:python3-ensurepip) ;;
    peers) wanted+=(libsqlite3-dev:sqlite3.h liblmdb-dev:lmdb.h librocksdb-dev:rocksdb/db.h) ;;
    yardsticks) wanted+=(libcuckoo-dev:libcuckoo/cuckoohash_map.hh) ;;
    lmdb) wanted+=(liblmdb-dev:lmdb.h) ;;
    guest)
      wanted+=(qemu-system-x86:qemu-system-x86_64 busybox-static:busybox e2fsprogs:mke2fs
        nbdkit:nbdkit nbdkit-plugin-python:nbdkit-python xfsprogs:mkfs.xfs)
      ;;
    *) echo "setup.sh: no such group: $extra (clang, format, lint, gdb, count, deb, coverage, docs, aarch64, python, python-peers, peers, yardsticks, lmdb, server, guest)" >&2; exit 2 ;;
  esac
done

is_there() {
  case "$1" in
    clang-rt) compgen -G '/usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.fuzzer-*.a' >/dev/null ;;
    nbdkit-python) nbdkit python --version >/dev/null 2>&1 ;;
    python3-headers) compgen -G '/usr/include/python3.[0-9]*/Python.h' >/dev/null ;;
    python3-ensurepip) compgen -G '/usr/lib/python3.[0-9]*/ensurepip' >/dev/null ;;
    python-tkrzw) compgen -G '/usr/lib/python3/dist-packages/tkrzw*' >/dev/null ;;
    arm64/*) [ -e "/usr/lib/aarch64-linux-gnu/${1#arm64/}" ] ;;
    python-xxhash) [ -e /usr/lib/python3/dist-packages/xxhash ] ;;
    *.h | *.hpp | *.hh) compgen -G "/usr/include/$1" >/dev/null || compgen -G "/usr/include/*-linux-gnu/$1" >/dev/null ||
      [ -e "/usr/local/include/$1" ] ;;
    *) command -v "$1" >/dev/null || [ -x "/usr/sbin/$1" ] ;;
  esac
}

missing=()
for entry in "${wanted[@]}"; do
  is_there "${entry##*:}" || missing+=("${entry%:*}")
done
[ ${#missing[@]} -eq 0 ] && exit 0

by_hand="apt-get install ${missing[*]}"
if ! command -v apt-get >/dev/null; then
  echo "setup.sh: missing: ${missing[*]} (names of Debian packages), and there is no apt-get here: install them by hand" >&2
  exit 1
fi
as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "setup.sh: missing packages, and neither root nor sudo to install them. As root: $by_hand" >&2
    exit 1
  fi
  as_root=(sudo)
  [ -t 0 ] || as_root=(sudo -n)
fi

echo "setup: installing ${missing[*]}" >&2
log=$(mktemp)
trap 'rm -f "$log"' EXIT
install_missing() {
  { [ ${#architectures[@]} -eq 0 ] || "${as_root[@]}" dpkg --add-architecture "${architectures[@]}"; } &&
    "${as_root[@]}" apt-get update -q &&
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}"
}
if ! install_missing >"$log" 2>&1 </dev/null; then
  tail -n 20 "$log" >&2
  echo "setup.sh: the installation failed. By hand, as root: $by_hand" >&2
  exit 1
fi
