// Intents: what recovery has to know of a movement or a logged update that a crash interrupts. One
// line each in the root; who uses one holds its lock.
#pragma once

#include <span>

#include "base/spin_lock.hpp"
#include "engine/frame/stripes.hpp"
#include "engine/level/format.hpp"
#include "persist/pool.hpp"

namespace durahash::level {

template <medium M>
root& root_of(const pool<M>& p) noexcept {
  return *p.at(poff<root>{p.block().engine_offset});
}

template <medium M>
class intents {
 public:
  explicit intents(const pool<M>& p) noexcept : p_(p) {}

  std::span<intent> all() const noexcept { return root_of(p_).intents; }
  /// The one for what a stripe's writer does, and what guards it.
  intent& of(stripe_index s) const noexcept { return root_of(p_).intents[s % intent_count]; }
  spin_lock& lock_of(stripe_index s) noexcept { return locks_[s % intent_count]; }

 private:
  const pool<M>& p_;
  spin_lock locks_[intent_count];
};

}  // namespace durahash::level
