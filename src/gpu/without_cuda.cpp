// Of a build without a CUDA compiler.
#include "gpu/device.hpp"

namespace durahash::gpu {

#ifndef DURAHASH_HAS_CUDA
result<std::unique_ptr<device>> cuda_device(int) {
  return error{status::unusable, "this build of durahash has no CUDA backend: build it where nvcc is, with -DDURAHASH_CUDA=ON"};
}
#endif

}  // namespace durahash::gpu
