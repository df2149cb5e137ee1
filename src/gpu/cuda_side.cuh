// The device's side of gpu/operations.hpp: a warp, the pool's words in host memory, turns in the
// device's own.
#pragma once

#include <cuda/atomic>

#include "gpu/batch.hpp"
#include "gpu/cuda_warp.cuh"

namespace durahash::gpu {

/// Words of the pool are atomic among this device's threads. What is published reaches the host's
/// caches in its order, so that a process that dies leaves none without what came before it.
///
/// `Width`: lanes for an operation. `Copies`: whether there may be copies of buckets: only then one
/// lane may wait for what another operation of its warp holds, and `Width` is that of the warp.
template <unsigned Width, bool Copies>
class cuda_side {
  static_assert(!Copies || Width == 32);

 public:
  static constexpr unsigned stripe_bits = 20;
  static constexpr bool may_have_copies = Copies;

  __device__ cuda_side(std::uint32_t* turns, const bucket_copies& of_buckets)
      : copies(of_buckets), turns_(turns) {}

  static __device__ constexpr bool planted(mutant) { return false; }

  cuda_warp<Width> warp;
  const bucket_copies& copies;
  __device__ std::uint64_t load(pm<std::uint64_t>& at) const {
    return word(at).load(cuda::memory_order_relaxed);
  }
  __device__ std::uint64_t load_in_order(pm<std::uint64_t>& at) const {
    return word(at).load(cuda::memory_order_acquire);
  }
  __device__ void fence_loads() const {
    cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_device);
  }
  __device__ void store_in_any_order(pm<std::uint64_t>& at, std::uint64_t value) const {
    word(at).store(value, cuda::memory_order_relaxed);
  }
  template <class WordOf>
  __device__ void store_words(pm<std::uint64_t>* to, std::uint64_t count, WordOf&& word_of) const {
    warp.each([&](unsigned lane) {
      for (std::uint64_t n = lane; n < count; n += warp.lanes)
        store_in_any_order(to[n], word_of(n));
      return true;
    });
  }
  __device__ void store(pm<std::uint64_t>& at, std::uint64_t value) const {
    word(at).store(value, cuda::memory_order_release);
  }
  __device__ void publish(pm<std::uint64_t>& at, std::uint64_t value) const {
    cuda::atomic_ref<std::uint64_t, cuda::thread_scope_system>(*at.raw()).store(
        value, cuda::memory_order_release);
  }
  __device__ bool store_if(pm<std::uint64_t>& at, std::uint64_t old, std::uint64_t value) const {
    return word(at).compare_exchange_strong(old, value, cuda::memory_order_acquire,
                                            cuda::memory_order_relaxed);
  }

  __device__ bool try_take(bool mine, std::uint64_t hash) const {
    return warp.one(mine, [&] {
      std::uint32_t seen = turn(hash).load(cuda::memory_order_relaxed);
      return (seen & 1) == 0 &&
             turn(hash).compare_exchange_strong(seen, seen | 1, cuda::memory_order_acquire,
                                                cuda::memory_order_relaxed);
    });
  }
  __device__ void wait() const { __nanosleep(64); }
  // by one lane
  __device__ void give(std::uint64_t hash) const {
    turn(hash).fetch_and(~1u, cuda::memory_order_release);
  }
  __device__ void outdate(std::uint64_t hash) const {
    turn(hash).fetch_add(2, cuda::memory_order_release);
  }
  // by each
  __device__ std::uint32_t version(std::uint64_t hash) const {
    return turn(hash).load(cuda::memory_order_acquire) >> 1;
  }
  __device__ std::uint32_t version_again(std::uint64_t hash) const {
    return turn(hash).load(cuda::memory_order_relaxed) >> 1;
  }

  template <class Word>
  __device__ Word own_load(const Word& at) const {
    return own(const_cast<Word&>(at)).load(cuda::memory_order_acquire);
  }
  template <class Word>
  __device__ void own_store(Word& at, Word value) const {
    own(at).store(value, cuda::memory_order_release);
  }
  template <class Word>
  __device__ Word own_load_in_any_order(const Word& at) const {
    return own(const_cast<Word&>(at)).load(cuda::memory_order_relaxed);
  }
  template <class Word>
  __device__ void own_store_in_any_order(Word& at, Word value) const {
    own(at).store(value, cuda::memory_order_relaxed);
  }
  template <class Word>
  __device__ Word own_count(Word& at, Word more) const {
    return own(at).fetch_add(more, cuda::memory_order_relaxed);
  }
  __device__ bool own_take_if(std::uint32_t& at, std::uint32_t old, std::uint32_t value) const {
    return own(at).compare_exchange_strong(old, value, cuda::memory_order_acquire,
                                           cuda::memory_order_relaxed);
  }
  __device__ bool own_give_if(std::uint32_t& at, std::uint32_t old, std::uint32_t value) const {
    return own(at).compare_exchange_strong(old, value, cuda::memory_order_release,
                                           cuda::memory_order_relaxed);
  }
  __device__ void own_give(std::uint32_t& at, std::uint32_t more) const {
    own(at).fetch_add(more, cuda::memory_order_release);
  }

  /// Another one may say the same.
  __device__ void tell(status& to, status what) const { const_cast<volatile status&>(to) = what; }
  __device__ void add(tallies& total, const tallies& mine) const {
    count(total.records, mine.records);
    count(total.moved, mine.moved);
    count(total.misplaced, mine.misplaced);
    count(total.looks, mine.looks);
    count(total.copies, mine.copies);
  }

 private:
  template <class Word>
  __device__ static cuda::atomic_ref<Word, cuda::thread_scope_device> own(Word& at) {
    return cuda::atomic_ref<Word, cuda::thread_scope_device>(at);
  }
  template <class Number>
  __device__ static void count(Number& total, Number mine) {
    if (mine != 0)
      atomicAdd(reinterpret_cast<unsigned long long*>(&total),
                static_cast<unsigned long long>(mine));
  }
  __device__ static cuda::atomic_ref<std::uint64_t, cuda::thread_scope_device> word(
      pm<std::uint64_t>& at) {
    return cuda::atomic_ref<std::uint64_t, cuda::thread_scope_device>(*at.raw());
  }
  __device__ cuda::atomic_ref<std::uint32_t, cuda::thread_scope_device> turn(
      std::uint64_t hash) const {
    return cuda::atomic_ref<std::uint32_t, cuda::thread_scope_device>(
        turns_[hash >> (64 - stripe_bits)]);
  }

  std::uint32_t* turns_;
};

/// An operation by a whole warp, which may have copies of buckets.
using side_of_a_warp = cuda_side<32, true>;

}  // namespace durahash::gpu
