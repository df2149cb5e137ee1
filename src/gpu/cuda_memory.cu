// Names of CUDA devices, and pinned memory that all of them share.
#include "gpu/cuda_backend.hpp"
#include "gpu/on_device.hpp"

namespace durahash::gpu {
namespace cuda_calls {

result<std::string> device_name(int number) {
  if (auto usable = open_cuda_device(number); !usable) return usable.failure();
  cudaDeviceProp facts;
  if (cudaError_t code = cudaGetDeviceProperties(&facts, number); code != cudaSuccess)
    return error{status::io_error, "cannot ask the CUDA device " + std::to_string(number) +
                                       " for its name: " + cudaGetErrorString(code)};
  return std::string(facts.name);
}

namespace {

/// Of a device that cannot be used it is none, and the call fails.
CUcontext context_of(int number) {
  CUcontext context = nullptr;
  return gpu::context_of(number, context) == cudaSuccess ? context : nullptr;
}

}  // namespace

void* allocate_shared(std::size_t bytes, int number) {
  const CUcontext context = context_of(number);
  if (context == nullptr) return nullptr;
  const on_device here(context);
  void* memory = nullptr;
  if (cudaHostAlloc(&memory, bytes, cudaHostAllocPortable | cudaHostAllocMapped) == cudaSuccess)
    return memory;
  cudaGetLastError();  // told by the null
  return nullptr;
}
void free_shared(void* memory, int number) {
  if (memory == nullptr) return;
  const on_device here(context_of(number));
  cudaFreeHost(memory);
}

void* allocate_on(int number, std::size_t bytes) {
  const CUcontext context = context_of(number);
  if (context == nullptr) return nullptr;
  const on_device here(context);
  void* memory = nullptr;
  if (cudaMalloc(&memory, bytes) == cudaSuccess) return memory;
  cudaGetLastError();  // told by the null
  return nullptr;
}
void free_on(int number, void* memory) {
  if (memory == nullptr) return;
  const on_device here(context_of(number));
  cudaFree(memory);
}
status copy_on(int number, void* to, const void* from, std::size_t bytes) {
  const CUcontext context = context_of(number);
  if (context == nullptr) return status::io_error;
  const on_device here(context);
  return cudaMemcpy(to, from, bytes, cudaMemcpyDefault) == cudaSuccess ? status::ok
                                                                       : status::io_error;
}

}  // namespace cuda_calls
}  // namespace durahash::gpu

namespace calls = durahash::gpu::cuda_calls;
const durahash::gpu::cuda_backend durahash_cuda_backend = {durahash::gpu::open_cuda_device,
                                                           calls::device_name,
                                                           calls::allocate_shared,
                                                           calls::free_shared,
                                                           calls::allocate_on,
                                                           calls::free_on,
                                                           calls::copy_on,
                                                           &durahash::gpu::cuda_streams};
