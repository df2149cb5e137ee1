// GPHash: what readers of a stripe look at before and behind what they read, one word of DRAM.
#pragma once

#include <atomic>
#include <cstdint>

#include "persist/order.hpp"

namespace durahash::gphash {

/// One comparison with the version as it was says that no key of the stripe came or went (G5), and
/// that what was read of it is durable (G6).
///   bit 0      publishing: a word of it is visible and perhaps not durable
///   bits 1-31  version
/// Changed by the holder of the stripe's lock alone, so that no change of it is a locked
/// instruction. Zero at first: what a process that died leaves is recovery's (S2).
template <medium M>
class stripe_mark {
 public:
  static constexpr bool marked = !M::visible_is_durable;

  /// Before what is read.
  std::uint32_t version() const noexcept {
    return word_.load(std::memory_order_acquire) & ~publishing;
  }
  /// Behind it.
  bool is_at(std::uint32_t version) const noexcept { return this->version() == version; }
  bool is_settled_at(std::uint32_t version) const noexcept {
    if (M::planted("readers-give-away-what-is-not-durable")) return is_at(version);
    return word_.load(std::memory_order_acquire) == version;
  }
  bool settled() const noexcept {
    if (M::planted("readers-give-away-what-is-not-durable")) return true;
    return (word_.load(std::memory_order_acquire) & publishing) == 0;
  }

  /// Before a commit word is stored. `outdates`: a key comes or goes. Who sees the new version sees
  /// the slot claimed, too.
  [[gnu::always_inline]] void begin(bool outdates) noexcept {
    if (marked || outdates)
      word_.store((word_.load(std::memory_order_relaxed) + (outdates ? one_version : 0)) |
                      (marked ? publishing : 0),
                  std::memory_order_release);
  }
  [[gnu::always_inline]] void end(const durable&) noexcept {
    if constexpr (marked)
      word_.store(word_.load(std::memory_order_relaxed) & ~publishing, std::memory_order_release);
  }
  /// Somebody else has changed the table.
  void outdate() noexcept {
    word_.store(word_.load(std::memory_order_relaxed) + one_version, std::memory_order_release);
  }

 private:
  static constexpr std::uint32_t publishing = 1, one_version = 2;
  std::atomic<std::uint32_t> word_;
};

/// What is known of a stripe in DRAM. Zeros at first.
template <medium M>
struct stripe_state {
  stripe_mark<M> mark;
  // since open; guarded by the lock, but for the counter's readers
  std::atomic<std::int32_t> records;
};

}  // namespace durahash::gphash
