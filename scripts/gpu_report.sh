#!/usr/bin/env bash
# `make gpu-report`: what the CUDA backend needs, whether it is right, and what it reaches, on the machine that this runs on. Where there is no GPU, the first
# alone. GPU_KEYS (16777216): records of the pool for the throughput tables. GPU_BENCH: options of `durahash bench` for one more such table.
set -euo pipefail
cd "$(dirname "$0")/.."

nvcc=$(command -v "${CUDACXX:-nvcc}" || echo /usr/local/cuda/bin/nvcc)
if [ ! -x "$nvcc" ]; then
  echo "no nvcc here: install the CUDA toolkit, or set CUDACXX to it" >&2
  exit 2
fi
built=$(mktemp -d)
trap 'rm -rf "$built"' EXIT

echo "== kernels: registers, and bytes of stack and of registers spilled to it, of a thread"
printf '  %-8s %-12s %9s %7s %7s\n' arch kernel registers stack spilled
for arch in sm_80 sm_90 sm_100; do
  "$nvcc" -std=c++20 --expt-relaxed-constexpr -O3 --Werror=all-warnings -arch=$arch -Isrc -Iinclude -Xptxas -v -c src/gpu/cuda_device.cu -o "$built/object.o" 2>&1 |
    awk -v arch=$arch '
      BEGIN {split("find write stage commit retry_full copy_up copies export", names, " ")}
      /Compiling entry function/ {kernel = ""}
      /Compiling entry function.*halfE[0-9]/ {match($0, /halfE[0-9]/); kernel = names[substr($0, RSTART + 5, 1) + 1]}
      /Compiling entry function.*run_find_rows/ {kernel = "find_rows"}
      /Compiling entry function.*run_spread/ {kernel = "spread"}
      /bytes stack frame/ {stack = $1; spilled = $5}
      /Used [0-9]+ registers/ {match($0, /Used [0-9]+/); printf "  %-8s %-12s %9d %7d %7d\n", arch, kernel, substr($0, RSTART + 5, RLENGTH - 5), stack, spilled}'
done

echo "== throughput, predicted from counts"
scripts/gpu_rates.py --predict

export CUDACXX="$nvcc"  # the one that was just used
scripts/build.sh check gpu_test bench_test durahash_tool durahash_bench_program
if ! nvidia-smi -L 2>/dev/null; then
  echo "no GPU here: tests on one, compute-sanitizer and throughput are left out"
  exit 0
fi
failed=()  # all of it is tried, whatever fails
part() {
  echo "== $1"
  shift
  "$@" || failed+=("$*")
}
export DURAHASH_REQUIRE_GPU=1  # a test that finds none fails
part "tests, on the GPU too; SIGKILL within kernels, and the CPU opens the pool" build/check/bin/gpu_test --gtest_brief=1
part "the Python package, on the GPU: its tests, and the recipe" scripts/python.sh gpu-test
part "the benchmark's tests" build/check/bin/bench_test --gtest_brief=1 --gtest_filter='*Device*'
sanitizer=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)
if [ -x "$sanitizer" ]; then
  for tool in memcheck initcheck synccheck; do
    # Without GpuKill: a sanitizer that is killed with its program tells nothing. GpuGolden is one warp at a time, thousands of times.
    part "compute-sanitizer, $tool" "$sanitizer" --tool $tool --error-exitcode 1 build/check/bin/gpu_test --gtest_brief=1 --gtest_filter='*_gpu:GpuRef.*-*GpuKill*:*GpuGolden*'
  done
else
  failed+=("compute-sanitizer: it is not here")
fi
echo "== throughput"
# The pool, and room for it to grow: of rows, which are larger than words, 160 bytes of record and 16 to 32 of slot, with their share of what is empty.
need=$((${GPU_KEYS:-16777216} * 384 / 1048576)) room=$(df --output=avail -m /dev/shm | tail -1)
if [ "$room" -lt "$need" ]; then
  failed+=("throughput: /dev/shm has $room MiB, and ${GPU_KEYS:-16777216} records want $need: set GPU_KEYS to fewer")
else
  rates() { part "durahash bench $*" scripts/gpu_rates.py --tool build/check/bin/durahash --keys "${GPU_KEYS:-16777216}" "$@"; }
  rates --device-memory pool
  rates --device-memory pool --distribution zipfian
  for cache in 10 20 40; do rates --device-memory pool --device-cache $cache --distribution zipfian; done
  rates --device-memory device-mirror --device-arrays device
  rates --device-memory device-mirror
  rows=(--key bytes --key-bytes 8 --value-bytes 128)  # of embedding tables
  rates --device-memory pool "${rows[@]}"
  rates --device-memory pool "${rows[@]}" --set key_bytes=8
  rates --device-memory device-mirror --device-arrays device "${rows[@]}"
  for memory in pool device-mirror; do
    part "samples of 26 look-ups in embedding tables, $memory" build/check/bin/durahash bench --engine gphash --device cuda:0 --device-memory $memory --medium file \
      --workload dlrm --batch 53248 --keys "${GPU_KEYS:-16777216}" "${rows[@]}"
  done
  if [ -n "${GPU_BENCH:-}" ]; then
    # shellcheck disable=SC2086  # options, each a word
    rates $GPU_BENCH
  fi
fi
[ ${#failed[@]} -eq 0 ] || { printf 'FAILED: %s\n' "${failed[@]}" >&2; exit 1; }
