// The host's side of gpu/operations.hpp: a warp in lockstep over a medium. For tests and the
// explorer.
#pragma once

#include <atomic>
#include <thread>
#include <vector>

#include "base/turns.hpp"
#include "base/zeroed_array.hpp"
#include "gpu/batch.hpp"
#include "persist/order.hpp"
#include "warp/lockstep_warp.hpp"

namespace durahash::gpu {

/// Turns and versions of stripes, as every side keeps them: bit 0 taken, the others a version.
class lockstep_turns {
 public:
  static constexpr unsigned bits = 12;
  std::atomic<std::uint32_t>& of(std::uint64_t hash) const noexcept {
    return words_[hash >> (64 - bits)];
  }

 private:
  zeroed_array<std::atomic<std::uint32_t>> words_ =
      zeroed_array<std::atomic<std::uint32_t>>(std::size_t{1} << bits);
};

template <medium M>
class lockstep_side {
 public:
  lockstep_side(M& m, const lockstep_turns& turns, const bucket_copies& of_buckets = {}) noexcept
      : copies(of_buckets), m_(m), turns_(turns) {}

  static constexpr bool may_have_copies = true;
  static constexpr bool planted(mutant which) noexcept { return M::planted(which); }

  lockstep_warp warp;
  bucket_copies copies;
  std::uint64_t load(const pm<std::uint64_t>& at) const noexcept { return durahash::load(m_, at); }
  void store(pm<std::uint64_t>& at, std::uint64_t value) const noexcept {
    durahash::store(m_, at, value);
  }
  bool store_if(pm<std::uint64_t>& at, std::uint64_t old, std::uint64_t value) const noexcept {
    return durahash::store_if(m_, at, old, value);
  }
  // every load is an acquire here, and every store a release
  std::uint64_t load_in_order(const pm<std::uint64_t>& at) const noexcept { return load(at); }
  void store_in_any_order(pm<std::uint64_t>& at, std::uint64_t v) const noexcept { store(at, v); }
  void publish(pm<std::uint64_t>& at, std::uint64_t value) const noexcept { store(at, value); }
  template <class WordOf>
  void store_words(pm<std::uint64_t>* to, std::uint64_t count, WordOf&& word_of) const {
    std::vector<std::uint64_t> words(count);
    for (std::uint64_t n = 0; n < count; ++n) words[n] = word_of(n);
    durahash::store_bytes(m_, to, words.data(), count * sizeof *to);
  }
  void fence_loads() const noexcept {}

  bool try_take(bool mine, std::uint64_t hash) const noexcept {
    if (!mine) return false;
    if (M::planted("gpu-two-warps-write-one-key")) return true;
    std::uint32_t seen = turns_.of(hash).load(std::memory_order_relaxed);
    return (seen & 1) == 0 &&
           turns_.of(hash).compare_exchange_strong(seen, seen | 1, std::memory_order_acquire);
  }
  void wait() const {
    if (durahash::turns* t = durahash::turns::current()) t->pass();
    else std::this_thread::yield();
  }
  void give(std::uint64_t hash) const noexcept {
    turns_.of(hash).fetch_and(~1u, std::memory_order_release);
  }
  void outdate(std::uint64_t hash) const noexcept {
    if (!M::planted("gpu-a-slot-is-lent-while-it-is-read"))
      turns_.of(hash).fetch_add(2, std::memory_order_acq_rel);
  }
  std::uint32_t version(std::uint64_t hash) const noexcept {
    return turns_.of(hash).load(std::memory_order_acquire) >> 1;
  }
  std::uint32_t version_again(std::uint64_t hash) const noexcept { return version(hash); }

  template <class Word>
  Word own_load(const Word& at) const noexcept {
    return std::atomic_ref(const_cast<Word&>(at)).load(std::memory_order_acquire);
  }
  template <class Word>
  void own_store(Word& at, Word value) const noexcept {
    std::atomic_ref(at).store(value, std::memory_order_release);
  }
  template <class Word>
  Word own_load_in_any_order(const Word& at) const noexcept {
    return own_load(at);
  }
  template <class Word>
  void own_store_in_any_order(Word& at, Word value) const noexcept {
    own_store(at, value);
  }
  template <class Word>
  Word own_count(Word& at, Word more) const noexcept {
    return std::atomic_ref(at).fetch_add(more, std::memory_order_relaxed);
  }
  bool own_take_if(std::uint32_t& at, std::uint32_t old, std::uint32_t value) const noexcept {
    return std::atomic_ref(at).compare_exchange_strong(old, value, std::memory_order_acq_rel);
  }
  bool own_give_if(std::uint32_t& at, std::uint32_t old, std::uint32_t value) const noexcept {
    return own_take_if(at, old, value);
  }
  void own_give(std::uint32_t& at, std::uint32_t more) const noexcept {
    std::atomic_ref(at).fetch_add(more, std::memory_order_acq_rel);
  }

  void tell(status& to, status what) const noexcept {
    std::atomic_ref(to).store(what, std::memory_order_relaxed);
  }
  void add(tallies& total, const tallies& mine) const noexcept {
    std::atomic_ref(total.records).fetch_add(mine.records, std::memory_order_relaxed);
    std::atomic_ref(total.staged).fetch_add(mine.staged, std::memory_order_relaxed);
    std::atomic_ref(total.moved).fetch_add(mine.moved, std::memory_order_relaxed);
    std::atomic_ref(total.misplaced).fetch_add(mine.misplaced, std::memory_order_relaxed);
    std::atomic_ref(total.looks).fetch_add(mine.looks, std::memory_order_relaxed);
    std::atomic_ref(total.copies).fetch_add(mine.copies, std::memory_order_relaxed);
  }

 private:
  M& m_;
  const lockstep_turns& turns_;
};

}  // namespace durahash::gpu
