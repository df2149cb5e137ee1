// TurboHash: what an operation carries from one of its steps to the next.
#pragma once

#include <cstdint>

#include "engine/frame/frame.hpp"
#include "engine/frame/live_record.hpp"
#include "engine/turbo/bucket.hpp"
#include "engine/turbo/shards.hpp"

namespace durahash::turbo {

/// A shard, and how it was.
template <medium M>
struct unit {
  shard_state<M>* state;
  shard_view view;
};

/// What a key comes to before its shard is locked, and how the shard was then.
template <medium M>
struct target {
  std::uint64_t hash;
  shard_state<M>* state;
  shard_view view;
  bucket* home;
};

/// A look at a key's home bucket.
template <medium M>
struct home_look {
  std::uint64_t hash;
  const shard_mirror<M>* mirror;
  shard_view view;
  const bucket* home;
};
/// What was read there.
struct home_seen {
  meta_word meta;
  std::uint32_t hits;  // valid slots with the key's tag
};

/// Where a key is, or the bucket that a new one goes to: found by a walk under the shard's lock.
/// Two words, so that a call returns it in registers.
struct lookup {
  static constexpr std::uint32_t in_no_slot = slots_per_bucket;
  bucket* at = nullptr;
  std::uint32_t slot = in_no_slot;  // that the key is in
  std::uint32_t distance = 0;       // of the last bucket that was looked at

  bool found() const noexcept { return slot != in_no_slot; }
};

/// A record, and where it is.
struct resident : live_record {
  bucket* where;
  int slot;
};

/// A change that is written but not committed.
template <medium M, class Kind>
struct change : replaced_record<Kind> {
  std::int8_t records = 0;
  bool apart = false;         // the payload lies in other lines than the commit word
  bool wants_survey = false;  // an insert walked far
  shard_state<M>* state = nullptr;
  shard_view view;                    // as it is while the shard is locked, without marks
  pm<std::uint64_t>* word = nullptr;  // the commit word
  std::uint64_t next = 0;
  slot* filled = nullptr;  // with the payload, or none
};

}  // namespace durahash::turbo
