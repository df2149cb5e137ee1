// BktCache on a device (GPHash §3.3): copies in its memory of the buckets that are looked at most,
// for a table in host memory. Which buckets have one is frozen between two loads (gpu/cache.hpp).
// The invariants are the host's (engine/gphash/bucket_cache.hpp):
//
//   B1  A copy that a reader finds open, and under the same version behind what it read, was what
//       its bucket was at that moment.
//   B2  Who stores a word that readers look for holds the bucket's copy, if there is one, while
//       table and copy differ: readers look in the table meanwhile.
//   B3  A copy opens when all writers that may not know of it are done, and is filled while it is
//       held.
//
// The same lines are compiled for the GPU and, in lockstep on the host, for the tests.
#pragma once

#include "engine/gphash/leased.hpp"
#include "gpu/both_sides.hpp"

namespace durahash::gpu {

using gphash::leased_level;
using gphash::leased_table;

struct copy_state {
  std::uint32_t version;  // odd: held
  std::uint32_t open;     // changes while it is held, as `bucket` does
  std::uint64_t bucket;
};

/// A copy and the bucket that it is to be of.
struct copy_task {
  std::uint32_t copy;
  std::uint64_t bucket;
};
enum class copies_step : std::uint8_t { retire, name, fill };

/// Where the copies are. Trivially copyable: a kernel's parameter. Buckets by their numbers
/// (engine/gphash/leased.hpp).
struct bucket_copies {
  // by bucket: its copy, from 1; 0: none. Null: there is no cache
  std::uint32_t* copy_of = nullptr;
  std::uint32_t* marks = nullptr;  // by bucket: looks, or the time of the last one
  copy_state* states = nullptr;
  std::uint64_t* words = nullptr;
  bool by_time = false;  // what marks are
};

/// Of searches that are counted: the buckets they looked at, and how many of those were copies.
struct looks {
  std::uint32_t now = 0;  // the time, for the marks
  std::uint64_t buckets = 0, copies = 0;
};

/// `Side`: gpu/operations.hpp; wait; and of the device's own words
///   own_load, own_store               as load_in_order and store of the pool
///   own_load_in_any_order, own_store_in_any_order, own_count
///   own_take_if                       sees what came before the word's value
///   own_give_if, own_give             are visible behind what was stored before them
/// Under a copy's version, taken and given, other words of it need no order.
template <class Side>
class copies_of {
 public:
  /// One lane's bucket: where a search reads it.
  struct source {
    const std::uint64_t* words = nullptr;  // of a copy; null: in the table
    std::uint32_t copy = 0, version = 0;
  };

  DURAHASH_ON_DEVICE copies_of(Side& side, const leased_table& table) noexcept
      : side_(side), table_(table), here_(side.copies) {}

  DURAHASH_ON_DEVICE bool any() const noexcept {
    return Side::may_have_copies && here_.copy_of != nullptr;
  }
  DURAHASH_ON_DEVICE std::uint64_t bucket_of(std::uint64_t hash, unsigned lane) const noexcept {
    const gphash::shape& f = table_.where.form();
    unsigned number = lane >> f.slots_log2, level = number / f.hashes;
    return table_.first_bucket(level) +
           (table_.where.place(hash, number % f.hashes) >> (64 - table_.log2[level]));
  }
  DURAHASH_ON_DEVICE source find(std::uint64_t bucket) const {
    std::uint32_t copy = side_.own_load(here_.copy_of[bucket]);
    if (copy == 0) return {};
    const copy_state& state = here_.states[copy - 1];
    std::uint32_t version = side_.own_load(state.version);
    if ((version & 1) != 0 || side_.own_load(state.open) == 0 ||
        side_.own_load_in_any_order(state.bucket) != bucket)
      return {};
    return {here_.words + (copy - 1) * std::uint64_t{table_.words_per_bucket()}, copy, version};
  }
  /// Behind all that was read.
  DURAHASH_ON_DEVICE bool unchanged(const source& s) const {
    return s.words == nullptr ||
           side_.own_load_in_any_order(here_.states[s.copy - 1].version) == s.version;
  }
  /// A search of that hash, which has looked at these of its lanes', is marked and told.
  template <class Sources>
  DURAHASH_ON_DEVICE void count(std::uint64_t hash, const Sources& from, looks& counted) const {
    auto& warp = side_.warp;
    auto looks_at_one = [&](unsigned lane) {
      return lane < table_.lanes() && (lane & (table_.where.form().slots - 1)) == 0;
    };
    auto marked = warp.each([&](unsigned lane) {
      if (looks_at_one(lane)) mark(bucket_of(hash, lane), counted.now);
      return looks_at_one(lane);
    });
    auto in_a_copy = warp.each(
        [&](unsigned lane) { return looks_at_one(lane) && warp.of(from, lane).words != nullptr; });
    counted.buckets += static_cast<unsigned>(count_bits(warp.ballot(marked)));
    counted.copies += static_cast<unsigned>(count_bits(warp.ballot(in_a_copy)));
  }

  /// Calls what stores a word of the table that readers look for, and stores what its bucket's copy
  /// needs of that (B2). By one lane. `value`: of the slot whose state it is.
  template <class Store>
  DURAHASH_ON_DEVICE void store(pm<std::uint64_t>& word, std::uint64_t next,
                                const std::uint64_t* value, Store&& in_the_table) const {
    std::uint64_t bucket = 0;
    unsigned at = 0;
    std::uint32_t copy = any() && locate(word, bucket, at) ? hold(bucket) : 0;
    in_the_table();
    if (copy == 0) return;
    std::uint64_t* words = here_.words + (copy - 1) * std::uint64_t{table_.words_per_bucket()};
    if (value != nullptr) side_.own_store(words[at + table_.where.form().slots], *value);
    if (!Side::planted("gpu-a-copy-is-not-told")) side_.own_store(words[at], next);
    release(copy);
  }

  /// The same while nobody reads, and each word has one writer: the copy alone.
  DURAHASH_ON_DEVICE void store_alone(pm<std::uint64_t>& word, std::uint64_t next,
                                      const std::uint64_t* value) const {
    std::uint64_t bucket = 0;
    unsigned at = 0;
    if (!any() || !locate(word, bucket, at)) return;
    const std::uint32_t copy = side_.own_load_in_any_order(here_.copy_of[bucket]);
    if (copy == 0) return;
    std::uint64_t* words = here_.words + (copy - 1) * std::uint64_t{table_.words_per_bucket()};
    if (value != nullptr)
      side_.own_store_in_any_order(words[at + table_.where.form().slots], *value);
    side_.own_store_in_any_order(words[at], next);
  }

  // A load, by steps, each of all its copies before the next. By one lane, but for the words.

  DURAHASH_ON_DEVICE void retire(const copy_task& t) const {
    side_.warp.one([&] {
      close(t.copy);
      side_.own_store_in_any_order(state(t.copy).open, 0u);
      side_.own_store_in_any_order(here_.copy_of[t.bucket], 0u);
      return release(t.copy), true;
    });
  }
  DURAHASH_ON_DEVICE void name(const copy_task& t) const {
    side_.warp.one([&] {
      close(t.copy);
      side_.own_store_in_any_order(state(t.copy).bucket, t.bucket);
      release(t.copy);
      return side_.own_store(here_.copy_of[t.bucket], t.copy), true;
    });
  }
  /// Every writer that began before the copy was named is done.
  DURAHASH_ON_DEVICE void fill(const copy_task& t) const {
    side_.warp.one([&] { return close(t.copy), true; });
    pm<std::uint64_t>* from = table_.bucket(t.bucket);
    std::uint64_t* to = here_.words + (t.copy - 1) * std::uint64_t{table_.words_per_bucket()};
    side_.warp.each([&](unsigned lane) {
      for (unsigned w = lane; w < table_.words_per_bucket(); w += side_.warp.lanes)
        side_.own_store(to[w], side_.load(from[w]));
      return true;
    });
    side_.warp.one([&] {
      side_.own_store(state(t.copy).open, 1u);
      return release(t.copy), true;
    });
  }

 private:
  DURAHASH_ON_DEVICE void mark(std::uint64_t bucket, std::uint32_t now) const {
    if (here_.by_time) side_.own_store_in_any_order(here_.marks[bucket], now);
    else side_.own_count(here_.marks[bucket], 1u);
  }
  DURAHASH_ON_DEVICE copy_state& state(std::uint32_t copy) const noexcept {
    return here_.states[copy - 1];
  }
  /// Which bucket a word is in, and which of its words it is. False: an escape slot's.
  DURAHASH_ON_DEVICE bool locate(const pm<std::uint64_t>& word, std::uint64_t& bucket,
                                 unsigned& at) const noexcept {
    const std::uint64_t stride = table_.where.form().bucket_words();
    for (unsigned l = 0; l < table_.where.form().levels; ++l) {
      const pm<std::uint64_t>* first = table_.levels[l];
      if (&word < first || &word >= first + (stride << table_.log2[l])) continue;
      auto offset = static_cast<std::uint64_t>(&word - first);
      bucket = table_.first_bucket(l) + offset / stride;
      at = static_cast<unsigned>(offset % stride);
      return true;
    }
    return false;
  }
  /// The bucket's copy, held; 0: it has none. Who sees an older `copy_of` or a newer one misses
  /// nothing: no copy is filled before this kernel is done (B3).
  DURAHASH_ON_DEVICE std::uint32_t hold(std::uint64_t bucket) const {
    std::uint32_t copy = side_.own_load_in_any_order(here_.copy_of[bucket]);
    if (copy == 0) return 0;
    close(copy);
    if (side_.own_load_in_any_order(state(copy).bucket) == bucket) return copy;
    release(copy);  // it was given to another one
    return 0;
  }
  DURAHASH_ON_DEVICE void close(std::uint32_t copy) const {
    while (true) {  // ends when the holder, who waits for nothing, is done
      std::uint32_t seen = side_.own_load_in_any_order(state(copy).version);
      if ((seen & 1) == 0 && side_.own_take_if(state(copy).version, seen, seen + 1)) return;
      side_.wait();
    }
  }
  DURAHASH_ON_DEVICE void release(std::uint32_t copy) const {
    side_.own_give(state(copy).version, 1u);
  }

  Side& side_;
  const leased_table& table_;
  const bucket_copies& here_;
};

}  // namespace durahash::gpu
