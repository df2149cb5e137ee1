#include "gpu/cuda_backend.hpp"

#pragma weak durahash_cuda_backend

namespace durahash::gpu {
namespace {

const cuda_backend* linked() noexcept { return &durahash_cuda_backend; }

error none() {
  return {status::unusable,
          "this build of durahash has no CUDA backend: build it where nvcc is, with "
          "-DDURAHASH_CUDA=ON, and link durahash::cuda"};
}

}  // namespace

result<std::unique_ptr<device>> cuda_device(int number) {
  if (linked() == nullptr) return none();
  return linked()->open(number);
}
result<std::string> device_name(int number) {
  if (linked() == nullptr) return none();
  return linked()->name(number);
}
void* allocate_shared(std::size_t bytes, int number) {
  return linked() == nullptr ? nullptr : linked()->allocate_shared(bytes, number);
}
void free_shared(void* memory, int number) {
  if (linked() != nullptr) linked()->free_shared(memory, number);
}
void* allocate_on(int number, std::size_t bytes) {
  return linked() == nullptr ? nullptr : linked()->allocate_on(number, bytes);
}
void free_on(int number, void* memory) {
  if (linked() != nullptr) linked()->free_on(number, memory);
}
status copy_on(int number, void* to, const void* from, std::size_t bytes) {
  return linked() == nullptr ? status::unusable : linked()->copy_on(number, to, from, bytes);
}

}  // namespace durahash::gpu
