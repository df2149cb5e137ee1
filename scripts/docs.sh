#!/usr/bin/env bash
# The reference of the public headers as HTML, in build/docs/html: a page for each operation. Fails
# on a public declaration without a comment.
#   scripts/docs.sh              installs Doxygen where it is missing
#   scripts/docs.sh --or-skip    says so and ends well there
set -euo pipefail
cd "$(dirname "$0")/.."
if ! command -v doxygen >/dev/null; then
  if [ "${1:-}" = --or-skip ]; then
    echo "docs: no doxygen is here; the public headers' comments are not checked" >&2
    exit 0
  fi
  scripts/setup.sh docs
fi
rm -rf build/docs
mkdir -p build/docs
doxygen docs/Doxyfile
pages=(build/docs/html/classdurahash_1_1table_*.html)
# Doxygen does not say so where it has read nothing.
[ ${#pages[@]} -gt 10 ] || { echo "docs: the operations of durahash::table have no pages" >&2; exit 1; }
echo "docs: build/docs/html/index.html" >&2
