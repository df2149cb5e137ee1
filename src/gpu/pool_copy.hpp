// A copy of all of a pool in other memory, for a device that reads it there.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "gpu/device.hpp"

namespace durahash::gpu {

class pool_copy {
 public:
  pool_copy(device& d, memory_kind kind) noexcept : device_(d), kind_(kind) {}
  ~pool_copy() {
    device_.free(copy_, kind_);
    device_.free(staging_);
  }
  pool_copy(const pool_copy&) = delete;

  std::byte* at() const noexcept { return copy_; }
  bool has_room_for(std::uint64_t pool_bytes) const noexcept { return pool_bytes <= capacity_; }

  /// Of the whole pool, with room for it to grow by an eighth.
  error make(std::span<const std::byte> pool) {
    if (!has_room_for(pool.size())) {
      device_.free(std::exchange(copy_, nullptr), kind_);
      capacity_ = align_up(pool.size() + pool.size() / 8, block_bytes);
      copy_ = static_cast<std::byte*>(device_.allocate(capacity_, kind_));
    }
    if (copy_ != nullptr) return device_.copy(copy_, pool.data(), pool.size());
    std::uint64_t wanted = std::exchange(capacity_, 0);
    return {status::no_space,
            "no memory " +
                std::string(kind_ == memory_kind::own ? "on the device"
                                                      : "that host and device share") +
                " for a copy of " + std::to_string(wanted) + " bytes of the pool"};
  }

  /// These blocks again: numbers of them, in any order. Nobody reads the copy meanwhile.
  error bring(std::span<const std::byte> pool, std::vector<std::uint64_t>& blocks) {
    std::sort(blocks.begin(), blocks.end());
    blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
    if (!stage(std::min<std::uint64_t>(blocks.size(), max_at_once))) return make(pool);
    for (std::size_t first = 0; first < blocks.size(); first += max_at_once) {
      std::size_t count = std::min<std::size_t>(max_at_once, blocks.size() - first);
      for (std::size_t i = 0; i < count; ++i) {
        offsets()[i] = blocks[first + i] * block_bytes;
        std::memcpy(staging_ + i * block_bytes, pool.data() + offsets()[i], block_bytes);
      }
      stream own = device_.stream_for_copies();
      device_.spread({copy_, offsets(), staging_, count}, own);
      if (error e = device_.wait(own); e.code != status::ok) return e;
    }
    return {status::ok, {}};
  }

 private:
  static constexpr std::uint64_t max_at_once = std::uint64_t{1} << 16;

  /// Room for so many blocks and their offsets, which both sides see.
  bool stage(std::uint64_t blocks) {
    if (blocks <= staged_) return true;
    device_.free(std::exchange(staging_, nullptr));
    staged_ = blocks;
    staging_ =
        static_cast<std::byte*>(device_.allocate(staged_ * (block_bytes + sizeof(std::uint64_t))));
    if (staging_ == nullptr) staged_ = 0;
    return staging_ != nullptr;
  }
  std::uint64_t* offsets() const noexcept {
    return reinterpret_cast<std::uint64_t*>(staging_ + staged_ * block_bytes);
  }

  device& device_;
  memory_kind kind_;
  std::byte* copy_ = nullptr;
  std::uint64_t capacity_ = 0;
  std::byte* staging_ = nullptr;
  std::uint64_t staged_ = 0;
};

}  // namespace durahash::gpu
