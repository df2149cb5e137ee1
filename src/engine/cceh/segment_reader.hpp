// CCEH: the records that a segment holds, and those of the escape slots.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "engine/cceh/bucket.hpp"
#include "engine/cceh/segments.hpp"
#include "engine/frame/live_record.hpp"

namespace durahash::cceh {

/// Reads as they are just now: who needs them to stay holds the stripe's lock, or looks at its
/// version.
template <medium M, class Kind>
class segment_reader {
 public:
  segment_reader(M& m, const hash_seeds& seeds, const segments<M, Kind>& all) noexcept
      : m_(m), seeds_(seeds), segments_(all) {}

  std::uint64_t hash_of_slot(std::uint64_t key_word) const noexcept {
    if constexpr (Kind::in_slot) return word_hash(key_word, seeds_);
    else return key_word;
  }

  /// Calls visit(resident) for each record of the segment that is not stale.
  template <class Visit>
  [[gnu::always_inline]] void for_each(const segment& s, Visit&& visit) const {
    const std::uint64_t prefix = s.prefix, of_prefix = prefix_mask(s.depth());
    bucket* const first = segments_.buckets_of(s);
    bucket* const end = first + segments_.shape().buckets();
    for (bucket* b = first; b != end; ++b)
      for (slot& at : b->slots) {
        const std::uint64_t key_word = load(m_, at.key);
        if (key_word == empty_word || key_word == removed_word) continue;
        const std::uint64_t hash = hash_of_slot(key_word);
        if ((hash & of_prefix) == prefix)
          visit(resident{
              {hash, key_word, load(m_, at.value)}, &at, static_cast<std::uint32_t>(b - first)});
      }
  }

  std::vector<resident> all_of(const segment& s) const {
    std::vector<resident> found;
    found.reserve(segments_.shape().slots());
    for_each(s, [&](const resident& r) { found.push_back(r); });
    return found;
  }

  /// Of a bucket without an empty or removed slot.
  std::uint32_t stale_slots(const segment& s, const bucket& b) const {
    std::uint32_t found = 0;
    for (int i = 0; i < slots_per_bucket; ++i)
      found |= std::uint32_t{!s.owns(hash_of_slot(load(m_, b.slots[i].key)))} << i;
    return found;
  }

  /// Whether a search for the record gets as far as its bucket, in which it may lie.
  bool reaches(const segment& s, const resident& r) const {
    const bucket* first = segments_.buckets_of(s);
    const segment_shape& shape = segments_.shape();
    for (std::uint64_t b = shape.home_of(r.hash); b != r.bucket; b = (b + 1) & shape.mask())
      if (match(m_, first[b], empty_word) != 0) return false;
    return true;
  }

  /// Calls visit(record) for those of the two records in the escape slots whose hashes are the
  /// segment's.
  template <class Visit>
  void for_each_escaped([[maybe_unused]] const segment& s, [[maybe_unused]] Visit&& visit) const {
    if constexpr (Kind::in_slot) {
      const bucket& b = segments_.root_of_table().escapes;
      for (std::uint64_t key : {empty_word, removed_word}) {
        const std::uint64_t hash = hash_of_slot(key);
        if (!s.owns(hash)) continue;
        if (std::uint32_t hits = match(m_, b, escape_word_of(key)); hits != 0)
          visit(live_record{hash, key, load(m_, b.slots[std::countr_zero(hits)].value)});
      }
    }
  }

  std::uint32_t escaped_count() const {
    std::uint32_t count = 0;
    for_each_escaped(segment{}, [&](const live_record&) { ++count; });  // it owns every hash
    return count;
  }

 private:
  M& m_;
  const hash_seeds seeds_;  // here, for a walk over a segment reads them again and again
  const segments<M, Kind>& segments_;
};

}  // namespace durahash::cceh
