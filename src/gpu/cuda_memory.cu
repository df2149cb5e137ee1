// Names of CUDA devices, and pinned memory that all of them share.
#include <cuda_runtime_api.h>

#include "durahash/gpu_memory.hpp"
#include "gpu/device.hpp"

namespace durahash::gpu {

result<std::string> device_name(int number) {
  if (auto usable = cuda_device(number); !usable) return usable.failure();
  cudaDeviceProp facts;
  if (cudaError_t code = cudaGetDeviceProperties(&facts, number); code != cudaSuccess)
    return error{status::io_error, "cannot ask the CUDA device " + std::to_string(number) + " for its name: " + cudaGetErrorString(code)};
  return std::string(facts.name);
}

void* allocate_shared(std::size_t bytes) {
  void* memory = nullptr;
  if (cudaHostAlloc(&memory, bytes, cudaHostAllocPortable | cudaHostAllocMapped) == cudaSuccess) return memory;
  cudaGetLastError();  // told by the null
  return nullptr;
}
void free_shared(void* memory) { cudaFreeHost(memory); }

}  // namespace durahash::gpu
