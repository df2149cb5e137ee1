// Of a build without a CUDA compiler.
#include "durahash/gpu_memory.hpp"
#include "gpu/device.hpp"

namespace durahash::gpu {

#ifndef DURAHASH_HAS_CUDA
result<std::unique_ptr<device>> cuda_device(int) {
  return error{status::unusable, "this build of durahash has no CUDA backend: build it where nvcc is, with -DDURAHASH_CUDA=ON"};
}
result<std::string> device_name(int number) { return cuda_device(number).failure(); }
void* allocate_shared(std::size_t) { return nullptr; }
void free_shared(void*) {}
void* allocate_on(int, std::size_t) { return nullptr; }
void free_on(int, void*) {}
status copy_on(int, void*, const void*, std::size_t) { return status::unusable; }
#endif

}  // namespace durahash::gpu
