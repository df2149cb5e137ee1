// The pool's memory in the hands of a device, piece by piece.
#pragma once

#include <algorithm>
#include <vector>

#include "gpu/device.hpp"

namespace durahash::gpu {

class pins {
 public:
  explicit pins(device& d) noexcept : device_(d) {}
  ~pins() { release(); }
  pins(const pins&) = delete;

  /// What of the pool is not taken yet.
  error take(std::span<std::byte> pool) {
    constexpr std::size_t max_at_once = std::size_t{1} << 30;
    while (taken_ < pool.size()) {
      std::span<std::byte> next = pool.subspan(taken_, std::min(max_at_once, pool.size() - taken_));
      if (error e = device_.take(next); e.code != status::ok) return e;
      pieces_.push_back(next);
      taken_ += next.size();
    }
    return {status::ok, {}};
  }
  /// Where the device finds the table: the pool if it is asked for, or possible and nothing is;
  /// else a mirror, for which nothing is taken.
  error settle(table_place& place, std::span<std::byte> pool) {
    if (place != table_place::automatic && place != table_place::pool) return {status::ok, {}};
    error taken = take(pool);
    if (taken.code != status::ok) release();
    if (taken.code != status::ok && place == table_place::pool) return taken;
    place = taken.code == status::ok ? table_place::pool : table_place::host_mirror;
    return {status::ok, {}};
  }
  void release() {
    for (std::span<std::byte> piece : pieces_) device_.release(piece);
    pieces_.clear();
    taken_ = 0;
  }

 private:
  device& device_;
  std::vector<std::span<std::byte>> pieces_;
  std::size_t taken_ = 0;
};

}  // namespace durahash::gpu
