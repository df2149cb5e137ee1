// GPHash: what an operation carries from step to step.
#pragma once

#include <array>
#include <list>
#include <vector>

#include "engine/frame/frame.hpp"
#include "engine/gphash/buckets.hpp"

namespace durahash::gphash {

/// A key's hash; and where the short ways look for it, in the order of precedence, as long as the
/// levels are these.
struct key_target {
  std::uint64_t hash;
  const levels_view* levels;
  bucket_ref at[4];

  bool is_short() const noexcept { return hash > levels->last_long; }
  [[gnu::always_inline]] void ask_for() const noexcept {
    __builtin_prefetch(at[0]), __builtin_prefetch(at[1]);
    __builtin_prefetch(at[2]), __builtin_prefetch(at[3]);
  }
};

/// And what was there.
template <medium M>
struct look : key_target {
  const stripe_mark<M>* mark;
  std::uint32_t version;
  pm<std::uint64_t>* state;  // of the slot that the key may be in, or null
};

/// What is locked.
struct unit {
  const levels_view* levels;
  stripe_index stripe;
};

/// Where a key is, or where it would go.
template <class Kind>
struct lookup {
  slot_ref<Kind> found, room;
};

/// A change that is written but for its commit word.
template <medium M, class Kind>
struct change : replaced_record<Kind> {
  stripe_state<M>* stripe = nullptr;
  slot_ref<Kind> where = {};
  pm<std::uint64_t>* word = nullptr;
  std::uint64_t next = 0;
  bool apart = false;        // what it must come after lies in other lines
  bool value_apart = false;  // the value word does, and is to be flushed
  std::int8_t records = 0;   // a key comes or goes

  [[gnu::always_inline]] flushed publish(M& m, ordered payload) const {
    // COMMIT: the record appears, changes or goes
    return publish_unfenced(m, *word, next, std::move(payload), "gphash.write.commit");
  }
};

/// Of stripes that differ.
template <medium M, class Kind>
struct group : fenced_group<change<M, Kind>> {
  const levels_view* levels;  // as long as a lock is held
};

/// The records of some stripes side by side.
template <class Kind>
struct stretch {
  static constexpr bool may_repeat = false;  // who comes or goes changes the version
  std::vector<record_of<Kind>> records;
  // copies: a slot may be lent as soon as it was looked at
  std::list<std::array<std::uint64_t, max_key_bytes / 8>> keys;
};

}  // namespace durahash::gphash
