// TurboHash: what readers and writers of a shard look at first, one word of DRAM for each shard.
#pragma once

#include <atomic>
#include <cstdint>

#include "engine/turbo/format.hpp"
#include "persist/order.hpp"
#include "persist/unsettled.hpp"

namespace durahash::turbo {

/// A directory entry's mirror, in the form that a search needs: one comparison with the word as it
/// was says that the array is the same, and that all that was read there is durable (T6).
///   bits 0-5    shift: what brings a hash without its shard bits down to a byte of the array. Of a
///               shard that has none: whether its records are elsewhere in the tree
///   bit 6       publishing: words of it are visible and perhaps not durable
///   bit 7       inherited: a process that died may have left words of it in the caches
///   bits 8-47   the array's offset; 0: the shard has none
///   bits 48-63  generation: tells a new array from an old one in the same place
/// A read of words that sleeps through 65,536 rebuilds of its shard, the last one to the place of
/// the first, would take the one for the other.
struct shard_view {
  std::uint64_t word = absent;

  static constexpr std::uint64_t publishing = 1 << 6, inherited = 1 << 7;
  static constexpr std::uint64_t marks = publishing | inherited;
  static constexpr std::uint64_t place = low_bits(40) << 8;
  static constexpr unsigned shift_of_one_bucket = 56;
  // no array: never ready, and every hash is at home in front of the pool
  static constexpr std::uint64_t absent = inherited | shift_of_one_bucket;
  static constexpr std::uint64_t split = absent + 1;  // its halves are shards
  static constexpr std::uint64_t part = absent + 2;   // of a shard that was not split

  static constexpr shard_view of(directory_entry e, std::uint64_t generation) noexcept {
    if (e.none()) return {absent | generation << 48};
    return {e.offset() | (shift_of_one_bucket - e.exponent()) | generation << 48};
  }
  constexpr bool none() const noexcept { return (word & place) == 0; }
  constexpr bool is_split() const noexcept { return (word & 63) == (split & 63); }
  constexpr bool is_part() const noexcept { return (word & 63) == (part & 63); }
  constexpr bool elsewhere() const noexcept { return (word & 63) > shift_of_one_bucket; }
  /// There is an array, and what is read there may be given away.
  constexpr bool ready() const noexcept { return (word & marks) == 0; }
  /// As it is when it is ready.
  constexpr shard_view without_marks() const noexcept { return {word & ~marks}; }
  constexpr bool same_array(shard_view other) const noexcept {
    return ((word ^ other.word) & ~marks) == 0;
  }
  constexpr bool mirrors(directory_entry e) const noexcept {
    return e.none() ? none() && !elsewhere()
                    : offset() == e.offset() && !none() && log2_buckets() == e.exponent();
  }
  constexpr std::uint64_t offset() const noexcept { return word & place; }
  constexpr std::uint64_t generation() const noexcept { return word >> 48; }
  constexpr unsigned log2_buckets() const noexcept {
    return shift_of_one_bucket - static_cast<unsigned>(word & 63);
  }
  constexpr std::uint64_t buckets() const noexcept {
    return none() ? 0 : std::uint64_t{1} << log2_buckets();
  }
  constexpr std::uint64_t bytes() const noexcept { return buckets() * block_bytes; }
  /// Where in the array, in bytes, the home bucket of a hash is whose shard bits are shifted out.
  constexpr std::uint64_t home_byte(std::uint64_t rest) const noexcept {
    return rest >> (word & 63) & ~std::uint64_t{block_bytes - 1};
  }
};
static_assert(block_bytes == 256 && 56 - max_log2_buckets > 0 && (shard_view::part & 63) < 64);

/// A shard's word. Writers change it under the shard's lock; readers take none, and clear
/// `inherited`.
template <medium M>
class shard_mirror {
 public:
  static constexpr bool marked = !M::visible_is_durable;

  [[gnu::always_inline]] shard_view view() const noexcept {
    return {word_.load(std::memory_order_acquire)};
  }
  [[gnu::always_inline]] bool is(shard_view v) const noexcept { return word_is(word_, v.word); }
  /// Of a pool that is being opened; `inherited` after a crash.
  void adopt(directory_entry e, bool inherited) noexcept {
    bool unknown = marked && inherited && !M::planted("a-dead-process-s-words");
    word_.store(shard_view::of(e, 0).word | (unknown ? shard_view::inherited : 0),
                std::memory_order_release);
  }
  /// The array is another one, all of it durable.
  void switch_to(directory_entry made) noexcept {
    word_.store(shard_view::of(made, view().generation() + 1).word, std::memory_order_release);
  }
  /// A half of a shard that is being split, which has the generation; nobody can have seen more.
  void come_from(std::uint64_t generation, directory_entry made) noexcept {
    word_.store(shard_view::of(made, generation + 1).word, std::memory_order_release);
  }
  void become_split() noexcept {
    word_.store(shard_view::split | (view().generation() + 1) << 48, std::memory_order_release);
  }
  void become_part() noexcept { word_.store(shard_view::part, std::memory_order_release); }
  /// What the holder of the lock stores from now on is visible before it is durable. `as_it_is`:
  /// without marks.
  [[gnu::always_inline]] void begin_publishing(shard_view as_it_is) noexcept {
    // the store that follows releases it
    if constexpr (marked)
      word_.store(as_it_is.word | shard_view::publishing, std::memory_order_relaxed);
  }
  [[gnu::always_inline]] void end_publishing(shard_view as_it_is, const durable&) noexcept {
    if constexpr (marked) word_.store(as_it_is.word, std::memory_order_release);
  }
  /// All of the array that was seen is durable. Any thread may find that out, lock or no lock.
  void take_over(shard_view seen, const durable&) noexcept {
    std::uint64_t was = seen.word;
    word_.compare_exchange_strong(was, was & ~shard_view::inherited, std::memory_order_acq_rel);
  }

 private:
  std::atomic<std::uint64_t> word_{shard_view::absent};
};

}  // namespace durahash::turbo
