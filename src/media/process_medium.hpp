// Memory and files at the levels `none` and `process`: a store outlives the process as soon as it
// is made, because the page cache does.
#pragma once

#include <atomic>

#include "media/medium.hpp"

namespace durahash {

class process_medium : public direct_access {
 public:
  static constexpr bool visible_is_durable = true;
  void flush(const void*, std::size_t) noexcept {}
  // a killed process leaves a prefix of its stores, whatever order others see them in
  void fence() noexcept { std::atomic_signal_fence(std::memory_order_seq_cst); }
  media_counts counts() const { return {}; }
};

static_assert(medium<process_medium>);

}  // namespace durahash
