#!/usr/bin/env bash
# The Python package: builds its extension in build/check, and tests it.
#   scripts/python.sh build              the package, at build/check/bindings/python/durahash
#   scripts/python.sh test [PYTEST...]   and its tests; where nvcc is those of durahash.gpu, too, which
#                                        run on an interpreter of the kernels' PTX
#   scripts/python.sh gpu-test [PYTEST...]  those of durahash.gpu, on a GPU
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
cmake --build --preset check -j "${JOBS:-$(nproc)}" --target durahash_python_tests quickstart -- --quiet
case "$what" in
  build) echo "the package is ready: PYTHONPATH=$package $venv/bin/python" >&2 ;;
  test)
    export PATH=$PWD/build/check/bin:$PATH
    ran=0
    # PYTEST may choose tests of one of the two alone: pytest's code for none is 5
    tests() {
      local code=0
      PYTHONPATH=$1 $venv/bin/python -B -m pytest -q -p no:cacheprovider "${@:2}" || code=$?
      [ $code -ne 0 ] || ran=1
      [ $code -eq 0 ] || { [ $code -eq 5 ] && [ $# -gt 2 ]; } || exit $code
    }
    tests "$package" bindings/python/tests "$@"
    if compgen -G "$package/on_ptx/durahash/_gpu*.so" >/dev/null; then
      tests "$package/on_ptx" bindings/python/gpu_tests "$@"
    else
      echo "python: no CUDA compiler here: the tests of durahash.gpu are skipped" >&2
    fi
    [ $ran -eq 1 ] || exit 5
    ;;
  gpu-test)
    export PYTHONPATH=$package
    for each in bindings/python/gpu_tests bindings/python/tests/test_gpu_is_apart.py; do
      $venv/bin/python -B -m pytest -q -p no:cacheprovider $each "$@"
    done
    ;;
  run) PYTHONPATH=$package exec $venv/bin/python "$@" ;;
  *) echo "python.sh: build, test, gpu-test or run, and not $what" >&2; exit 2 ;;
esac
