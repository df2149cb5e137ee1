#!/usr/bin/env bash
# The Python package: builds its extension in build/check, and tests it.
#   scripts/python.sh build              the package, at build/check/bindings/python/durahash
#   scripts/python.sh test [PYTEST...]   and its tests
#   scripts/python.sh --or-skip test     says so and ends well where the packages of
#                                        bindings/python/requirements.txt cannot be had
# PYTHON=... is the interpreter (default: the system's); its packages go into build/python/venv.
set -euo pipefail
cd "$(dirname "$0")/.."
or_skip=0
[ "${1:-}" != --or-skip ] || { or_skip=1; shift; }
what=${1:-build}
[ $# -eq 0 ] || shift

scripts/setup.sh python
python=${PYTHON:-/usr/bin/python3}
[ -x "$(command -v "$python")" ] || python=python3
venv=build/python/venv
# shellcheck source=scripts/venv.sh
. scripts/venv.sh
if ! make_venv python $venv "$python" bindings/python/requirements.txt; then
  echo "python: $venv could not be made; is the package index out of reach?" >&2
  [ $or_skip -eq 1 ] || exit 1
  echo "python: the package's tests are skipped" >&2
  exit 0
fi

package=$PWD/build/check/bindings/python
cmake --preset check -DDURAHASH_PYTHON=ON -DPython_EXECUTABLE="$PWD/$venv/bin/python" >build/python/configure.log ||
  { cat build/python/configure.log; exit 1; }
cmake --build --preset check -j "${JOBS:-$(nproc)}" --target durahash_python quickstart -- --quiet
case "$what" in
  build) echo "the package is ready: PYTHONPATH=$package $venv/bin/python" >&2 ;;
  test)
    export PATH=$PWD/build/check/bin:$PATH PYTHONPATH=$package
    exec $venv/bin/python -B -m pytest -q -p no:cacheprovider bindings/python/tests "$@"
    ;;
  run) PYTHONPATH=$package exec $venv/bin/python "$@" ;;
  *) echo "python.sh: build, test or run, and not $what" >&2; exit 2 ;;
esac
