// A warp of the GPU, as warp/lockstep_warp.hpp says what one is.
#pragma once

#include <cstdint>

namespace durahash::gpu {

class cuda_warp {
 public:
  static constexpr unsigned lanes = 32;
  /// One lane's share of what differs among them.
  template <class T>
  class varying {
   public:
    __device__ explicit varying(T mine) : mine_(mine) {}

   private:
    friend class cuda_warp;
    T mine_;
  };

  template <class F>
  __device__ auto each(F&& f) const {
    return varying<decltype(f(0u))>(f(lane()));
  }
  template <class T>
  __device__ T of(const varying<T>& v, unsigned) const {
    return v.mine_;
  }
  template <class T>
  __device__ T from(const varying<T>& v, unsigned lane) const {
    return __shfl_sync(all, v.mine_, static_cast<int>(lane));
  }
  __device__ std::uint32_t ballot(const varying<bool>& v) const {
    return __ballot_sync(all, v.mine_);
  }
  template <class F>
  __device__ auto one(F&& f) const {
    decltype(f()) made{};
    __syncwarp();  // orders what the lanes read and write before, and below after
    if (lane() == 0) made = f();
    __syncwarp();
    return __shfl_sync(all, made, 0);
  }

 private:
  static constexpr unsigned all = 0xffffffffu;
  __device__ static unsigned lane() {  // of blocks of any shape
    unsigned id;
    asm("mov.u32 %0, %%laneid;" : "=r"(id));
    return id;
  }
};

}  // namespace durahash::gpu
