// GPHash: what DRAM knows of the levels: where they are, their stripes, the copies of their
// buckets, and who may change them.
//
//   D1  A view of the levels is never changed, and kept until the table goes: who finds the same
//       view again finds the same levels.
//   D2  The levels are switched by who has them to himself: he holds `changing` and all stripes, or
//       nobody else knows the table yet. Who holds one stripe keeps the levels. They get another
//       view, whoever holds what, when all is counted after a crash.
//   D3  The lock `changing` is taken before any stripe's.
#pragma once

#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>
#include <span>

#include "base/check.hpp"
#include "base/spin_lock.hpp"
#include "base/turns.hpp"
#include "base/zeroed_array.hpp"
#include "engine/frame/stripes.hpp"
#include "engine/gphash/bucket_cache.hpp"
#include "engine/gphash/places.hpp"
#include "engine/gphash/stripe.hpp"

namespace durahash::gphash {

/// The paper's, and the default: the short ways are for it.
inline constexpr shape short_shape{.levels = 2, .hashes = 2, .slots = 8, .slots_log2 = 3};

struct level_view {
  pm<std::uint64_t>* first = nullptr;
  std::uint64_t offset = 0;
  unsigned log2 = 0;
  std::uint64_t buckets() const noexcept { return std::uint64_t{1} << log2; }
};

/// The levels, from the top down.
struct levels_view {
  level_view at[max_levels];  // behind the last one that again
  unsigned count = 0, stripe_bits = 0, stripe_shift = 0;
  unsigned byte_shift = 0;  // of a place, to its byte in the top
  // words take the short ways: their buckets are of short_shape, and none has a copy
  bool is_short = false;
  std::uint64_t last_long = ~std::uint64_t{0};  // but for those up to this one
  bucket_cache* cache = nullptr;                // of their buckets, or none
  // of each level's first bucket the number in all of them
  std::uint64_t first_bucket[max_levels] = {};

  std::span<const level_view> all() const noexcept { return {at, count}; }
  const level_view& bottom() const noexcept { return at[count - 1]; }
  stripe_index stripe_of(std::uint64_t hash) const noexcept {
    return static_cast<stripe_index>(hash >> stripe_shift);
  }
  stripe_index stripes() const noexcept { return stripe_index{1} << stripe_bits; }
};

template <medium M>
class level_stack {
 public:
  /// `cache_percent`: of how many buckets there are copies.
  level_stack(const shape& s, bool of_words, unsigned cache_percent, replacement_policy policy)
      : shape_(s), of_words_(of_words), cache_percent_(cache_percent), policy_(policy) {}

  /// Before there are any.
  void open(zeroed_array<stripe_state<M>> stripes) {
    locks_ = zeroed_array<spin_lock>(std::size_t{1} << stripe_bits_on<M>);
    stripes_ = std::move(stripes);
  }

  const levels_view& now() const noexcept { return *now_.load(std::memory_order_acquire); }
  const levels_view* if_any() const noexcept { return now_.load(std::memory_order_relaxed); }
  bool has_copies() const noexcept { return cache_percent_ != 0; }

  // -------------------------------------------------------------------------------------- stripes

  spin_lock& lock_of(stripe_index s) const noexcept { return locks_[s]; }
  stripe_state<M>& stripe(stripe_index s) const noexcept { return stripes_[s]; }
  stripe_state<M>& state_of(const levels_view& v, std::uint64_t hash) const noexcept {
    return stripes_[v.stripe_of(hash)];
  }
  /// All records, where there were `at_first`.
  std::uint64_t records(std::uint64_t at_first) const noexcept {
    return records_of(at_first, stripes_, counting_stripes_);
  }
  /// All reads that were under way look again.
  void outdate() noexcept {
    for (stripe_index s = 0; s < now().stripes(); ++s) stripes_[s].mark.outdate();
  }
  /// Returns when each write that was under way is done.
  void let_writers_pass(const levels_view& v) const {
    for (stripe_index s = 0; s < v.stripes(); ++s) std::scoped_lock passed(locks_[s]);
  }

  // ------------------------------------------------------------------------------ the whole table

  /// Held by who changes the levels, or looks at all of them.
  turn_mutex& changing() noexcept { return changing_; }

  void lock_all() {
    changing_.lock();
    const levels_view& v = now();
    // in order; groups never wait while they hold one
    for (stripe_index s = 0; s < v.stripes(); ++s) locks_[s].lock();
    locked_ = &v;
  }

  void unlock_all() noexcept {
    // others may be in use since
    for (stripe_index s = 0; s < locked_->stripes(); ++s) locks_[s].unlock();
    changing_.unlock();
  }

  /// All is locked, and stays so when the levels are switched to these.
  void lock_more(const levels_view& planned) {
    for (stripe_index s = locked_->stripes(); s < planned.stripes(); ++s) locks_[s].lock();
    locked_ = &planned;
  }

  /// What the levels are to become; nobody sees it yet.
  const levels_view& plan(std::span<const level_view> now) {
    durahash::check(now.size() == shape_.levels, "a table has as many levels as its settings say");
    levels_view& made = views_.emplace_back();
    std::copy(now.begin(), now.end(), made.at);
    made.count = static_cast<unsigned>(now.size());
    std::fill(made.at + made.count, made.at + max_levels, now.back());
    made.stripe_bits = std::min(made.at[0].log2, stripe_bits_on<M>);
    made.stripe_shift = 64 - made.stripe_bits;
    made.byte_shift = 64 - made.at[0].log2 - shape_.words_log2() - 3;
    made.is_short = of_words_ && shape_ == short_shape && cache_percent_ == 0;
    if (made.is_short) made.last_long = first_fingerprint - 1;
    std::uint64_t buckets = 0;
    for (unsigned l = 0; l < made.count; ++l)
      made.first_bucket[l] = buckets, buckets += made.at[l].buckets();
    if (cache_percent_ != 0)
      made.cache = &caches_.emplace_back(buckets, shape_.slots, cache_percent_, policy_);
    return made;
  }

  /// These, when that one has been put on top.
  const levels_view& plan_top(const levels_view& v, const level_view& made) {
    level_view now[max_levels] = {made};
    std::copy_n(v.at, shape_.levels - 1, now + 1);
    return plan({now, shape_.levels});
  }

  void switch_to(const levels_view& planned) noexcept {
    const levels_view* before = if_any();
    counting_stripes_ = std::max(counting_stripes_.load(), planned.stripes());
    now_.store(&planned, std::memory_order_release);
    if (before != nullptr && before->cache != nullptr) before->cache->give_back_memory();
  }

  // -------------------------------------------------------------------------------- after a crash

  /// Until all buckets are counted, no operation takes the short ways.
  void begin_count() {
    when_counted_ = &now();
    levels_view& until_then = views_.emplace_back(now());
    until_then.is_short = false, until_then.last_long = ~std::uint64_t{0};
    until_then.cache = nullptr;
    now_.store(&until_then, std::memory_order_release);
  }

  void end_count() noexcept { now_.store(when_counted_, std::memory_order_release); }
  /// Whether they were opened after one.
  bool are_after_crash() const noexcept { return when_counted_ != nullptr; }

  // --------------------------------------------------------------------------------------- copies

  /// Copies of the buckets that are looked at most by now, in place of others.
  /// `read(level, index, words)` reads a bucket. In the background, where nobody waits for the lock
  /// (growth::ask).
  template <class Read>
  void load_copies(const levels_view& v, Read&& read) {
    v.cache->put_off_load();  // whatever comes of this one
    std::unique_lock lock(changing_, std::try_to_lock);
    if (!lock || &now() != &v) return;
    auto writers_passed = [&] {
      if (M::planted("gphash-a-copy-opens-before-its-writers-know")) return;
      let_writers_pass(v);
    };
    v.cache->load(writers_passed, [&](std::uint64_t in_cache, std::uint64_t* words) {
      unsigned l = v.count - 1;
      while (in_cache < v.first_bucket[l]) --l;
      read(v.at[l], in_cache - v.first_bucket[l], words);
    });
  }

 private:
  std::atomic<const levels_view*> now_{nullptr};
  zeroed_array<spin_lock> locks_;
  zeroed_array<stripe_state<M>> stripes_;
  std::atomic<stripe_index> counting_stripes_{0};  // the most there were
  turn_mutex changing_;
  const levels_view* locked_ = nullptr;        // by lock_all
  const levels_view* when_counted_ = nullptr;  // what they are when all is counted
  std::deque<levels_view> views_;
  std::deque<bucket_cache> caches_;  // of the views that have one
  shape shape_;
  bool of_words_;
  unsigned cache_percent_;
  replacement_policy policy_;
};

}  // namespace durahash::gphash
