#!/usr/bin/env bash
# Runs the fuzz target that `make fuzz` built for FUZZ_SECONDS (60). FUZZ_SEED=N repeats a run. Findings go to build/fuzz/findings.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${FUZZ_SECONDS:-60}
seed=${FUZZ_SEED:-$((RANDOM * 32768 + RANDOM + 1))}
mkdir -p build/fuzz/corpus build/fuzz/findings

echo "fuzz_open_check: $seconds s, seed $seed (FUZZ_SEED=$seed repeats it)"
if build/fuzz/bin/fuzz_open_check -seed="$seed" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=4096 -max_len=1024 -len_control=0 \
    -artifact_prefix=build/fuzz/findings/ -verbosity=0 -print_final_stats=1 build/fuzz/corpus; then
  echo "fuzz_open_check: nothing found in $seconds s (seed $seed)"
else
  echo "fuzz_open_check: a finding (seed $seed); repeat it with: build/fuzz/bin/fuzz_open_check FILE, one of" >&2
  find build/fuzz/findings -type f -printf '%T@ %p\n' | sort -rn | head -n 5 | sed 's|^[^ ]*|  |' >&2
  exit 1
fi
