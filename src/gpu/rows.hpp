// GPHash with byte values as a device reads it: rows, and their search by one warp. Nobody writes
// meanwhile: there are no versions to look at.
#pragma once

#include "base/key_hash.hpp"
#include "durahash/gpu.hpp"
#include "engine/gphash/leased.hpp"
#include "gpu/bucket_copies.hpp"
#include "gpu/staged.hpp"
#include "persist/record_shape.hpp"

namespace durahash::gpu {

/// Where everything lies: in the pool, or in a copy of all of it. Trivially copyable.
struct leased_rows {
  gphash::leased_table table;
  const std::byte* base;           // what offsets count from
  std::uint64_t heap_offset, end;  // records are between the two
  key_hash hashing;
  unsigned key_bytes;  // of every key: whole words
  bool keys_in_slots;  // else in front of the values

  /// Of a lane's slot: the state, the value's offset, the first word of the key.
  constexpr pm<std::uint64_t>& state_of(std::uint64_t hash, unsigned lane) const noexcept {
    return bucket_of(hash, lane)[table.slot_in(lane)];
  }
  constexpr pm<std::uint64_t>& value_of(std::uint64_t hash, unsigned lane) const noexcept {
    return bucket_of(hash, lane)[table.where.form().slots + table.slot_in(lane)];
  }
  constexpr pm<std::uint64_t>* key_of(std::uint64_t hash, unsigned lane) const noexcept {
    return bucket_of(hash, lane) + 2 * table.where.form().slots + table.slot_in(lane) * key_words();
  }

  static leased_rows none() noexcept {
    return {gphash::leased_table::none(), nullptr, 0, 0, key_hash({}), 0, false};
  }
  constexpr unsigned key_words() const noexcept { return key_bytes / 8; }
  /// As gphash::buckets::hash_of.
  constexpr std::uint64_t hash_of(const std::uint64_t* key) const noexcept {
    return gphash::fingerprint_of(hashing.of(key, key_words()));
  }
  constexpr bool contains(std::uint64_t offset, std::uint64_t bytes) const noexcept {
    return offset >= heap_offset && bytes <= end && offset <= end - bytes;
  }

  /// The same in memory that has a copy of the pool at `copy`.
  leased_rows copied_to(std::byte* copy) const noexcept {
    leased_rows made = *this;
    auto there = [&](auto* home) {
      return reinterpret_cast<decltype(home)>(copy +
                                              (reinterpret_cast<const std::byte*>(home) - base));
    };
    for (unsigned l = 0; l < table.where.form().levels; ++l)
      made.table.levels[l] = there(table.levels[l]);
    made.table.escapes = there(table.escapes);
    made.base = copy;
    return made;
  }

 private:
  constexpr pm<std::uint64_t>* bucket_of(std::uint64_t hash, unsigned lane) const noexcept {
    auto b = table.bucket_for(table.where.form(), hash, lane);
    return table.levels[b.level] + b.index * table.where.form().bucket_words();
  }
};

/// Arrays that the device reads and writes.
struct row_batch {
  std::size_t count;
  const std::uint64_t* keys;  // key_bytes each
  std::byte* values;          // value_bytes each; null: whether they are there
  std::uint64_t value_bytes;
  // of the values found; null: one of another length than value_bytes is a mismatch
  std::uint32_t* lengths;
  status* answers;
  missed_keys missed = {};        // the count is 0 before
  const void** places = nullptr;  // if not null, where the values are
  std::uint32_t now = 0;          // the batch's number, for the cache
};

static_assert(std::is_trivially_copyable_v<leased_rows>);

/// Blocks of the pool that have changed, for a copy of it.
struct changed_blocks {
  std::byte* copy;
  const std::uint64_t* offsets;
  const std::byte* blocks;  // block_bytes each
  std::size_t count;
};

inline constexpr std::uint64_t row_alignment = 16;

/// One search of so many is counted, where buckets have copies.
inline constexpr std::size_t sampled_rows = 16;

/// Copies of buckets, if there are any, have their states and values, and are read in their place:
/// nobody writes or loads them meanwhile.
template <class Side>
class row_search {
 public:
  DURAHASH_ON_DEVICE row_search(Side& side, const leased_rows& rows) noexcept
      : side_(side), rows_(rows), copies_(side, rows.table) {}

  /// Returns   ok, with `length` and as much of the value as there is room for; not_found; damaged:
  ///           what the slot leads to is no record.
  DURAHASH_ON_DEVICE status find(const std::uint64_t* key, std::byte* into, std::uint64_t room,
                                 std::uint32_t& length) const {
    const std::byte* value = nullptr;
    const status answer = locate(key, value, length);
    if (answer == status::ok && into != nullptr) copy(value, into, room < length ? room : length);
    return answer;
  }
  /// Where its value is. It is aligned to 8. `counted`: if not null, the looks are told there, and
  /// marked for the next load.
  DURAHASH_ON_DEVICE status locate(const std::uint64_t* key, const std::byte*& value,
                                   std::uint32_t& length, looks* counted = nullptr) const {
    sight seen;
    const status answer = look<false>(key, rows_.hash_of(key), seen, counted);
    value = seen.value, length = seen.length;
    return answer;
  }
  /// Where a key was found: whose lane's slot it is in, and its record.
  struct sight {
    unsigned lane;
    std::uint64_t offset;
    const std::byte* value;
    std::uint32_t length;
    std::uint32_t empty;  // if it was asked for: by lanes, which slots of the key's are
  };
  template <bool WithRoom>
  DURAHASH_ON_DEVICE status look(const std::uint64_t* key, std::uint64_t hash, sight& seen,
                                 looks* counted = nullptr) const {
    seen = {0, 0, nullptr, 0, 0};
    const sources from(*this, hash, counted);
    auto states = warp().each([&](unsigned lane) {
      return lane < rows_.table.lanes() ? from.state(lane) : gphash::claimed_state;
    });
    std::uint32_t hits = ballot_of(states, hash);
    if constexpr (WithRoom) seen.empty = ballot_of(states, gphash::empty_state);
    while (hits != 0) {
      auto lane = static_cast<unsigned>(take_lowest(hits));
      if (rows_.keys_in_slots &&
          !same_words(key, [&](unsigned n) { return *rows_.key_of(hash, lane)[n].raw(); }))
        continue;
      std::uint64_t offset = from.value(lane);
      if (offset % row_alignment != 0 || !rows_.contains(offset, record_shape::least_bytes))
        return status::damaged;
      const std::byte* record = rows_.base + offset;
      const record_shape shape = record_shape::of(
          warp().one([&] { return *reinterpret_cast<const std::uint64_t*>(record); }));
      if (!rows_.contains(offset, shape.bytes())) return status::damaged;
      const std::byte* text = record + shape.header_bytes;
      if (!rows_.keys_in_slots &&
          (shape.key_bytes != rows_.key_bytes || !same_words(key, [&](unsigned n) {
             return reinterpret_cast<const std::uint64_t*>(text)[n];
           })))
        continue;
      seen.lane = lane, seen.offset = offset;
      seen.value = text + shape.key_bytes, seen.length = shape.value_bytes;
      return status::ok;
    }
    return status::not_found;
  }
  /// Which of its slots are empty in the pool just now, by lanes: its copies do not know of claims.
  DURAHASH_ON_DEVICE std::uint32_t empties(std::uint64_t hash) const {
    return warp().ballot(warp().each([&](unsigned lane) {
      return lane < rows_.table.lanes() &&
             side_.load(rows_.state_of(hash, lane)) == gphash::empty_state;
    }));
  }

  /// The operations first, first + step, ... of a batch.
  DURAHASH_ON_DEVICE void find_all(const row_batch& b, tallies& total, std::size_t first,
                                   std::size_t step) const {
    looks seen{b.now};
    for (std::size_t i = first; i < b.count; i += step) {
      std::uint32_t length = 0;
      const std::byte* value = nullptr;
      status answer = locate(key_of(b.keys, i), value, length, sampled(i, seen));
      if (answer == status::ok && b.values != nullptr) {
        copy(value, b.values + i * b.value_bytes, length < b.value_bytes ? length : b.value_bytes);
        if (b.lengths == nullptr && length != b.value_bytes) answer = status::mismatch;
      }
      warp().one_does(b.places != nullptr, [&] { b.places[i] = value; });
      warp().one_does(b.lengths != nullptr, [&] { b.lengths[i] = length; });
      tell(b, i, answer);
    }
    add(total, seen);
  }
  /// Where the looks of the i-th search of a batch are told: null for most.
  DURAHASH_ON_DEVICE looks* sampled(std::size_t i, looks& seen) const noexcept {
    return copies_.any() && i % sampled_rows == 0 ? &seen : nullptr;
  }
  DURAHASH_ON_DEVICE void add(tallies& total, const looks& seen) const {
    if (seen.buckets == 0) return;
    tallies mine;
    mine.looks = seen.buckets;
    mine.copies = seen.copies;
    warp().one_does(true, [&] { side_.add(total, mine); });
  }
  DURAHASH_ON_DEVICE const std::uint64_t* key_of(const std::uint64_t* keys,
                                                 std::size_t i) const noexcept {
    return keys + i * rows_.key_words();
  }
  template <class Batch>
  DURAHASH_ON_DEVICE void tell(const Batch& b, std::size_t i, status answer) const {
    warp().one_does(true, [&] {
      side_.tell(b.answers[i], answer);
      if (answer != status::not_found || b.missed.count == nullptr) return;
      std::uint64_t at = side_.own_count(*b.missed.count, std::uint64_t{1});
      // a key may be in several bags, where offsets go down
      if (b.missed.indices != nullptr && at < b.count)
        b.missed.indices[at] = static_cast<std::uint32_t>(i);
    });
  }

 private:
  /// Where a search reads: of each lane the bucket, or its copy.
  class sources {
   public:
    DURAHASH_ON_DEVICE sources(const row_search& all, std::uint64_t hash, looks* counted)
        : all_(all), hash_(hash) {
      if (!all.copies_.any()) return;
      const unsigned lanes = all.rows_.table.lanes();
      from_ = all.warp().each([&](unsigned lane) {
        return lane < lanes ? all.copies_.find(all.copies_.bucket_of(hash, lane)) : source();
      });
      if (counted != nullptr) all.copies_.count(hash, from_, *counted);
    }
    DURAHASH_ON_DEVICE std::uint64_t state(unsigned lane) const {
      return word(lane, 0, all_.rows_.state_of(hash_, lane));
    }
    /// For all lanes.
    DURAHASH_ON_DEVICE std::uint64_t value(unsigned lane) const {
      const leased_rows& rows = all_.rows_;
      if (!all_.copies_.any())
        return all_.warp().one([&] { return *rows.value_of(hash_, lane).raw(); });
      return all_.warp().from(all_.warp().each([&](unsigned each) {
        return each != lane ? std::uint64_t{0}
                            : word(lane, rows.table.where.form().slots, rows.value_of(hash_, lane));
      }),
                              lane);
    }

   private:
    using source = typename copies_of<Side>::source;
    DURAHASH_ON_DEVICE std::uint64_t word(unsigned lane, unsigned first,
                                          const pm<std::uint64_t>& in_the_pool) const {
      if (all_.copies_.any())
        if (const std::uint64_t* copy = all_.warp().of(from_, lane).words; copy != nullptr)
          return all_.side_.own_load_in_any_order(copy[first + all_.rows_.table.slot_in(lane)]);
      return *in_the_pool.raw();
    }

    const row_search& all_;
    const std::uint64_t hash_;
    typename std::remove_cvref_t<decltype(Side::warp)>::template varying<source> from_;
  };

  DURAHASH_ON_DEVICE auto& warp() const noexcept { return side_.warp; }
  template <class WordOf>
  DURAHASH_ON_DEVICE bool same_words(const std::uint64_t* key, WordOf&& word) const {
    return warp().ballot(warp().each([&](unsigned lane) {
      return lane < rows_.key_words() && word(lane) != key[lane];
    })) == 0;
  }
  template <class Words>
  DURAHASH_ON_DEVICE std::uint32_t ballot_of(const Words& all, std::uint64_t word) const {
    return warp().ballot(warp().each([&](unsigned lane) { return warp().of(all, lane) == word; }));
  }
  /// Of whole words, where both have them.
  DURAHASH_ON_DEVICE void copy(const std::byte* from, std::byte* to, std::uint64_t bytes) const {
    bool by_words =
        (reinterpret_cast<std::uintptr_t>(from) | reinterpret_cast<std::uintptr_t>(to)) % 8 == 0;
    std::uint64_t words = by_words ? bytes / 8 : 0;
    warp().each([&](unsigned lane) {
      for (std::uint64_t n = lane; n < words; n += warp().lanes)
        reinterpret_cast<std::uint64_t*>(to)[n] = reinterpret_cast<const std::uint64_t*>(from)[n];
      for (std::uint64_t n = words * 8 + lane; n < bytes; n += warp().lanes) to[n] = from[n];
      return true;
    });
  }

  Side& side_;
  const leased_rows& rows_;
  const copies_of<Side> copies_;
};

/// The blocks first, first + step, ... of them.
template <class Warp>
DURAHASH_ON_DEVICE void spread_blocks(const Warp& warp, const changed_blocks& c, std::size_t first,
                                      std::size_t step) {
  static_assert(block_bytes == 32 * 8);
  for (std::size_t i = first; i < c.count; i += step)
    warp.each([&](unsigned lane) {
      reinterpret_cast<std::uint64_t*>(c.copy + c.offsets[i])[lane] =
          reinterpret_cast<const std::uint64_t*>(c.blocks + i * block_bytes)[lane];
      return true;
    });
}

}  // namespace durahash::gpu
