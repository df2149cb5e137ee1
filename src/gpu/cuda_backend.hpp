// What the library durahash_cuda holds. libdurahash knows it by this one symbol, which is null
// where a program does not link it: only programs that use a GPU need the CUDA toolkit.
#pragma once

#include "durahash/gpu_memory.hpp"
#include "durahash/gpu_stream.hpp"
#include "gpu/device.hpp"

namespace durahash::gpu {

/// As durahash/gpu_stream.hpp says. A mark is an event.
struct stream_calls {
  stream (*make)(int number);
  void (*free)(int number, stream made);
  error (*wait)(int number, stream on);
  bool (*is_captured)(int number, stream on);
  bool (*is_reached)(int number, const void* memory, std::size_t bytes);
  result<void*> (*set_mark)(int number, stream on);
  bool (*mark_is_reached)(int number, void* event);
  error (*wait_for_mark)(int number, void* event);
  void (*free_mark)(int number, void* event);
};

struct cuda_backend {
  result<std::unique_ptr<device>> (*open)(int number);
  result<std::string> (*name)(int number);
  void* (*allocate_shared)(std::size_t bytes, int number);
  void (*free_shared)(void* memory, int number);
  void* (*allocate_on)(int number, std::size_t bytes);
  void (*free_on)(int number, void* memory);
  status (*copy_on)(int number, void* to, const void* from, std::size_t bytes);
  const stream_calls* streams;
};

result<std::unique_ptr<device>> open_cuda_device(int number);  // in durahash_cuda
extern const stream_calls cuda_streams;

}  // namespace durahash::gpu

extern "C" {
extern const durahash::gpu::cuda_backend durahash_cuda_backend;
}
