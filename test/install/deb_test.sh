#!/usr/bin/env bash
# Makes the Debian packages of a finished build, installs them into a root of their own, uses them there, and removes them: nothing is
# left. What they depend on is in that root as this machine has it.      deb_test.sh SOURCE_FOLDER BUILD_FOLDER SCRATCH_FOLDER C_COMPILER
set -euo pipefail
source=$1 build=$2 scratch=$3 cc=$4

fail() {
  echo "deb_test: $*" >&2
  exit 1
}
skip() {
  echo "deb_test: skipped: $*"
  exit 77
}
for command in dpkg-deb dpkg-shlibdeps unshare ldconfig; do
  PATH=$PATH:/sbin:/usr/sbin command -v "$command" >/dev/null || skip "there is no $command here"
done
[ "$(id -u)" -eq 0 ] || skip "dpkg --root is for root"
export PATH=$PATH:/sbin:/usr/sbin

rm -rf "$scratch"
mkdir -p "$scratch"
export SOURCE_DATE_EPOCH=1700000000 DEB_COMPRESSION=-z1
"$source/scripts/deb.sh" "$scratch/packages" "$build" >"$scratch/made" || fail "scripts/deb.sh failed"
mapfile -t debs <"$scratch/made"
# The fourth, durahash-redis, where the module was built.
[ ${#debs[@]} -eq 3 ] || [ ${#debs[@]} -eq 4 ] || fail "there are ${#debs[@]} packages"
names=()
for deb in "${debs[@]}"; do names+=("$(dpkg-deb --field "$deb" Package)"); done
if [ "${DURAHASH_LONG:-}" = 1 ]; then
  "$source/scripts/deb.sh" "$scratch/again" "$build" >/dev/null
  diff -r "$scratch/packages" "$scratch/again" || fail "packages made twice differ"
fi
if command -v lintian >/dev/null; then
  # This build's libraries lie where one architecture alone has them; those of make deb do not.
  lintian --allow-root --fail-on error,warning --suppress-tags pkg-config-unavailable-for-cross-compilation "${debs[@]}" ||
    fail "lintian finds fault with the packages"
else
  echo "deb_test: no lintian here"
fi

architecture=$(dpkg --print-architecture)
# A root with an empty list of packages, but for what these depend on: listed as here, and its files.
root=$scratch/root
mkdir -p "$root"/var/lib/dpkg/{info,updates,triggers} "$root/etc" "$root/dev" "$root/proc" "$root/tmp" "$root/bin"
ln -s /proc/self/fd "$root/dev/fd"  # of bash, for <(...)
touch "$root/var/lib/dpkg/available"
for deb in "${debs[@]}"; do dpkg-deb --field "$deb" Depends; done | tr ',' '\n' | sed 's/|.*//; s/(.*//; s/ //g' | sort -u |
  grep -v durahash | while read -r package; do
  dpkg-query --status "$package:$architecture" >>"$root/var/lib/dpkg/status" || fail "$package is not on this machine"
  echo >>"$root/var/lib/dpkg/status"
  dpkg-query --listfiles "$package:$architecture" | { grep '/lib.*\.so\.' || true; } | while read -r file; do
    [ -d "$file" ] || install -D "$(realpath "$file")" "$root$file"
  done
done
# The loader and what tries it out; and what those libraries need themselves.
cp /bin/bash /bin/true "$root/bin"
ldd "$build/bin/durahash" /bin/bash | grep -o '/[^ ]*' | grep -v ':$' | sort -u | while read -r file; do install -D "$file" "$root$file"; done
find "$root" -not -path '*/dpkg/*' \( -type f -o -type l \) | sort >"$scratch/before"

dpkg --root="$root" --force-script-chrootless --log=/dev/null --install "${debs[@]}" >"$scratch/dpkg.log" 2>&1 || { cat "$scratch/dpkg.log"; fail "the packages do not install"; }
for package in "${names[@]}"; do
  dpkg --root="$root" --status "$package" | grep -q '^Status: install ok installed' || fail "$package is not installed"
  dpkg --root="$root" --verify "$package" >"$scratch/verified"
  [ ! -s "$scratch/verified" ] || { cat "$scratch/verified"; fail "$package is not as it was packed"; }
done
ldconfig -r "$root" 2>/dev/null

enter() {
  # shellcheck disable=SC2016
  env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin unshare --mount bash -c 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"' "$root" "$@"
}
# The dev package alone compiles a program, which runs on the library package alone.
library=$(dirname "$(find "$root/usr" -name libdurahash.so)")
"$cc" -std=c11 -Wall -Werror "$source/examples/c/visits.c" -I"$root/usr/include" -L"$library" -ldurahash -o "$root/bin/visits" || fail "a program does not compile with what was installed"
if ! enter true 2>"$scratch/entered"; then
  echo "deb_test: no root of its own: $(cat "$scratch/entered")"
else
  for killed in 0 1; do
    said=$(enter visits /visits.dh) 2>/dev/null || true
    [ "$said" = "this program was killed $killed times" ] || fail "the program said: $said"
  done
  enter durahash create /a.dh 2>/dev/null
  enter durahash put /a.dh alice 42
  [ "$(enter durahash get /a.dh alice)" = 42 ] || fail "the tool does not give back a value"
  enter durahash check /a.dh >/dev/null || fail "the tool finds fault with its own pool"
  # shellcheck disable=SC2016
  completes=$(enter bash -c 'source /usr/share/bash-completion/completions/durahash; COMP_WORDS=(durahash compa); COMP_CWORD=1; _durahash; echo "${COMPREPLY[@]}"')
  [ "$completes" = compact ] || fail "bash completes compa with: $completes"
fi
for page in "$root"/usr/share/man/man1/*.1.gz; do
  text=$(zcat "$page")
  [[ $text = .TH\ DURAHASH* && $text = *".SH SYNOPSIS"* ]] || fail "$page is no man page"
done
if command -v man >/dev/null; then
  warnings=$(MANROFFSEQ='' LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings -E UTF-8 -l "$root/usr/share/man/man1/durahash-load.1.gz" 2>&1 >"$scratch/page")
  [ -z "$warnings" ] || fail "man says: $warnings"
  grep -q -- '--acks' "$scratch/page" || fail "the page of load does not tell of --acks"
fi

dpkg --root="$root" --force-script-chrootless --log=/dev/null --purge "${names[@]}" >>"$scratch/dpkg.log" 2>&1 || { cat "$scratch/dpkg.log"; fail "the packages are not removed"; }
rm -f "$root/bin/visits" "$root"/*.dh "$root/etc/ld.so.cache" "$root/var/cache/ldconfig/aux-cache"
find "$root" -not -path '*/dpkg/*' \( -type f -o -type l \) | sort | diff "$scratch/before" - || fail "something of them is left"
echo "deb_test: the packages go in, work, and go away"
