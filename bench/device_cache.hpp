// Copies of hot buckets on a device, loaded again and again beside the batches, as a server would.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <thread>

#include "bench/batch_arrays.hpp"
#include "bench/outcome.hpp"

namespace durahash::bench {

/// Of a gpu::map or a gpu::table, which outlives it.
template <class Pool>
class device_cache {
 public:
  device_cache(Pool& pool, bool is_there) : pool_(&pool), is_there_(is_there) {
    if (is_there)
      loads_ = std::jthread([p = &pool](const std::stop_token& stop) {
        constexpr std::chrono::milliseconds pause(20);
        while (!stop.stop_requested() && p->load_cache() == status::ok)
          std::this_thread::sleep_for(pause);
      });
  }

  /// Nothing where there is none.
  std::optional<double> hit_rate() const {
    if (!is_there_) return std::nullopt;
    const gpu::cache_figures now = pool_->cache();
    return now.looks == 0 ? 0 : static_cast<double>(now.hits) / static_cast<double>(now.looks);
  }

 private:
  Pool* pool_;
  bool is_there_;
  std::jthread loads_;
};

}  // namespace durahash::bench
