// A batch, and what one warp does of it. Every function here works on the operations first, first +
// step, ... of a batch of n.
#pragma once

#include <cstddef>

#include "gpu/operations.hpp"

namespace durahash::gpu {

enum class action : std::uint8_t { find, put, insert, update, erase };

/// Arrays that the device reads and writes. `values` is read by writes and written by finds; it may
/// be missing for find and erase.
struct batch {
  action what;
  std::size_t count;
  const std::uint64_t* keys;
  std::uint64_t* values;
  status* answers;
  std::uint32_t now = 0;  // of finds: their number, for the cache
};

/// The answer of an operation that has not been done yet.
inline constexpr status pending = static_cast<status>(0xff);

/// Counted on the device.
struct tallies {
  std::int64_t records = 0;     // added, less removed
  std::uint64_t full = 0;       // operations that found no room
  std::uint64_t pending = 0;    // operations whose stripe another one of the group held
  std::uint64_t moved = 0;      // records copied to a new level
  std::uint64_t misplaced = 0;  // records that no place leads to, found meanwhile
  std::uint64_t looks = 0;      // of sampled searches: at buckets
  std::uint64_t copies = 0;     // of these: at copies
};

template <class Side>
class batch_run {
 public:
  DURAHASH_ON_DEVICE batch_run(Side& side, const leased_table& table, const batch& all,
                               tallies& total) noexcept
      : side_(side), operations_(side, table), all_(all), total_(total) {}

  DURAHASH_ON_DEVICE void find(std::size_t first, std::size_t step) {
    constexpr std::size_t sampled = 16;  // one search of so many is counted
    typename operations<Side>::looks seen{all_.now};
    for (std::size_t i = first; i < all_.count; i += step) {
      std::uint64_t value = 0;
      status answer = operations_.find(all_.keys[i], value, i % sampled == 0 ? &seen : nullptr);
      if (all_.values != nullptr && answer == status::ok) set(all_.values[i], value);
      set(all_.answers[i], answer);
    }
    if (seen.buckets == 0) return;
    tallies mine;
    mine.looks = seen.buckets;
    mine.copies = seen.copies;
    add(mine);
  }

  /// Writes that are done at once, where visible is durable: those whose answer is `pending`.
  DURAHASH_ON_DEVICE void write(std::size_t first, std::size_t step) {
    tallies mine;
    for (std::size_t i = first; i < all_.count; i += step) {
      if (all_.answers[i] != pending) continue;
      std::int32_t records = 0;
      status answer =
          decided(i, [&](auto decide) { return operations_.write(all_.keys[i], decide, records); });
      mine.records += records;
      mine.full += answer == status::no_space;
      set(all_.answers[i], answer);
    }
    add(mine);
  }

  /// First half of writes that become durable together, likewise. An operation whose stripe is held
  /// stays pending. Stripes are held until the commit by those that changed nothing, too: else a
  /// later batch's operation could overtake one that found the stripe held for that moment.
  DURAHASH_ON_DEVICE void stage(std::size_t first, std::size_t step, change* changes) {
    tallies mine;
    for (std::size_t i = first; i < all_.count; i += step) {
      if (all_.answers[i] != pending) continue;
      if (!side_.try_take(operations_.hash_of(all_.keys[i]))) {
        ++mine.pending;
        continue;
      }
      change c;
      status answer =
          decided(i, [&](auto decide) { return operations_.stage(all_.keys[i], decide, c); });
      c.held = true;
      set(changes[i], c);
      set(all_.answers[i], answer);
      mine.full += answer == status::no_space;
    }
    add(mine);
  }

  /// Second half. What they come after is durable.
  DURAHASH_ON_DEVICE void commit(std::size_t first, std::size_t step, const change* changes) {
    tallies mine;
    for (std::size_t i = first; i < all_.count; i += step) {
      change c = changes[i];
      if (!c.held) continue;
      operations_.commit(c);
      side_.order();
      side_.give(operations_.hash_of(all_.keys[i]));
      mine.records += c.records;
    }
    add(mine);
  }

  /// Growth: the new level, from the buckets of the bottom. The batch has no part in it.
  DURAHASH_ON_DEVICE void copy_up(std::uint64_t first, std::uint64_t step, std::uint64_t buckets,
                                  const leased_level& top) {
    tallies mine;
    for (std::uint64_t index = first; index < buckets; index += step)
      mine.moved += operations_.copy_up(index, top, mine.misplaced);
    add(mine);
  }

  /// Records of buckets, so many from the first one on, appended. The batch has no part in it.
  DURAHASH_ON_DEVICE void export_records(std::uint64_t first_bucket, std::uint64_t buckets,
                                         const exported& to, std::uint64_t first,
                                         std::uint64_t step) {
    for (std::uint64_t n = first; n < buckets; n += step)
      operations_.export_bucket(first_bucket + n, to);
  }

  /// A step of a load of copies. The batch has no part in it.
  DURAHASH_ON_DEVICE void copies(copies_step what, const copy_task* tasks, std::size_t count,
                                 std::size_t first, std::size_t step) {
    for (std::size_t i = first; i < count; i += step) operations_.copies(what, tasks[i]);
  }

  /// Operations that found no room are to be done again.
  DURAHASH_ON_DEVICE void retry_full(std::size_t first, std::size_t step) {
    for (std::size_t i = first; i < all_.count; i += step)
      if (all_.answers[i] == status::no_space) set(all_.answers[i], pending);
  }

 private:
  /// Calls with the decider of the i-th operation.
  template <class Call>
  DURAHASH_ON_DEVICE status decided(std::size_t i, Call&& call) const {
    using detail::write_mode;
    switch (all_.what) {
      case action::put: return call(decide_write(write_mode::put, all_.values[i]));
      case action::insert: return call(decide_write(write_mode::insert, all_.values[i]));
      case action::update: return call(decide_write(write_mode::update, all_.values[i]));
      default: return call(erase_decider<std::uint64_t>());
    }
  }
  template <class T>
  DURAHASH_ON_DEVICE void set(T& at, T value) const {
    side_.warp.one([&] { return at = value, true; });
  }
  DURAHASH_ON_DEVICE void add(const tallies& mine) const {
    side_.warp.one([&] { return side_.add(total_, mine), true; });
  }

  Side& side_;
  operations<Side> operations_;
  const batch& all_;
  tallies& total_;
};

}  // namespace durahash::gpu
