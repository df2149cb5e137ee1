// What Level hashing's evaluation gives to the tables that it compares with (Level §3.3, §4.1): a
// token for each slot, log-free insertion and deletion, and an undo log for updates (§4.2.3).
//
// A slot takes 32 bytes, as there: two to a line. The papers' items have 31 bytes; ours have two
// words, and the rest of a slot is unused.
#pragma once

#include "bench/baselines/design.hpp"

namespace durahash::baselines {

struct token_slot {
  pm<std::uint64_t> word;  // tokens of a bucket, in its first slot; the next node of a chain
  pm<std::uint64_t> key;
  pm<std::uint64_t> value;
  pm<std::uint64_t> unused;
};
static_assert(sizeof(token_slot) == 32);

/// The steps that are one after the other durable.
template <class M>
class token_steps {
 public:
  explicit token_steps(M& m) : medium_(m) {}

  void write_item(token_slot& slot, std::uint64_t key, std::uint64_t value, site where) {
    store_item(slot, key, value);
    (void)persist(medium_, extent{&slot.key, 16}, where);
  }
  void store_item(token_slot& slot, std::uint64_t key, std::uint64_t value) {
    store(medium_, slot.key, key);
    store(medium_, slot.value, value);
  }
  void set_tokens(pm<std::uint64_t>& tokens, std::uint64_t value, site where) {
    // COMMIT: an item is there, or gone
    (void)publish(medium_, tokens, value, after_nothing("the item is durable, or goes"), where);
  }

 private:
  M& medium_;
};

/// One entry, as in the published persistent Level hashing: the item, then a flag.
struct undo_entry {
  pm<std::uint64_t> flag, key, value;
};

template <class M>
class undo_log {
 public:
  undo_log(M& m, undo_entry& entry) : medium_(m), entry_(entry) {}

  // crash before 2: the old value stands. After 2, before 4: recovery puts it back.
  void update(pm<std::uint64_t>& in_place, std::uint64_t key, std::uint64_t value) {
    store(medium_, entry_.key, key);
    store(medium_, entry_.value, load(medium_, in_place));
    (void)persist(medium_, extent{&entry_.key, 16}, "undo-log.item");  // 1
    (void)publish(medium_, entry_.flag, 1, after_nothing("the entry is durable"), "undo-log.set");
    (void)publish(medium_, in_place, value, after_nothing("logged"), "undo-log.in-place");  // 3
    // COMMIT: the key has the new value
    (void)publish(medium_, entry_.flag, 0, after_nothing("the value is durable"), "undo-log.clear");
  }

  /// `value_of(key)` tells where the key's value is, or null.
  template <class ValueOf>
  void undo(const ValueOf& value_of) {
    if (load(medium_, entry_.flag) == 0) return;
    if (pm<std::uint64_t>* value = value_of(load(medium_, entry_.key)))
      (void)publish(medium_, *value, load(medium_, entry_.value), after_nothing("logged"),
                    "undo-log.recover.in-place");
    (void)publish(medium_, entry_.flag, 0, after_nothing("undone"), "undo-log.recover.clear");
  }

 private:
  M& medium_;
  undo_entry& entry_;
};

}  // namespace durahash::baselines
