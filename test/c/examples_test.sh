#!/usr/bin/env bash
# The programs of examples/c and examples/rust over a built library: each is killed, and goes on.
#   examples_test.sh c|rust SOURCE_FOLDER LIBRARY_FOLDER SCRATCH_FOLDER COMPILER
set -euo pipefail
language=$1 source=$2 library=$3 scratch=$4 compiler=$5

fail() {
  echo "examples_test: $*" >&2
  exit 1
}
if ! command -v "$compiler" >/dev/null; then
  echo "examples_test: skipped: there is no $compiler here"
  exit 77
fi
rm -rf "$scratch"
mkdir -p "$scratch"
export LD_LIBRARY_PATH=$library

# Runs a program that is to end by SIGKILL.
is_killed() {
  local code=0
  "$@" || code=$?
  [ $code -eq 137 ] || fail "$* was to end by SIGKILL (137) and ended with $code"
}

if [ "$language" = c ]; then
  "$compiler" -std=c11 -Wall -Wextra -Werror -pedantic -I"$source/include" "$source/examples/c/visits.c" \
    -L"$library" -ldurahash -o "$scratch/visits"
  for killed in 0 1 2; do
    is_killed "$scratch/visits" "$scratch/visits.dh" >"$scratch/said"
    grep -qx "this program was killed $killed times" "$scratch/said" || fail "it said: $(cat "$scratch/said")"
  done
else
  if ! "$compiler" --edition 2021 -O "$source/examples/rust/main.rs" -L "native=$library" -o "$scratch/words" 2>"$scratch/log"; then
    cat "$scratch/log" >&2
    fail "examples/rust does not compile"
  fi
  ! grep -q '^warning' "$scratch/log" || { cat "$scratch/log" >&2; fail "examples/rust compiles with warnings"; }
  for ((i = 0; i < 100; ++i)); do echo 'the cat and the dog'; done >"$scratch/text"
  is_killed "$scratch/words" "$scratch/words.dh" --die <"$scratch/text" >"$scratch/said1"
  is_killed "$scratch/words" "$scratch/words.dh" --die <"$scratch/text" >"$scratch/said2"
  "$scratch/words" "$scratch/words.dh" </dev/null >"$scratch/said3"
  printf '500 words\n   400 the\n   200 dog\n   200 cat\n   200 and\n' | cmp - "$scratch/said2" || fail "the second run said: $(cat "$scratch/said2")"
  printf '0 words\n   400 the\n   200 dog\n   200 cat\n   200 and\n' | cmp - "$scratch/said3" || fail "the third run said: $(cat "$scratch/said3")"
  # A failure has its sentence.
  if "$scratch/words" "$scratch/no/such/folder" </dev/null 2>"$scratch/refused"; then fail "it opened a pool in a folder that is not there"; fi
  grep -q 'No such file or directory' "$scratch/refused" || fail "the refusal said: $(cat "$scratch/refused")"
fi
echo "examples_test: the program in $language goes on after a kill"
