#!/usr/bin/env bash
# Which lines of include/, src/ and tool/ the tests run: `make coverage`. Prints a line for each
# folder and the sum; build/coverage/report/index.html shows each line.
#   scripts/coverage.sh [TEST...]   test executables, such as persist_test; none: all tests but
#                                   those that take long by design
set -euo pipefail
cd "$(dirname "$0")/.."
export JOBS=${JOBS:-$(nproc)}
tree=build/coverage

scripts/build.sh coverage "$@"
find "$tree" -name '*.gcda' -delete  # counts of an earlier run
failed=0
if [ $# -eq 0 ]; then
  ctest --preset coverage -j "$JOBS" --progress -LE 'crash|torture|stress|figures' || failed=$?
fi
for test in "$@"; do
  "$tree/bin/$test" --gtest_brief=1 || failed=$?
done
mkdir -p "$tree/report"
gcovr --root . --object-directory "$tree" -j "$JOBS" \
  --filter include/ --filter src/ --filter tool/ \
  --exclude-unreachable-branches --exclude-throw-branches --html-details "$tree/report/index.html" \
  --json-summary "$tree/report/summary.json" --print-summary >/dev/null
python3 - "$tree/report/summary.json" <<'PYTHON'
import collections, json, pathlib, sys
summary = json.load(open(sys.argv[1]))
folders = collections.defaultdict(lambda: [0, 0])
for file in summary["files"]:
    folder = folders[str(pathlib.PurePosixPath(file["filename"]).parent)]
    folder[0] += file["line_covered"]
    folder[1] += file["line_total"]
folders["all"] = [summary["line_covered"], summary["line_total"]]
for name, (run, total) in folders.items():
    print(f"{name:28}{run:8} of {total:6} lines {100 * run / max(total, 1):6.1f} %")
PYTHON
echo "each line: $tree/report/index.html"
exit $failed
