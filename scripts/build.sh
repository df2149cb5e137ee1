#!/usr/bin/env bash
# Configures a preset and builds targets of it (all when none is named).   scripts/build.sh PRESET [TARGET...]
# JOBS=N limits the compilers that run at once.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=$1
shift

log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! cmake --preset "$preset" >"$log" 2>&1; then
  cat "$log" >&2
  exit 1
fi
progress=()
[ -t 1 ] || progress=(-- --quiet)  # ninja: warnings and errors alone
targets=()
[ $# -eq 0 ] || targets=(--target "$@")
cmake --build --preset "$preset" -j "${JOBS:-$(nproc)}" "${targets[@]}" "${progress[@]}"
