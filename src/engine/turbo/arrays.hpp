// TurboHash: a new array for a shard. Nothing refers to it while it is written.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "base/bits.hpp"
#include "engine/frame/live_record.hpp"
#include "engine/turbo/bucket.hpp"
#include "persist/heap.hpp"

namespace durahash::turbo {

constexpr std::uint64_t array_bytes(unsigned log2_buckets) noexcept {
  return std::uint64_t{block_bytes} << log2_buckets;
}

/// The smallest array that holds so many records at a load factor of at most 0.7, where few scopes
/// are full.
inline unsigned log2_for(std::uint64_t records_in_shard) noexcept {
  constexpr std::uint64_t tenths = 7;
  return std::min(max_log2_buckets,
                  log2_ceiling((records_in_shard * 10 + slots_per_bucket * tenths - 1) /
                               (slots_per_bucket * tenths)));
}

/// An array that nothing refers to yet, written; its write-back has begun.
template <medium M>
struct laid_out {
  loose_cell<M> array;
  unsigned log2_buckets;

  directory_entry keep() noexcept { return directory_entry::of(array.keep(), log2_buckets); }
};

/// Writes arrays for one shard. `EachRecord`: each_record(visit) calls visit(record) for each,
/// until that answers false; then it does so, too.
template <medium M>
class array_writer {
 public:
  array_writer(pool<M>& p, heap<M>& h, shard_index s, unsigned scope)
      : m_(p.medium()), p_(p), heap_(h), shard_(s), scope_(scope) {}

  /// In so many buckets, or in more where some record finds its scope full.
  template <class EachRecord>
  std::optional<laid_out<M>> lay_out(unsigned log2_buckets, flushed& started,
                                     EachRecord&& each_record) {
    for (; log2_buckets <= max_log2_buckets; ++log2_buckets) {  // twice the buckets, half the load
      auto array = allocate_loose(heap_, array_bytes(log2_buckets));
      if (!array) return std::nullopt;
      bucket* const made = p_.at(poff<bucket>{array->offset()});
      const std::uint64_t buckets = std::uint64_t{1} << log2_buckets;
      if (!fill(made, buckets, each_record)) continue;
      started += flush({made, buckets});
      return laid_out<M>{std::move(*array), log2_buckets};
    }
    return std::nullopt;
  }

 private:
  /// Stores the records where searches will look for them. The first lines are left to new records,
  /// as far as they can be. Returns false when some record finds its scope full.
  template <class EachRecord>
  bool fill(bucket* made, std::uint64_t buckets, EachRecord&& each_record) {
    const std::uint64_t scope = std::min<std::uint64_t>(scope_, buckets);
    for (bucket& b : std::span(made, buckets)) {
      store(m_, b.meta, meta_word{meta_word::one_write});
      store(m_, b.tags[0], 0), store(m_, b.tags[1], 0), store(m_, b.reserved, 0);
    }
    // of bytes: an offset in the array is what its hash says
    const std::uint64_t of_shard = (buckets << level_of(shard_)) * sizeof(bucket);
    const std::uint64_t inside = (buckets - 1) * sizeof(bucket);
    return each_record([&](const live_record& r) {
      std::uint64_t at = multiply_wide(r.hash, of_shard).high & inside, distance = 0;
      const auto made_at = [made](std::uint64_t offset) -> bucket& {
        return *reinterpret_cast<bucket*>(reinterpret_cast<char*>(made) + offset);
      };
      meta_word meta = load(m_, made_at(at).meta);
      while (!meta.two_empty()) {
        if (++distance == scope) return false;
        at = (at + sizeof(bucket)) & inside;
        meta = load(m_, made_at(at).meta);
      }
      bucket& b = made_at(at);
      const std::uint32_t behind = meta.empty() & ~slots_of_first_line;
      const std::size_t n = behind == 0 ? first_of(meta.empty()) : best_behind(behind, r.hash);
      store(m_, b.meta, meta_word{meta.bits | meta_word::valid_bit(n)});
      slot& to = slot_in(b, n);
      store(m_, to.key, r.key_word);
      store(m_, to.value, r.value_word);
      store(m_, tag_field(b, n), tag_of(r.hash));
      return true;
    });
  }

  /// The write-back of all, in the order of addresses. Lines without a live slot keep what they
  /// hold: nothing reads them.
  flushed flush(std::span<const bucket> made) {
    flushed started;
    for (const bucket& b : made) {
      const auto* const words = reinterpret_cast<const pm<std::uint64_t>*>(&b);
      // the header is as long as the slots that the first line lacks
      std::uint32_t used = load(m_, b.meta).valid() << slots_in_first_line | 1;
      for (std::size_t line = 0; used != 0; ++line, used >>= slots_in_line)
        if ((used & low_bits(slots_in_line)) != 0)
          started += flush_in_line(m_, words[line * (line_bytes / 8)], "turbo.array.image");
    }
    return started;
  }

  M& m_;
  pool<M>& p_;
  heap<M>& heap_;
  const shard_index shard_;
  const unsigned scope_;
};

}  // namespace durahash::turbo
