# shellcheck shell=bash
# Sourced by scripts that need packages of Python.
#   make_venv NAME VENV PYTHON REQUIREMENTS [PACKAGE...]
# makes the virtual environment VENV once for each interpreter and list of packages. Where the list
# cannot be installed whole, PACKAGEs are in its place. Returns 1, and says why, if there is none.
make_venv() {
  local name=$1 venv=$2 python=$3 list=$4 wanted log
  shift 4
  wanted=$({ "$python" --version; cat "$list"; } | sha256sum)
  [ "$(cat "$venv/.wanted" 2>/dev/null)" != "$wanted" ] || return 0
  echo "$name: installing the packages of $list" >&2
  mkdir -p "$(dirname "$venv")"
  log=$(mktemp)
  rm -rf "$venv"
  if "$python" -m venv "$venv" >"$log" 2>&1 &&
    { "$venv/bin/pip" install --quiet --requirement "$list" >>"$log" 2>&1 ||
      { [ $# -gt 0 ] && "$venv/bin/pip" install --quiet "$@" >>"$log" 2>&1; }; }; then
    echo "$wanted" >"$venv/.wanted"
    rm -f "$log"
    return 0
  fi
  tail -n 5 "$log" >&2
  rm -f "$log"
  return 1
}
