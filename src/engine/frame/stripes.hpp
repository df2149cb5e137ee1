// Stripes: what one lock guards, in the engines whose units are the first bits of a hash.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>

#include "base/spin_lock.hpp"
#include "media/medium.hpp"

namespace durahash {

using stripe_index = std::uint32_t;

/// So many first bits name a stripe at most. With 16 instead of 14, of 8 M records in one thread,
/// cceh's hits and updates take 3 to 10 % longer: their state leaves the near cache. With 12 a
/// batch of level meets its own locks, 5 % of an update.
inline constexpr unsigned max_stripe_bits = 14;

/// Of at most so many bits of a hash that name a unit: as many, or what the medium asks for. State
/// of units that nobody uses is then not zeroed, or mapped, whenever a table opens.
template <medium M>
constexpr unsigned unit_bits(unsigned most) noexcept {
  if constexpr (requires { M::most_unit_bits; }) return std::min(most, M::most_unit_bits);
  else return most;
}
template <medium M>
inline constexpr unsigned stripe_bits_on = unit_bits<M>(max_stripe_bits);

/// A sum of what came and went.
inline std::uint64_t none_if_negative(std::uint64_t sum) noexcept {
  return static_cast<std::int64_t>(sum) < 0 ? 0 : sum;
}

/// How many records there are. `stripes[s].records` is what came and went since there were
/// `at_first`. Cost: a line for four stripes at most, 3 us where all are used.
template <class States>
std::uint64_t records_of(std::uint64_t at_first, const States& stripes, stripe_index count) {
  auto records = [&](stripe_index s) {  // added modulo 2^64: a damaged pool may begin with any sum
    return static_cast<std::uint64_t>(stripes[s].records.load(std::memory_order_relaxed));
  };
  std::uint64_t even = at_first, odd = 0;  // neither waits for the other
  for (stripe_index s = 0; s + 1 < count; s += 2) even += records(s), odd += records(s + 1);
  if (count % 2 != 0) even += records(count - 1);
  return none_if_negative(even + odd);
}

/// Counts by stripe that move from one to another one, beside those who add them up. Who moves them
/// waits for nobody who adds: a thread that asks for the size again and again delays no growth.
class moving_counts {
 public:
  template <class Move>
  void move(Move&& move) noexcept {
    std::scoped_lock one_at_a_time(moving_);
    const std::uint32_t before = moves_.load(std::memory_order_relaxed);
    moves_.store(before + 1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
    move();
    moves_.store(before + 2, std::memory_order_release);
  }
  /// Sum reads counts alone. What moves meanwhile is counted once.
  template <class Sum>
  std::uint64_t sum(Sum&& sum) noexcept {
    constexpr int tries = 16;
    for (int n = 0; n < tries; ++n) {
      const std::uint32_t before = moves_.load(std::memory_order_acquire);
      if (before % 2 == 0) {
        const std::uint64_t made = sum();
        std::atomic_thread_fence(std::memory_order_acquire);
        if (moves_.load(std::memory_order_relaxed) == before) return made;
      } else {
        await_holder(n);
      }
    }
    std::scoped_lock none_moves(moving_);
    return sum();
  }

 private:
  spin_lock moving_;
  std::atomic<std::uint32_t> moves_{0};  // odd: one is under way
};

}  // namespace durahash
