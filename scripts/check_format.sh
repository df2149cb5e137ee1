#!/usr/bin/env bash
# Formatting: clang-format would change nothing, no line of code or prose passes 100 columns (tables and
# commands in documents may), and shellcheck has nothing to say.   Exit code 0, or 1 and what is wrong.
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
git ls-files -z '*.sh' .ci/run | xargs -0 shellcheck || wrong=1
[ $wrong -eq 0 ] && echo "${#sources[@]} sources are formatted"
exit $wrong
