// The medium `emulated`, for programs that measure: it counts flushes, fences and 256-byte blocks,
// and adds latencies. It lies in a library of its own, `durahash::emulated`
// (find_package(durahash COMPONENTS emulated)): others need not carry each engine once more.
#pragma once

#include <cstdint>

namespace durahash {

/// From now on pools of this program may have the medium `emulated`. Without this call they are
/// refused with a sentence.
/// Threads   before the first pool is opened; again does no harm.
void use_emulated_medium() noexcept;

/// From now on the hash seeds of new pools of this program come from `seed`, whatever their medium.
/// One program that makes the same pools and operations counts the same. Somebody who knows the
/// seed can choose keys that all fall into one place: for measurements alone.
/// Threads   any time; pools that are made at the same time draw in either order.
void repeat_pool_seeds(std::uint64_t seed);

}  // namespace durahash
