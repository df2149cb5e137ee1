// CCEH: what an operation carries from step to step.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/cceh/directory_view.hpp"
#include "engine/cceh/places.hpp"
#include "engine/cceh/stripe_states.hpp"
#include "engine/frame/frame.hpp"
#include "engine/frame/live_record.hpp"

namespace durahash::cceh {

/// A segment as the directory named it.
struct segment {
  directory_view directory;
  pm<std::uint64_t>* named = nullptr;  // the entry
  checked_place entry;                 // what it said
  std::uint64_t prefix = 0;            // the first `depth` bits of its hashes; the others 0
  stripe_index stripe = 0;
  std::uint32_t version = 0;

  unsigned depth() const noexcept { return entry.exponent(); }
  std::uint64_t offset() const noexcept { return entry.offset(); }
  bool owns(std::uint64_t hash) const noexcept { return begins_with(hash, prefix, depth()); }
  /// Where the next one's hashes begin; 0 behind the last one's.
  std::uint64_t end() const noexcept { return end_of(prefix, depth()); }
};

/// For those who are told what is wrong there.
inline std::string place_of(const segment& s, std::uint64_t bucket) {
  return "segment at offset " + std::to_string(s.offset()) + ", bucket " + std::to_string(bucket);
}

/// The buckets in which a key may be.
struct window {
  bucket* first = nullptr;
  std::uint64_t home = 0, mask = 0;
  unsigned buckets = 0;
  std::uint64_t key_word = 0;
  bucket& operator[](unsigned distance) const noexcept { return first[(home + distance) & mask]; }
};

/// A record where it lies in its segment.
struct resident : live_record {
  slot* where;
  std::uint32_t bucket;
};

/// A key's home bucket, as the directory names its segment. To be believed only when the directory
/// is looked at again.
struct target {
  std::uint64_t hash;
  directory_view directory;
  const pm<std::uint64_t>* named;
  checked_place entry;
  stripe_state* stripe;
  bucket* home = nullptr;
};

/// Where a key is, or where it would go: found by a walk under the stripe's lock.
struct lookup {
  slot* found = nullptr;
  slot* room = nullptr;
  bool bucket_has_room = false;  // an empty slot beside the one that was found
  bool room_is_away = false;     // not in the home bucket
};

/// A change that is written but for its commit word.
template <class Kind>
struct change : replaced_record<Kind> {
  stripe_state* stripe = nullptr;
  slot* where = nullptr;
  pm<std::uint64_t>* word = nullptr;
  std::uint64_t next = 0;
  bool apart = false;                // its record is to be durable first
  bool wants_survey = false;         // whether segments could be merged; when it is committed
  bool passes_full_buckets = false;  // those on the way of a new record
  std::int8_t records = 0;
};

/// One stripe may serve several keys. Bit n of the sets stands for the n-th key. `started` is the
/// write-back of the commit words.
template <class Kind>
struct group : fenced_group<change<Kind>> {
  std::uint64_t as_named = 0;  // those whose segment was named as before when it was locked
  std::uint64_t value_words[group_size];
  std::uint64_t unused = 0;   // records that were written and that no slot names
  std::uint64_t starved = 0;  // those for which the process has no memory
  bool wants_survey = false;  // a change of it
  std::optional<durable> records_written;
};
static_assert(group_size <= 64);

}  // namespace durahash::cceh
