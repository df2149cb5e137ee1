// BktCache (GPHash §3.3): copies in DRAM of the buckets that are looked at most, for a pool on
// something slower. Which buckets have a copy is settled by a load, and "frozen" until the next
// one, which goes on beside readers and writers. Nothing of it is in the pool.
//
//   B1  A copy that a reader finds open, and under the same version behind what it read, was what
//       its bucket in the pool was at that moment.
//   B2  Who stores a word that readers look for holds the bucket's copy, if there is one, while
//       pool and copy differ: readers look in the pool meanwhile.
//   B3  A copy opens when all writers that may not know of it are done, and is filled while it is
//       held.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "base/bits.hpp"
#include "base/spin_lock.hpp"
#include "base/zeroed_array.hpp"
#include "engine/gphash/bucket_choice.hpp"

namespace durahash::gphash {

class bucket_cache {
 public:
  /// One look at a bucket through its copy.
  struct ticket {
    std::uint32_t copy, version;
  };
  struct counts {
    // of the sampled searches: buckets looked at, and those of them that have a copy
    std::uint64_t looks = 0, hits = 0;
    std::uint64_t copies = 0, loads = 0;
  };

  /// Of so many buckets, which have two words per slot, `percent` get a copy.
  bucket_cache(std::uint64_t buckets, unsigned slots, unsigned percent, replacement_policy policy)
      : buckets_(buckets),
        slots_(slots),
        choice_(policy),
        count_(static_cast<std::uint32_t>(std::min(buckets * percent / 100, max_copies))),
        sample_every_(static_cast<std::uint32_t>(std::clamp<std::uint64_t>(buckets / 64, 1, 16))),
        due_(first_period()),
        entries_(zeroed_array<entry>::mapped(buckets)),
        copies_(zeroed_array<copy_state>::mapped(std::max(count_, 1u))),
        words_(zeroed_array<std::uint64_t>::mapped(std::max<std::size_t>(count_, 1) *
                                                   words_per_bucket())) {}

  // --------------------------------------------------------------------------------------- readers

  void ask_for(std::uint64_t bucket) const noexcept { __builtin_prefetch(&entries_[bucket]); }

  /// The words of an open copy of the bucket, the states first, or null: look in the pool.
  std::uint64_t* find(std::uint64_t bucket, ticket& t) const noexcept {
    std::uint32_t number = entries_[bucket].copy.load(std::memory_order_acquire);
    if (number == 0) return nullptr;
    const copy_state& c = copies_[number - 1];
    t = {number - 1, c.version.load(std::memory_order_acquire)};
    if ((t.version & 1) != 0 || !c.open.load(std::memory_order_relaxed) ||
        c.bucket.load(std::memory_order_relaxed) != bucket)
      return nullptr;
    return words_of(t.copy);
  }
  /// Behind all that was read.
  bool unchanged(ticket t) const noexcept {
    std::atomic_thread_fence(std::memory_order_acquire);
    return copies_[t.copy].version.load(std::memory_order_relaxed) == t.version;
  }

  /// Whether this search is one of those that are counted. `hash`: of its key.
  bool samples(std::uint64_t hash) noexcept {
    auto which = static_cast<std::uint32_t>(hash >> (64 - log2_ticks));
    std::uint32_t now = ticks_[which].load(std::memory_order_relaxed) + 1;
    ticks_[which].store(now, std::memory_order_relaxed);
    return (now + which) % sample_every_ == 0;
  }
  void count_look(std::uint64_t bucket, bool hit) noexcept {
    std::atomic<std::uint32_t>& mark = entries_[bucket].mark;
    mark.store(choice_.by_time() ? now_.load(std::memory_order_relaxed)
                                 : mark.load(std::memory_order_relaxed) + 1,
               std::memory_order_relaxed);
    looks_.fetch_add(1, std::memory_order_relaxed);
    if (hit) hits_.fetch_add(1, std::memory_order_relaxed);
  }
  /// Called once for a sampled search. True now and then: it is time for a load, and the caller
  /// sees to it.
  bool is_time() noexcept {
    now_.fetch_add(1, std::memory_order_relaxed);
    return due_.fetch_sub(1, std::memory_order_relaxed) == 1;
  }

  // --------------------------------------------------------------------------------------- writers

  /// Holds the copy of a bucket, if it has one, from before a word of it changes in the pool until
  /// the copy has it, too.
  class hold {
   public:
    hold(bucket_cache& cache, std::uint64_t bucket) noexcept : cache_(cache) {
      std::uint32_t number = cache.entries_[bucket].copy.load(std::memory_order_acquire);
      if (number == 0) return;
      cache.close(number - 1);
      held_ = number;
      // it was given to another one
      if (cache.copies_[number - 1].bucket.load(std::memory_order_relaxed) != bucket) release();
    }
    ~hold() { release(); }
    hold(const hold&) = delete;
    /// What the pool now has in this slot.
    void store(unsigned slot, std::uint64_t state, std::uint64_t value) const noexcept {
      if (held_ == 0) return;
      std::uint64_t* words = cache_.words_of(held_ - 1);
      std::atomic_ref(words[cache_.slots_ + slot]).store(value, std::memory_order_relaxed);
      std::atomic_ref(words[slot]).store(state, std::memory_order_relaxed);
    }

   private:
    void release() noexcept {
      if (held_ != 0) cache_.release(held_ - 1);
      held_ = 0;
    }
    bucket_cache& cache_;
    std::uint32_t held_ = 0;  // counted from 1
  };

  // ---------------------------------------------------------------------------------------- a load

  /// One at a time. `writers_passed()` returns when every write that was under way is done;
  /// `read(bucket, words)` reads a bucket in the pool.
  template <class Passed, class Read>
  void load(Passed&& writers_passed, Read&& read) {
    std::vector<bool> chosen = choose();
    std::vector<std::uint32_t> free, filled;
    for (std::uint32_t n = 0; n < count_; ++n) {
      copy_state& c = copies_[n];
      std::uint64_t bucket = c.bucket.load(std::memory_order_relaxed);
      if (c.open.load(std::memory_order_relaxed) && chosen[bucket]) {
        chosen[bucket] = false;  // it has one
        continue;
      }
      if (c.open.load(std::memory_order_relaxed)) {
        close(n);
        c.open.store(false, std::memory_order_relaxed);
        entries_[bucket].copy.store(0, std::memory_order_relaxed);
        release(n);
      }
      free.push_back(n);
    }
    for (std::uint64_t bucket = 0; bucket < buckets_ && !free.empty(); ++bucket) {
      if (!chosen[bucket]) continue;
      std::uint32_t n = free.back();
      free.pop_back();
      close(n);
      copies_[n].bucket.store(bucket, std::memory_order_relaxed);
      release(n);
      entries_[bucket].copy.store(n + 1, std::memory_order_release);
      filled.push_back(n);
    }
    if (!filled.empty()) writers_passed();  // from here on all of them hold these copies
    for (std::uint32_t n : filled) {
      close(n);
      read(copies_[n].bucket.load(std::memory_order_relaxed), words_of(n));
      copies_[n].open.store(true, std::memory_order_relaxed);
      release(n);
    }
    in_use_.store(count_ - static_cast<std::uint32_t>(free.size()), std::memory_order_relaxed);
    std::uint64_t loads = loads_.fetch_add(1, std::memory_order_relaxed) + 1;
    due_.store(static_cast<std::int64_t>(first_period() << std::min<std::uint64_t>(loads, 4)),
               std::memory_order_relaxed);
  }

  /// There was no load, though it was time for one.
  void put_off_load() noexcept {
    due_.store(static_cast<std::int64_t>(first_period()), std::memory_order_relaxed);
  }

  /// Nobody reads or writes meanwhile: all copies go.
  void forget() noexcept {
    for (std::uint32_t n = 0; n < count_; ++n) {
      if (!copies_[n].open.load(std::memory_order_relaxed)) continue;
      close(n);
      copies_[n].open.store(false, std::memory_order_relaxed);
      entries_[copies_[n].bucket.load(std::memory_order_relaxed)].copy.store(
          0, std::memory_order_relaxed);
      release(n);
    }
    in_use_ = 0;
  }
  /// Its levels are in use no more: the memory goes back, and who still reads finds that the
  /// levels, or the version, changed.
  void give_back_memory() noexcept {
    entries_.give_back();
    copies_.give_back();
    words_.give_back();
  }

  counts figures() const noexcept {
    return {looks_.load(std::memory_order_relaxed), hits_.load(std::memory_order_relaxed),
            in_use_.load(std::memory_order_relaxed), loads_.load(std::memory_order_relaxed)};
  }

 private:
  struct entry {
    std::atomic<std::uint32_t> copy;  // its number, from 1; 0: none
    std::atomic<std::uint32_t> mark;  // looks, or the time of the last one
  };
  struct copy_state {
    std::atomic<std::uint32_t> version;  // odd: held
    std::atomic<bool> open;              // changes while it is held, as `bucket` does
    std::atomic<std::uint64_t> bucket;
  };
  static constexpr unsigned log2_ticks = 10;

  std::size_t words_per_bucket() const noexcept { return std::size_t{2} * slots_; }
  std::uint64_t* words_of(std::uint32_t copy) const noexcept {
    return &words_[copy * words_per_bucket()];
  }
  // sampled searches
  std::uint64_t first_period() const noexcept { return std::max<std::uint64_t>(2, buckets_ / 16); }

  void close(std::uint32_t copy) noexcept {
    std::atomic<std::uint32_t>& version = copies_[copy].version;
    for (int tries = 0;; ++tries) {  // ends when the holder, who waits for nothing, is done
      std::uint32_t seen = version.load(std::memory_order_relaxed);
      if ((seen & 1) == 0 &&
          version.compare_exchange_weak(seen, seen + 1, std::memory_order_acq_rel))
        break;
      await_holder(tries);
    }
    // readers that see a word of what follows see the version, too
    std::atomic_thread_fence(std::memory_order_release);
  }
  void release(std::uint32_t copy) noexcept {
    copies_[copy].version.fetch_add(1, std::memory_order_release);
  }

  /// The buckets that are to have copies.
  std::vector<bool> choose() {
    std::vector<std::uint32_t> marks(buckets_);
    for (std::uint64_t bucket = 0; bucket < buckets_; ++bucket) {
      std::atomic<std::uint32_t>& mark = entries_[bucket].mark;
      marks[bucket] = mark.load(std::memory_order_relaxed);
      if (choice_.by_looks()) mark.store(marks[bucket] / 2, std::memory_order_relaxed);
    }
    return choice_.choose(marks, count_);
  }

  std::uint64_t buckets_;
  unsigned slots_;
  bucket_choice choice_;
  std::uint32_t count_, sample_every_;
  std::atomic<std::int64_t> due_;
  std::atomic<std::uint32_t> now_{1}, in_use_{0};
  std::atomic<std::uint64_t> looks_{0}, hits_{0}, loads_{0};
  zeroed_array<entry> entries_;
  zeroed_array<copy_state> copies_;
  zeroed_array<std::uint64_t> words_;
  zeroed_array<std::atomic<std::uint32_t>> ticks_ =
      zeroed_array<std::atomic<std::uint32_t>>(std::size_t{1} << log2_ticks);
};

}  // namespace durahash::gphash
