#!/usr/bin/env bash
# Runs a command that runs programs built with ThreadSanitizer: without address randomisation where the machine allows it,
# because kernels that randomise many bits map libraries where the sanitizer keeps its own memory.
set -euo pipefail
export TSAN_OPTIONS="halt_on_error=1:second_deadlock_stack=1${TSAN_OPTIONS:+:$TSAN_OPTIONS}"
if setarch -R true 2>/dev/null; then
  exec setarch -R "$@"
fi
exec "$@"
