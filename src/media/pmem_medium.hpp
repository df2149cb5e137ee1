// Persistent memory at the level `power`: clwb (or its elder) and sfence; with eADR the fence
// alone.
#pragma once

#include "media/cache_line.hpp"
#include "media/mapping.hpp"
#include "media/medium.hpp"

namespace durahash {

class pmem_medium : public direct_access {
 public:
  static constexpr bool visible_is_durable = false;
  explicit pmem_medium(persistence_domain domain)
      : how_(domain == persistence_domain::cpu_cache ? flush_instruction::none
                                                     : best_flush_instruction()) {}

  void flush(const void* at, std::size_t bytes) noexcept {
    if (how_ == flush_instruction::none) return;
    // the usual one is told apart once, and not for each line
    if (how_ == usual_flush_instruction) [[likely]]
      for_each_line(at, bytes, [](const void* line) { write_back(usual_flush_instruction, line); });
    else for_each_line(at, bytes, [this](const void* line) { write_back(how_, line); });
  }
  void flush_line(const void* at) noexcept { write_back(how_, at); }
  void fence() noexcept { store_fence(); }
  media_counts counts() const { return {}; }

 private:
  flush_instruction how_;
};

static_assert(medium<pmem_medium>);

}  // namespace durahash
