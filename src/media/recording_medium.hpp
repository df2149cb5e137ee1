// A medium that tells a recorder all that happens on it, in order. The explorer (crash/) listens;
// tests may too. Nothing is flushed for real: what would be durable is for the listener to work
// out.
#pragma once

#include "media/medium.hpp"

namespace durahash {

/// The bug that every recording medium has now, `mutant::id_of` its name; 0: none. Chosen before
/// threads run.
inline std::uint64_t planted_mutant = 0;

class recorder {
 public:
  virtual ~recorder() = default;
  /// The verb about to act on this thread, and where it was called.
  virtual void entering(verb which, const site& where) = 0;
  /// Before the access itself. A scheduler may let other threads run here.
  virtual void reading(const void* at, std::size_t bytes) = 0;
  virtual void before_change() = 0;
  /// After it: one aligned store of 1, 2, 4 or 8 bytes; many bytes in no order; a compare-and-swap
  /// that succeeded (else it was a read).
  virtual void stored(const void* at, std::size_t bytes) = 0;
  virtual void stored_bytes(const void* at, std::size_t bytes) = 0;
  virtual void exchanged(const void* at, std::size_t bytes, bool succeeded) = 0;
  virtual void flushed(const void* at, std::size_t bytes) = 0;
  virtual void fenced() = 0;
};

/// VisibleIsDurable as in the concept: false records what runs at the level power, true what runs
/// at the level process.
template <bool VisibleIsDurable>
class recording_medium : public direct_access {
 public:
  static constexpr bool visible_is_durable = VisibleIsDurable;
  static constexpr unsigned most_unit_bits = 8;  // small tables, opened a million times
  explicit recording_medium(recorder& to) : to_(to) {}

  static bool planted(mutant which) noexcept { return which.id() == planted_mutant; }
  void enter(verb which, const site& where) noexcept { to_.entering(which, where); }
  template <class T>
  T read(const T* at) noexcept {
    to_.reading(at, sizeof(T));
    return direct_access::read(at);
  }
  void will_read(const void* at, std::size_t bytes) noexcept {
    if (bytes != 0) to_.reading(at, bytes);
  }
  template <class T>
  void write(T* at, T value) noexcept {
    to_.before_change();
    direct_access::write(at, value);
    to_.stored(at, sizeof(T));
  }
  void write_bytes(void* at, const void* from, std::size_t bytes) noexcept {
    if (bytes == 0) return;
    to_.before_change();
    direct_access::write_bytes(at, from, bytes);
    to_.stored_bytes(at, bytes);
  }
  template <class T>
  bool exchange_if(T* at, T expected, T desired) noexcept {
    to_.before_change();
    bool done = direct_access::exchange_if(at, expected, desired);
    to_.exchanged(at, sizeof(T), done);
    return done;
  }
  void flush(const void* at, std::size_t bytes) noexcept {
    if (bytes == 0) return;
    to_.before_change();
    to_.flushed(at, bytes);
  }
  void fence() noexcept {
    to_.before_change();
    to_.fenced();
  }
  media_counts counts() const noexcept { return {}; }

 private:
  recorder& to_;
};

static_assert(medium<recording_medium<false>> && medium<recording_medium<true>>);

}  // namespace durahash
