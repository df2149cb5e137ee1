// Which CUDA device a thread's calls are for.
#pragma once

#include <cuda_runtime_api.h>

namespace durahash::gpu {

/// The thread's device, for a while.
class on_device {
 public:
  explicit on_device(int number) {
    cudaGetDevice(&before_);
    cudaSetDevice(number);
  }
  ~on_device() { cudaSetDevice(before_); }
  on_device(const on_device&) = delete;

 private:
  int before_ = 0;
};

}  // namespace durahash::gpu
