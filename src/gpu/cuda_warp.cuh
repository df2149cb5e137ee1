// A warp of the GPU, as warp/lockstep_warp.hpp says what one is.
#pragma once

#include <cstdint>
#include <type_traits>

namespace durahash::gpu {

/// Tiles of `Width` lanes each: 32 / Width operations at once. A lane of a tile has the work of
/// several of the 32 lanes that an operation has: of lane, lane + Width, ...
///
/// Votes and shuffles are of the whole warp, since those of a part cost several times as much: all
/// tiles come to each of them.
template <unsigned Width>
class cuda_warp {
  static_assert(Width == 4 || Width == 8 || Width == 16 || Width == 32);

 public:
  static constexpr unsigned lanes = 32, width = Width, numbers = 32;

  /// What a lane has of what differs among them.
  template <class T>
  class varying {
    friend class cuda_warp;
    T mine_[lanes / Width];
  };
  template <class T>
  class held {
    friend class cuda_warp;
    T mine_;
  };

  template <class F>
  __device__ auto each(F&& f) const {
    return some(0, lanes, f);
  }
  template <class F>
  __device__ auto some(unsigned first, unsigned end, F&& f) const {
    varying<decltype(f(0u))> made;
    for_shares(first, end, [&](unsigned n) { made.mine_[n] = f(n * Width | lane()); });
    return made;
  }
  template <class T>
  __device__ T of(const varying<T>& v, unsigned lane) const {
    return v.mine_[lane / Width];
  }
  template <class T>
  __device__ T from(const varying<T>& v, unsigned lane) const {
    std::uint64_t mine = 0;  // by bits: a choice among places would keep all of it in memory
#pragma unroll
    for (unsigned n = 0; n < lanes / Width; ++n)
      mine |= bits_of(v.mine_[n]) & -std::uint64_t{lane / Width == n};
    return of_bits<T>(shuffled(mine, lane % Width));
  }
  __device__ std::uint32_t ballot(const varying<bool>& v) const { return ballot(0, lanes, v); }
  __device__ std::uint32_t ballot(unsigned first, unsigned end, const varying<bool>& v) const {
    std::uint32_t made = 0;
    for_shares(first, end, [&](unsigned n) { made |= votes_for(v.mine_[n]) << (n * Width); });
    return made;
  }
  __device__ auto any_of(unsigned first, unsigned end, const varying<bool>& is) const {
    held<bool> made;
    made.mine_ = false;
    for_shares(first, end, [&](unsigned n) { made.mine_ = made.mine_ || is.mine_[n]; });
    return made;
  }
  template <class T>
  __device__ auto chosen(unsigned first, unsigned end, const varying<T>& v,
                         const varying<bool>& is) const {
    held<T> made;
    for_shares(first, end, [&](unsigned n) {
      if (n * Width <= first || is.mine_[n]) made.mine_ = v.mine_[n];
    });
    return made;
  }

  template <class T>
  __device__ void put(varying<T>& to, unsigned first, unsigned end, const varying<T>& from) const {
    for_shares(first, end, [&](unsigned n) { to.mine_[n] = from.mine_[n]; });
  }

  template <class F>
  __device__ auto one(bool does, F&& f) const {
    decltype(f()) made{};
    __syncwarp();  // orders what the lanes read and write before, and below after
    if (does && lane() == 0) made = f();
    __syncwarp();
    return shuffled(made, 0);
  }
  template <class F>
  __device__ auto one(F&& f) const {
    return one(true, f);
  }
  template <class F>
  __device__ void one_does(bool does, F&& f) const {
    __syncwarp();
    if (does && lane() == 0) f();
    __syncwarp();
  }

  template <class F>
  __device__ auto hold(F&& f) const {
    held<decltype(f(0u))> made;
    made.mine_ = f(lane());
    return made;
  }
  template <class T>
  __device__ T of(const held<T>& v, unsigned) const {
    return v.mine_;
  }
  template <class T>
  __device__ T from(const held<T>& v, unsigned lane) const {
    return shuffled(v.mine_, lane);
  }
  template <class T>
  __device__ void keep(held<T>& v, unsigned lane, T value) const {
    if (this->lane() == lane) v.mine_ = value;
  }
  __device__ std::uint32_t ballot(const held<bool>& v) const { return votes_for(v.mine_); }
  template <class T>
  __device__ bool agreed(const held<T>& before, const held<T>& behind) const {
    T first = shuffled(before.mine_, 0);
    return votes_for(before.mine_ != first || behind.mine_ != first) == 0;
  }
  template <class T>
  __device__ auto alike(const held<T>& v, const held<bool>& takes_part) const {
    const std::uint32_t same = __match_any_sync(all, bits_of(v.mine_)),
                        those = __ballot_sync(all, takes_part.mine_);
    held<std::uint32_t> made;
    made.mine_ = takes_part.mine_ ? same & those : 0;
    return made;
  }
  template <class T>
  __device__ T from_far(const held<T>& v, unsigned number) const {
    return shuffled<T, lanes>(v.mine_, number);
  }
  __device__ static unsigned number_of(unsigned) { return lane_id(); }
  __device__ bool in_any_tile(bool what) const { return __any_sync(all, what) != 0; }

 private:
  static constexpr unsigned all = ~0u;

  /// For each share of this lane's that is among those lanes.
  template <class F>
  __device__ static void for_shares(unsigned first, unsigned end, F&& f) {
#pragma unroll
    for (unsigned n = 0; n < lanes / Width; ++n)
      if (n * Width < end && (n + 1) * Width > first) f(n);
  }
  template <class T>
  __device__ static std::uint64_t bits_of(T value) {
    if constexpr (std::is_pointer_v<T>) return reinterpret_cast<std::uint64_t>(value);
    else return static_cast<std::uint64_t>(value);
  }
  template <class T>
  __device__ static T of_bits(std::uint64_t bits) {
    if constexpr (std::is_pointer_v<T>) return reinterpret_cast<T>(bits);
    else return static_cast<T>(bits);
  }
  template <class T, unsigned Among = Width>
  __device__ static T shuffled(T mine, unsigned from) {
    auto lane = static_cast<int>(from);
    if constexpr (sizeof(T) <= sizeof(int))
      return static_cast<T>(__shfl_sync(all, static_cast<int>(mine), lane, Among));
    else return of_bits<T>(__shfl_sync(all, bits_of(mine), lane, Among));
  }
  __device__ static std::uint32_t votes_for(bool mine) {
    std::uint32_t votes = __ballot_sync(all, mine);
    if constexpr (Width == lanes) return votes;
    else return votes >> (lane_id() & ~(Width - 1)) & ((1u << Width) - 1);
  }
  __device__ static unsigned lane() { return lane_id() & (Width - 1); }
  __device__ static unsigned lane_id() {  // of blocks of any shape
    unsigned id;
    asm("mov.u32 %0, %%laneid;" : "=r"(id));
    return id;
  }
};

}  // namespace durahash::gpu
