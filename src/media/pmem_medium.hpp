// The level `power`. Persistent memory: clwb (or its elder) and sfence; with eADR the fence alone.
// And a disk, at `power_buffered`, too: a line is written back by a place in the log. There the
// order of places is all that a fence asks for.
#pragma once

#include "media/cache_line.hpp"
#include "media/line_log.hpp"
#include "media/mapping.hpp"
#include "media/medium.hpp"

namespace durahash {

class pmem_medium : public direct_access {
 public:
  static constexpr bool visible_is_durable = false;
  explicit pmem_medium(persistence_domain domain)
      : how_(domain == persistence_domain::cpu_cache ? flush_instruction::none
                                                     : best_flush_instruction()) {}
  explicit pmem_medium(line_log& log) : how_(flush_instruction::none), log_(&log) {}

  bool writes_back() const noexcept { return how_ != flush_instruction::none || log_ != nullptr; }
  bool opens_durable() const noexcept { return log_ != nullptr; }  // replay left nothing in caches

  void keep(const void* at, std::size_t bytes) noexcept {
    if (log_ != nullptr) log_->mark(at, bytes);
  }
  void flush(const void* at, std::size_t bytes) noexcept {
    if (!write_back_all(how_, at, bytes) && log_ != nullptr) log_->flush(at, bytes);
  }
  void flush_line(const void* at) noexcept {
    if (!write_back(how_, at)) [[unlikely]]
      if (log_ != nullptr) flush_line_to(*log_, at);
  }
  void fence() noexcept { store_fence(); }
  media_counts counts() const { return {}; }

 private:
  flush_instruction how_;
  line_log* log_ = nullptr;
};

static_assert(medium<pmem_medium>);

}  // namespace durahash
