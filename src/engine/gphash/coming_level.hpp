// GPHash: what is known in DRAM of a level that is written beside writers, to be the top
// (grow.hpp). Buckets of the bottom are copied into it one by one, by whoever takes them.
//
//   W1  A bucket of the bottom that is marked as copied, and what of the coming level lies over it,
//       hold the same records while the bucket's lock is free.
//   W2  When the first bucket is copied, every writer knows that it has to tell.
//   W3  A bucket counts as done when its copy is durable.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "base/spin_lock.hpp"
#include "base/zeroed_array.hpp"
#include "engine/gphash/levels.hpp"
#include "persist/order.hpp"

namespace durahash::gphash {

class coming_level {
 public:
  /// From here on writers tell what they change in a bucket that is copied. Nobody copies yet. May
  /// throw std::bad_alloc: then nothing has happened. `buckets`: of the bottom.
  void begin(std::uint64_t buckets, const level_view& coming) {
    copied_ = zeroed_array<std::uint8_t>(buckets);
    level_ = coming;
    buckets_ = buckets;
    next_ = done_ = 0;
    begun_.store(true, std::memory_order_release);
  }
  /// All writers know.
  void open() noexcept { open_ = true; }
  /// Nobody may write. Waits for those who copy.
  void close() noexcept {
    open_ = false;
    for (int tries = 0; copying_ != 0; ++tries) await_holder(tries);
  }
  /// It is closed, and has become the top or was given up.
  void end() noexcept {
    begun_.store(false, std::memory_order_relaxed);
    copied_ = {};
  }

  /// Asked by a writer whose stripe is locked.
  bool is_begun() const noexcept { return begun_.load(std::memory_order_acquire); }
  bool is_open() const noexcept { return open_.load(std::memory_order_acquire); }
  bool is_complete() const noexcept { return is_begun() && done_ == buckets_; }
  /// Since it is begun.
  const level_view& level() const noexcept { return level_; }

  /// One thread's part of the copying: the levels stay what they are.
  class part {
   public:
    explicit part(coming_level& whole) noexcept : whole_(whole) { whole_.copying_.fetch_add(1); }
    ~part() { whole_.copying_.fetch_sub(1); }
    part(const part&) = delete;

    /// The next bucket that nobody has taken, or nothing.
    std::optional<std::uint64_t> take() noexcept {
      if (!whole_.open_) return std::nullopt;
      const std::uint64_t bucket = whole_.next_.fetch_add(1, std::memory_order_relaxed);
      return bucket < whole_.buckets_ ? std::optional(bucket) : std::nullopt;
    }
    void count_done(std::uint64_t buckets, const durable&) noexcept { whole_.done_ += buckets; }

   private:
    coming_level& whole_;
  };

  /// Guards the bucket and its mark. Taken behind a stripe's lock; nobody holds two of these.
  spin_lock& lock_of(std::uint64_t bucket) noexcept { return locks_[bucket % lock_count]; }
  bool is_copied(std::uint64_t bucket) const noexcept { return copied_[bucket] != 0; }
  void mark_copied(std::uint64_t bucket) noexcept { copied_[bucket] = 1; }

 private:
  static constexpr unsigned lock_count = 256;

  std::atomic<bool> begun_{false}, open_{false};
  std::atomic<std::uint32_t> copying_{0};  // threads
  std::atomic<std::uint64_t> next_{0}, done_{0};
  std::atomic<std::uint64_t> buckets_{0};
  level_view level_;
  zeroed_array<std::uint8_t> copied_;
  spin_lock locks_[lock_count];
};

}  // namespace durahash::gphash
