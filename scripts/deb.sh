#!/usr/bin/env bash
# Makes libdurahash0, libdurahash-dev and durahash as Debian packages, without a network; and
# durahash-redis, where the build folder has the module for redis-server (make server).
#   scripts/deb.sh [OUTPUT_FOLDER [BUILD_FOLDER]]
# OUTPUT_FOLDER: build/deb-packages. Without BUILD_FOLDER it builds a tree of its own, build/deb, whose libraries lie where those of
# this architecture do; with it, that tree's own place is taken. DEB_COMPRESSION (-z6), SOURCE_DATE_EPOCH (that of the commit) and
# DURAHASH_MAINTAINER are what they say.
set -euo pipefail
cd "$(dirname "$0")/.."
output=${1:-build/deb-packages} build=${2:-}
architecture=$(dpkg --print-architecture)
version=$(sed -n 's/^project(durahash VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
debian_version=$version-1
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
export SOURCE_DATE_EPOCH

if [ -z "$build" ]; then
  build=build/deb
  scripts/setup.sh deb
  cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DDURAHASH_BUILD_TESTS=OFF -DCMAKE_INSTALL_PREFIX=/usr \
    -DCMAKE_EXE_LINKER_FLAGS=-Wl,-z,relro,-z,now -DCMAKE_INSTALL_LIBDIR="lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)" >/dev/null
  cmake --build "$build" -j "${JOBS:-$(nproc)}" --target durahash_tool durahash_shared durahash_server -- --quiet
fi

mkdir -p "$output"
output=$(realpath "$output")
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
umask 022
DESTDIR=$stage/all cmake --install "$build" --prefix /usr >/dev/null
library=$(dirname "$(find "$stage/all/usr" -name libdurahash.so.0)")
library=${library#"$stage/all/"}

# take PACKAGE PATH...: from what was installed into the package's root.
take() {
  local package=$1 path
  shift
  for path in "$@"; do
    mkdir -p "$stage/$package/$(dirname "$path")"
    cp -a "$stage/all/$path" "$stage/$package/$path"
  done
}
# inside PACKAGE PATTERN: paths of what was installed that match.
inside() { (cd "$stage/all" && find . -path "./$1" | sed 's|^\./||'); }

mapfile -t runtime < <(inside "$library/libdurahash.so.*")
take libdurahash0 "${runtime[@]}"
take libdurahash-dev usr/include/durahash "$library/libdurahash.so" "$library/libdurahash.a" "$library/pkgconfig" "$library/cmake"
take durahash usr/bin/durahash usr/libexec/durahash
strip --strip-unneeded --remove-section=.comment "$stage/libdurahash0/$library"/libdurahash.so.*.* "$stage/durahash/usr/bin/durahash" \
  "$stage/durahash/usr/libexec/durahash/durahash-power-cut.so"
strip --strip-debug --remove-section=.comment "$stage/libdurahash-dev/$library/libdurahash.a"

tool=$stage/all/usr/bin/durahash
scripts/man_pages.py "$tool" "$stage/durahash/usr/share/man/man1" >/dev/null
gzip -9n "$stage"/durahash/usr/share/man/man1/*.1
completion() {
  mkdir -p "$(dirname "$stage/durahash/$2")"
  "$tool" completion "$1" >"$stage/durahash/$2"
}
completion bash usr/share/bash-completion/completions/durahash
completion zsh usr/share/zsh/vendor-completions/_durahash
completion fish usr/share/fish/vendor_completions.d/durahash.fish

# What the loader needs, as packages: of the tool and the library. The shlibs of the library come first.
mkdir -p "$stage/depends/debian" "$stage/libdurahash0/DEBIAN"
printf 'Source: durahash\n\nPackage: durahash\nArchitecture: any\n' >"$stage/depends/debian/control"
needed() {
  (cd "$stage/depends" && dpkg-shlibdeps -O "$@" 2>/dev/null | sed 's/^shlibs:Depends=//')
}
printf 'libdurahash 0 libdurahash0 (>= %s)\n' "$version" >"$stage/libdurahash0/DEBIAN/shlibs"
printf 'activate-noawait ldconfig\n' >"$stage/libdurahash0/DEBIAN/triggers"
static_needs=""
if grep -q '^Requires: libpmem2' "$stage/all/$library/pkgconfig/durahash-cpp.pc"; then static_needs=", libpmem2-dev"; fi

# finish PACKAGE SECTION DEPENDS SHORT LONG [LINE...]
finish() {
  local package=$1 section=$2 depends=$3 short=$4 long=$5
  shift 5
  local root=$stage/$package doc=$stage/$package/usr/share/doc/$package
  mkdir -p "$root/DEBIAN" "$doc"
  printf 'Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: durahash\n\nFiles: *\nCopyright: %s the durahash authors\nLicense: Apache-2.0\n On Debian systems the text of this license is in\n /usr/share/common-licenses/Apache-2.0.\n' "$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y)" >"$doc/copyright"
  printf 'durahash (%s) unstable; urgency=medium\n\n  * Made by scripts/deb.sh.\n\n -- %s  %s\n' "$debian_version" "$maintainer" \
    "$(date -u -R -d "@$SOURCE_DATE_EPOCH")" | gzip -9n >"$doc/changelog.Debian.gz"
  gzip -9nc CHANGELOG.md >"$doc/changelog.gz"
  mkdir -p "$root/usr/share/lintian/overrides"
  printf '# no package of Debian itself: there is no bug to close\n%s: initial-upload-closes-no-bugs\n' "$package" >"$root/usr/share/lintian/overrides/$package"
  {
    printf 'Package: %s\nSource: durahash\nVersion: %s\nArchitecture: %s\nMaintainer: %s\n' "$package" "$debian_version" "$architecture" "$maintainer"
    printf 'Installed-Size: %s\n' "$(du -k -s --exclude=DEBIAN "$root" | cut -f 1)"
    [ -z "$depends" ] || printf 'Depends: %s\n' "$depends"
    [ $# -eq 0 ] || printf '%s\n' "$@"
    printf 'Section: %s\nPriority: optional\nDescription: %s\n%s\n' "$section" "$short" "$long"
  } >"$root/DEBIAN/control"
  (cd "$root" && find . -type f -not -path './DEBIAN/*' -printf '%P\0' | sort -z | xargs -0 md5sum >DEBIAN/md5sums)
  chmod -R u+w,go-w "$root"
  find "$root" -newermt "@$SOURCE_DATE_EPOCH" -print0 | xargs -0r touch --no-dereference --date="@$SOURCE_DATE_EPOCH"
  dpkg-deb "${DEB_COMPRESSION:--z6}" --root-owner-group --build "$root" "$output/${package}_${debian_version}_$architecture.deb" >/dev/null
  echo "$output/${package}_${debian_version}_$architecture.deb"
}
maintainer=${DURAHASH_MAINTAINER:-The durahash maintainers <durahash@example.org>}
about=' Durahash is a hash table in a file: writes survive the death of the process,
 and where that is asked for a loss of power.'
multiarch=()
[[ $library = */*/* ]] && multiarch=("Multi-Arch: same")
finish libdurahash0 libs "$(needed "$stage/libdurahash0/$library/libdurahash.so.$version")" \
  "persistent hash maps - shared library of the C API" "$about" "${multiarch[@]}"
finish libdurahash-dev libdevel "libdurahash0 (= $debian_version)$static_needs" \
  "persistent hash maps - headers and static library" "$about
 .
 Headers for C and C++, for pkg-config and for CMake." "${multiarch[@]}"
finish durahash utils "$(needed "$stage"/durahash/usr/bin/durahash "$stage"/durahash/usr/libexec/durahash/*)" \
  "persistent hash maps - command line" "$about
 .
 The tool makes, fills, prints, checks, copies and repairs such tables."
if [ -e "$build/lib/durahash.so" ]; then
  modules=$stage/durahash-redis/usr/lib/redis/modules
  mkdir -p "$modules"
  cp "$build/lib/durahash.so" "$modules/"
  strip --strip-unneeded --remove-section=.comment "$modules/durahash.so"
  install -Dm 644 third_party/redismodule.LICENSE \
    "$stage/durahash-redis/usr/share/doc/durahash-redis/redismodule.LICENSE"
  finish durahash-redis database "$(needed "$modules/durahash.so")" \
    "persistent hash maps - module for redis-server and valkey-server" "$about
 .
 The module makes such a table the value of a key: loadmodule
 /usr/lib/redis/modules/durahash.so. Its header is BSD-3-Clause." \
    "Recommends: redis-server (>= 5:7.0)"
fi
