// A writer's side of readers_line.hpp: keeps readers in other processes out, and says who writes.
#pragma once

#include <array>
#include <cstdint>
#include <type_traits>

#include "base/check.hpp"
#include "base/zeroed_array.hpp"
#include "media/mapping.hpp"
#include "persist/order.hpp"
#include "persist/readers_line.hpp"

namespace durahash {

/// Of one pool. Where nobody else can map it, nothing is done.
class readers_gate {
 public:
  /// `map` outlives it.
  explicit readers_gate(mapping& map) noexcept;
  /// An opening that did not end bans nobody.
  ~readers_gate();
  readers_gate(const readers_gate&) = delete;

  /// Between `ban` and `admit` none reads; `admit` says who writes.
  void ban() noexcept;
  void admit() noexcept;
  /// Behind `ban`, of a writer that they know already: they go on.
  void go_on() noexcept {
    if (line_ != nullptr) __atomic_fetch_add(&line_->sequence, 1, __ATOMIC_SEQ_CST);
  }
  /// Bans them until `admit`, or until this goes: an opening may end anywhere.
  void ban_while_opening() noexcept;
  /// Until `admit` of this or a later opening, whatever becomes of this one: a device that nobody
  /// hears of may still write.
  void keep_banned() noexcept { stays_banned_ = true; }
  /// Of an opening that stored nothing: the line is as it was.
  void readmit() noexcept;
  /// Nobody writes any more.
  void leave() noexcept;
  /// After the word that named an array has changed, before its memory is free. Cost: one locked
  /// instruction.
  void before_reuse() noexcept {
    if (line_ == nullptr) return;
    __atomic_fetch_add(&line_->sequence, 2, __ATOMIC_ACQ_REL);
    keep_order(std::memory_order_release);  // in front of what is stored there
  }

  /// Zeros that such readers can look at, where the system can show them. Once for a pool.
  template <class T>
  zeroed_array<T> zeroes(std::size_t count, const std::array<std::uint8_t, 16>& uuid) {
    static_assert(std::is_trivially_destructible_v<T>);
    check(versions_ == nullptr, "a pool shows one array of versions");
    if (void* const shown = show_versions(count * sizeof(T), uuid); shown != nullptr) {
      versions_ = shown;
      return zeroed_array<T>(static_cast<T*>(shown), count);
    }
    zeroed_array<T> own(count);
    versions_ = own.data();
    return own;
  }
  /// For readers in this process: that memory, or null.
  const std::byte* versions_here() const noexcept {
    return static_cast<const std::byte*>(versions_);
  }

 private:
  void* show_versions(std::size_t bytes, const std::array<std::uint8_t, 16>& uuid);
  void open_to_others() noexcept;

  readers_line* line_;           // null: no other process can map the pool
  bool shows_versions_ = false;  // a descriptor of this process leads others to them
  const void* versions_ = nullptr;
  int versions_descriptor_ = -1;
  bool opening_ = false;  // readers are banned for that
  bool stays_banned_ = false;
  std::uint64_t found_ = 0;  // the sequence before that
};

}  // namespace durahash
