#!/usr/bin/env bash
# Formatting: clang-format would change nothing, no line of code or prose passes 100 columns (tables and
# commands in documents may), no source passes 500 lines, and shellcheck has nothing to say.
# Exit code 0, or 1 and what is wrong.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh format
wrong=0

mapfile -d '' sources < <(git ls-files -z '*.hpp' '*.cpp' '*.h' 'test/c/*.c' 'examples/**.c' '*.cu' '*.cuh' \
  ':!third_party')
printf '%s\0' "${sources[@]}" | xargs -0 -P "$(nproc)" -n 40 clang-format --dry-run -Werror || wrong=1
printf '%s\0' "${sources[@]}" | xargs -0 python3 -c '
import sys
wide = [f"{path}:{number}: {len(line)} columns" for path in sys.argv[1:]
        for number, line in enumerate(open(path, encoding="utf-8").read().splitlines(), 1)
        if len(line) > 100]
print("\n".join(wide), end="\n" if wide else "")
sys.exit(1 if wide else 0)' || wrong=1
# A file that is as long as that has a second noun.
{ printf '%s\0' "${sources[@]}"; git ls-files -z '*.py' '*.sh' '*.c'; } | python3 -c '
import sys
LONGEST = 500
MAY_BE_LONGER = {
    "include/durahash/durahash.h": "the C API is one header, with what each function promises",
    "explorer/witnesses.cpp": "a table, which scripts/witnesses.py writes and scripts/check_names.py reads",
}
paths = sys.stdin.read().rstrip("\0").split("\0")
lines = {path: open(path, encoding="utf-8").read().count("\n") for path in paths}
long = [f"{path}: {count} lines, {LONGEST} at most: give its second noun a file of its own"
        for path, count in lines.items() if count > LONGEST and path not in MAY_BE_LONGER]
gone = [f"scripts/check_format.sh: {path}, which may be long, is not there"
        for path in MAY_BE_LONGER if path not in lines]
print("\n".join(long + gone), end="\n" if long + gone else "")
sys.exit(1 if long + gone else 0)' || wrong=1
git ls-files -z '*.sh' .ci/run | xargs -0 shellcheck || wrong=1
[ $wrong -eq 0 ] && echo "${#sources[@]} sources are formatted"
exit $wrong
