// A disk, at the levels power and power_buffered: a line is written back by a place in the log, and
// what a thread flushed before has an earlier place than what it flushes after: a fence is nothing.
#pragma once

#include "disk/disk_mapping.hpp"
#include "media/medium.hpp"

namespace durahash {

class disk_medium : public direct_access {
 public:
  static constexpr bool visible_is_durable = false;
  static constexpr bool opens_durable = true;  // replay has left nothing in caches
  explicit disk_medium(disk_mapping& image) : image_(&image) {}

  void write_bytes(void* at, const void* from, std::size_t bytes) noexcept {
    direct_access::write_bytes(at, from, bytes);
    if (bytes != 0) image_->mark(at, bytes);
  }
  void flush(const void* at, std::size_t bytes) noexcept { image_->flush(at, bytes); }
  void fence() noexcept { std::atomic_signal_fence(std::memory_order_seq_cst); }
  media_counts counts() const { return {}; }

 private:
  disk_mapping* image_;
};

static_assert(medium<disk_medium>);

}  // namespace durahash
