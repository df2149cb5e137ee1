// The frame: what a write and a group of them hold from their staging to their commit.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>

#include "engine/frame/lifecycle.hpp"

namespace durahash {

/// Operations whose cache misses and fences are shared.
inline constexpr std::size_t group_size = 64;

/// What a change takes the place of: a record in the heap, which is retired when the change is
/// durable. Words have none.
template <class Kind>
struct replaced_record {};
template <class Kind>
  requires(!Kind::in_slot)
struct replaced_record<Kind> {
  std::uint64_t replaced_offset = 0, replaced_bytes = 0;
};

/// Room for what is worked out of keys: none is made before it is assigned.
template <class T, std::size_t Most>
union room_for {
  static_assert(std::is_trivially_destructible_v<T>);
  T each[Most];
  room_for() noexcept {}
};

/// Writes that share locks and fences: of each what was staged, until all are committed.
template <class Change, std::size_t Locks = group_size>
struct fenced_group {
  held_locks<Locks> locks;
  union {
    Change changes[group_size];  // those in front of `behind` are
  };
  Change* behind = changes;
  bool any_apart = false;  // the payload of one
  flushed started;         // the write-back of what the commit words come after

  fenced_group() noexcept {}
  std::span<Change> all() noexcept { return {changes, behind}; }
  std::span<const Change> all() const noexcept { return {changes, behind}; }
  void keep(const Change& staged) noexcept {
    any_apart |= staged.apart;
    *behind++ = staged;
  }
  /// A new one where the next one goes, for who stages it there; kept from `keep_next` on.
  Change& next() noexcept { return *std::construct_at(behind); }
  void keep_next() noexcept {
    any_apart |= behind->apart;
    ++behind;
  }
};

}  // namespace durahash
