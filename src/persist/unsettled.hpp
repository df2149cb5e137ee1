// Which units of a table hold words that are visible and perhaps not durable (CRASH.md X1). A unit is what one writer locks: a shard, a segment.
//
// Link-and-persist keeps a mark in each commit word; here it stands in DRAM, one byte for a unit: a commit costs no second and third store to its line.
//
//   writer, under the unit's lock    begin(u);  store and flush what others may see;  fence;  end(u)
//   reader, no lock                  read all that is needed;  then, if not settled(u), make durable what was read before giving it away
//
// A reader that saw a writer's store sees the writer's `begin` too, which came before it; if it sees that writer's `end`, the fence has been. A process
// that was killed leaves words in the caches that nobody may ever have flushed: every unit of its pool begins as `inherited`, and is made durable whole
// before it is first used.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "persist/order.hpp"

namespace durahash {

enum class settlement : std::uint8_t { settled, publishing, inherited };

template <medium M>
class unsettled {
 public:
  static constexpr bool needed = !M::visible_is_durable;

  void resize(std::size_t units, bool inherited) {
    if constexpr (needed) {
      units_ = std::make_unique<std::atomic<settlement>[]>(units);
      for (std::size_t u = 0; inherited && u < units; ++u) units_[u].store(settlement::inherited, std::memory_order_relaxed);
    }
  }

  settlement of(std::size_t unit) const noexcept {
    if constexpr (needed)
      return units_[unit].load(std::memory_order_acquire);
    else
      return settlement::settled;
  }
  bool settled(std::size_t unit) const noexcept { return of(unit) == settlement::settled; }

  void begin(std::size_t unit) noexcept {
    if constexpr (needed) units_[unit].store(settlement::publishing, std::memory_order_relaxed);  // the store that follows releases it
  }
  void end(std::size_t unit, const durable&) noexcept {
    if constexpr (needed) units_[unit].store(settlement::settled, std::memory_order_release);
  }

  /// All that was inherited with the unit is durable. Any thread may find that out, lock or no lock.
  void take_over(std::size_t unit, const durable&) noexcept {
    if constexpr (needed) {
      settlement was = settlement::inherited;
      units_[unit].compare_exchange_strong(was, settlement::settled, std::memory_order_acq_rel);
    }
  }

 private:
  std::unique_ptr<std::atomic<settlement>[]> units_;
};

}  // namespace durahash
