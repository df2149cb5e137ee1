// Which units of a table hold words that are visible and perhaps not durable (hole X1). A unit
// is what one writer locks: a shard, a segment.
//
// Link-and-persist keeps a mark in each commit word; here it stands in DRAM, one byte for a unit: a
// commit costs no second and third store to its line.
//
//   writer, under the unit's lock    begin(u);  store and flush what others may see;  fence;
//                                    end(u)
//   reader, no lock                  read all that is needed;  then, if not settled(u), make
//                                    durable what was read before giving it away
//
// A reader that saw a writer's store sees the writer's `begin` too, which came before it; if it
// sees that writer's `end`, the fence has been. A process that was killed leaves words in the
// caches that nobody may ever have flushed: every unit of its pool begins as `inherited`, and is
// made durable whole before it is first used.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/zeroed_array.hpp"
#include "persist/order.hpp"

namespace durahash {

enum class settlement : std::uint8_t { settled, publishing, inherited };

/// Zero at open, whatever that means then.
using settlement_mark = std::atomic<std::uint8_t>;

/// `Marks` has one for each unit: an array of them, or of what an engine keeps of a unit besides.
template <medium M, class Marks = zeroed_array<settlement_mark>>
class unsettled {
 public:
  static constexpr bool needed = !M::visible_is_durable;

  void begin_with(Marks all, bool inherited) {
    if constexpr (needed) {
      units_ = std::move(all);
      bool unknown = inherited && !M::planted("a-dead-process-s-words");
      settled_code_ = unknown ? 1 : as_at_open;
    }
  }
  void resize(std::size_t units, bool inherited) {
    if constexpr (needed) begin_with(Marks(units), inherited);
  }

  settlement of(std::size_t unit) const noexcept {
    if constexpr (needed) {
      std::uint8_t code = units_[unit].load(std::memory_order_acquire);
      return code == settled_code_     ? settlement::settled
             : code == publishing_code ? settlement::publishing
                                       : settlement::inherited;
    } else {
      return settlement::settled;
    }
  }
  bool settled(std::size_t unit) const noexcept {
    if constexpr (needed) return settled(units_[unit]);
    else return true;
  }
  [[gnu::always_inline]] bool settled(const settlement_mark& mark) const noexcept {
    if constexpr (needed) {
      std::uint8_t code = mark.load(std::memory_order_acquire);
      if (M::planted("readers-give-away-what-is-not-durable") && code == publishing_code)
        return true;
      return code == settled_code_;
    } else {
      return true;
    }
  }

  void begin(std::size_t unit) noexcept {
    if constexpr (needed) begin(units_[unit]);
  }
  void end(std::size_t unit, const durable& done) noexcept {
    if constexpr (needed) end(units_[unit], done);
  }
  /// Nothing of it is a dead process's.
  [[gnu::always_inline]] bool settled_or_publishing(const settlement_mark& mark) const noexcept {
    if constexpr (needed) {
      std::uint8_t code = mark.load(std::memory_order_relaxed);
      return code == settled_code_ || code == publishing_code;
    } else {
      return true;
    }
  }
  /// Of who holds the unit's lock: whether it has begun, and not ended. Never where visible is
  /// durable.
  [[gnu::always_inline]] bool publishing(const settlement_mark& mark) const noexcept {
    if constexpr (needed) return mark.load(std::memory_order_relaxed) == publishing_code;
    else return false;
  }
  [[gnu::always_inline]] void begin(settlement_mark& mark) noexcept {
    // the store that follows releases it
    if constexpr (needed) mark.store(publishing_code, std::memory_order_relaxed);
  }
  [[gnu::always_inline]] void end(settlement_mark& mark, const durable&) noexcept {
    if constexpr (needed) mark.store(settled_code_, std::memory_order_release);
  }

  /// All that was inherited with the unit is durable. Any thread may find that out, lock or no
  /// lock.
  void take_over(std::size_t unit, const durable&) noexcept {
    if constexpr (needed) {
      std::uint8_t was = as_at_open;
      units_[unit].compare_exchange_strong(was, settled_code_, std::memory_order_acq_rel);
    }
  }

 private:
  static constexpr std::uint8_t as_at_open = 0, publishing_code = 2;

  std::uint8_t settled_code_ = as_at_open;  // after a clean close all units are settled as they are
  Marks units_;
};

}  // namespace durahash
