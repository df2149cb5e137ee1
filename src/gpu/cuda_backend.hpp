// What the library durahash_cuda holds. libdurahash knows it by this one symbol, which is null
// where a program does not link it: only programs that use a GPU need the CUDA toolkit.
#pragma once

#include "durahash/gpu_memory.hpp"
#include "gpu/device.hpp"

namespace durahash::gpu {

struct cuda_backend {
  result<std::unique_ptr<device>> (*open)(int number);
  result<std::string> (*name)(int number);
  void* (*allocate_shared)(std::size_t bytes, int number);
  void (*free_shared)(void* memory, int number);
  void* (*allocate_on)(int number, std::size_t bytes);
  void (*free_on)(int number, void* memory);
  status (*copy_on)(int number, void* to, const void* from, std::size_t bytes);
};

result<std::unique_ptr<device>> open_cuda_device(int number);  // in durahash_cuda

}  // namespace durahash::gpu

extern "C" {
extern const durahash::gpu::cuda_backend durahash_cuda_backend;
}
