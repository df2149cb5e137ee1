#!/usr/bin/env bash
# Builds wheels of the Python package, into build/wheels: one for Python 3.11, and one of the stable
# ABI, for 3.12 and all later ones. Each is judged by auditwheel, installed in a clean environment
# and run by the package's tests. What has no interpreter here is said to be missing.
#   scripts/wheels.sh [INTERPRETER...]     (default: python3.11, and the first of 3.12 to 3.14, also of pyenv)
# PYTHON_TESTS="-k pool" runs fewer of them.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh python
scripts/python.sh build
tools=build/python/venv/bin
out=build/wheels
mkdir -p $out
# The compiler by the name that the other trees use, so that ccache knows its results.
export CC=${CC:-cc} CXX=${CXX:-c++}

runs() { "$1" -c 'import ensurepip, venv' >/dev/null 2>&1; }
interpreters=("$@")
read -ra fewer <<<"${PYTHON_TESTS:-}"
if [ $# -eq 0 ]; then
  for each in /usr/bin/python3.11 python3.11; do
    if runs "$each"; then interpreters+=("$each"); break; fi
  done
  [ ${#interpreters[@]} -ne 0 ] || echo "wheels: no Python 3.11 is here, and no wheel for it" >&2
  abi=0
  for each in python3.12 python3.13 python3.14 "$HOME"/.pyenv/versions/3.1[2-9]*/bin/python3; do
    if [ $abi -eq 0 ] && runs "$each"; then interpreters+=("$each"); abi=1; fi
  done
  [ $abi -eq 1 ] || echo "wheels: no Python 3.12 or later is here, and no wheel of the stable ABI" >&2
fi

for python in "${interpreters[@]}"; do
  version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  printf '\n== Python %s\n' "$version"
  venv=build/python/wheel-$version
  rm -rf "$venv" $out/new
  "$python" -m venv "$venv"
  "$venv/bin/pip" install -q build scikit-build-core nanobind
  "$venv/bin/python" -m build --wheel --no-isolation -C cmake.define.DURAHASH_WERROR=ON \
    --outdir $out/new . >"$out/build-$version.log" 2>&1 || { tail -n 30 "$out/build-$version.log"; exit 1; }
  # It may name libraries of the C library alone; the tag says from which version on.
  PATH=$PWD/$tools:$PATH $tools/auditwheel show $out/new/*.whl
  PATH=$PWD/$tools:$PATH $tools/auditwheel repair --wheel-dir $out/new $out/new/*-linux_*.whl >"$out/audit-$version.log" 2>&1 ||
    { cat "$out/audit-$version.log"; exit 1; }
  rm -f $out/new/*-linux_*.whl
  rm -rf "$venv"
  "$python" -m venv "$venv"
  "$venv/bin/pip" install -q $out/new/*.whl pytest hypothesis
  # From a folder that has no source of the package.
  (cd "$venv" && PATH=$PWD/bin:$PATH bin/python -B -m pytest -q -p no:cacheprovider "$OLDPWD/bindings/python/tests" "${fewer[@]}")
  mv $out/new/*.whl $out/
  rmdir $out/new
done
ls -l $out/*.whl
