// gpu::ref in a kernel: for each key, add one to its value, or insert it with one; the keys that were there are counted.
#include "test/gpu/ref_kernel.hpp"

#include "durahash/gpu_ref.cuh"

namespace durahash::test {
namespace {

__global__ void count_up(gpu::ref table, std::size_t n, const std::uint64_t* keys, status* answers, unsigned long long* there) {
  std::size_t warp = (blockIdx.x * std::size_t{blockDim.x} + threadIdx.x) / 32, warps = gridDim.x * std::size_t{blockDim.x} / 32;
  for (std::size_t i = warp; i < n; i += warps) {
    std::uint64_t value = 0;
    bool found = table.find(keys[i], value) == status::ok;
    status answer = table.put(keys[i], found ? value + 1 : 1);
    bool still = table.contains(keys[i]);
    if (threadIdx.x % 32 != 0) continue;
    answers[i] = answer;
    if (found && still) atomicAdd(there, 1ull);
  }
}

}  // namespace

void run_count_up(gpu::map& m, std::size_t n, const std::uint64_t* keys, status* answers, std::uint64_t* there) {
  count_up<<<16, 256>>>(gpu::ref(m), n, keys, answers, reinterpret_cast<unsigned long long*>(there));
}

}  // namespace durahash::test
