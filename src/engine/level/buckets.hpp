// The buckets of a table: all of one shape. What lies in them is read and written here, on a
// medium. Nothing here is locked, and nothing is known of which levels there are; whoever changes a
// bucket holds its stripe's lock (L4).
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <string>

#include "base/bytes16.hpp"
#include "engine/frame/live_record.hpp"
#include "engine/level/bucket.hpp"
#include "engine/level/format.hpp"
#include "engine/level/levels_view.hpp"
#include "engine/level/places.hpp"
#include "persist/pool.hpp"

namespace durahash::level {

/// A record, and where it is.
struct resident : live_record {
  bucket where;
  int slot;
};

/// The lines that a new item changes besides that of its bucket's state: to be durable before its
/// token is stored.
struct item_lines {
  slot* slot_apart = nullptr;
  bucket above{};  // whose filter admits it now
  bool any() const noexcept { return slot_apart != nullptr || above.state != nullptr; }
};

template <medium M, class Kind>
class buckets {
 public:
  const level::shape shape;

  buckets(pool<M>& p, const hash_seeds& seeds)
      : shape(level::shape::of(static_cast<unsigned>(p.block().settings[setting::slots]))),
        p_(p),
        m_(p.medium()),
        seeds_(seeds) {}

  // where they are, and their parts
  level_view view_of(std::uint64_t offset, unsigned log2) const noexcept {
    return level_view::of(p_.at(offset), offset, log2, shape.bytes_log2);
  }
  bucket at(const level_view& l, std::uint64_t index) const noexcept {
    return {reinterpret_cast<pm<std::uint64_t>*>(l.first + (index << shape.bytes_log2))};
  }
  extent bytes_of(bucket b) const noexcept { return {b.state, std::size_t{1} << shape.bytes_log2}; }
  slot& slot_of(bucket b, int index) const noexcept {
    return *reinterpret_cast<slot*>(reinterpret_cast<std::byte*>(b.state) + shape.header_bytes +
                                    sizeof(slot) * std::size_t{static_cast<unsigned>(index)});
  }
  static pm<std::uint8_t>& tag_field(bucket b, int index) noexcept {
    void* first = &b.tags(0);
    return static_cast<pm<std::uint8_t>*>(first)[index];
  }

  // states
  bucket_state state_of(bucket b) const noexcept { return {load(m_, *b.state)}; }
  bool is_still(bucket b, bucket_state state) const noexcept {
    return holds(m_, *b.state, state.word);
  }
  /// The first without a token: those in the state's line come first. -1: none.
  int free_slot(bucket_state state) const noexcept {
    std::uint32_t free = ~state.tokens() & shape.all_tokens;
    return free == 0 ? -1 : std::countr_zero(free);
  }

  // tags
  std::uint32_t match(bucket b, std::uint32_t tag) const noexcept {
    return match(b, in_each_byte(tag));
  }
  /// The slots whose tag is the one in each byte of `tag`; and bits without meaning.
  [[gnu::always_inline]] std::uint32_t match(bucket b, bytes16 tag) const noexcept {
    return same_bytes(tags_of(b), tag);
  }

  /// Those that hold a record whose tag has the bits.
  [[gnu::always_inline]] std::uint32_t slots_with(bucket b, bucket_state state,
                                                  tag_bits tags) const noexcept {
    const bytes16 in_mask = in_both(tags_of(b), in_each_byte(std::uint32_t{tags.mask}));
    return state.tokens() & shape.all_tokens &
           same_bytes(in_mask, in_each_byte(std::uint32_t{tags.bits}));
  }

  // one bucket's records
  /// The slot that has the key word, if its token is there.
  [[gnu::always_inline]] found_slot find_in(bucket b, bucket_state state,
                                            const candidates& s) const noexcept {
    return first_with(b, match(b, s.tag) & state.tokens(), s.key_word);
  }

  /// Of these slots.
  [[gnu::always_inline]] found_slot first_with(bucket b, std::uint32_t hits,
                                               std::uint64_t key_word) const noexcept {
    for (; hits != 0; hits &= hits - 1) {
      slot* const at = &slot_of(b, std::countr_zero(hits));
      if (at == nullptr) __builtin_unreachable();  // spares a test where it is used
      if (holds(m_, at->key, key_word)) [[likely]]
        return {at, hits & -hits};
    }
    return {};
  }

  /// Calls visit(resident) for each record in the bucket.
  template <class Visit>
  void for_each_resident(bucket b, Visit&& visit) const {
    for (std::uint32_t tokens = state_of(b).tokens() & shape.all_tokens; tokens != 0;) {
      int index = take_lowest(tokens);
      std::uint64_t key_word = load(m_, slot_of(b, index).key);
      visit(resident{
          {hash_of_slot(key_word), key_word, load(m_, slot_of(b, index).value)}, b, index});
    }
  }

  std::uint64_t key_word_of(bucket b, int index) const noexcept {
    return load(m_, slot_of(b, index).key);
  }
  bool have_one_key(const live_record& a, const live_record& b) const {
    return a.key_word == b.key_word && same_key<Kind>(m_, p_, a, b);
  }
  void prefetch_named(const slot& at) const noexcept { prefetch_record(p_, load(m_, at.value)); }
  std::uint64_t hash_of_slot(std::uint64_t key_word) const noexcept {
    if constexpr (Kind::in_slot) return word_hash(key_word, seeds_);
    else return key_word;
  }
  std::string fault_of(const live_record& r) const {
    return durahash::fault_of<Kind>(m_, p_, seeds_, r, Kind::hash);
  }

  // new items
  /// Returns the slot if it is in another line than the state.
  [[gnu::always_inline]] slot* store_slot(bucket b, int index, std::uint64_t key_word,
                                          std::uint8_t tag, std::uint64_t value_word) const {
    slot& at = slot_of(b, index);
    store(m_, at.key, key_word);
    store(m_, at.value, value_word);
    store(m_, tag_field(b, index), tag);
    return in_one_line(b.state, &at) ? nullptr : &at;
  }

  [[gnu::always_inline]] slot* store_slot(bucket b, int index, const candidates& s,
                                          std::uint64_t value_word) const {
    return store_slot(b, index, s.key_word, static_cast<std::uint8_t>(s.tag), value_word);
  }

  [[gnu::always_inline]] flushed flush_item(const item_lines& lines) const {
    flushed started;
    if (lines.slot_apart != nullptr)
      started += flush_in_line(m_, *lines.slot_apart, "level.write.slot");
    if (lines.above.state != nullptr)
      started += flush(m_, extent_of(*lines.above.state), "level.write.filter");
    return started;
  }

 private:
  /// The slots' tags, with or without a token; and bytes without meaning behind the last slot's.
  [[gnu::always_inline]] bytes16 tags_of(bucket b) const noexcept {
    if constexpr (reads_plainly<M>) {  // in any order: the state, read again, vouches for them
      const bytes16 tags = bytes16_at(b.tags(0).raw());
      read_before_what_follows();
      return tags;
    } else {
      const std::uint64_t first = load(m_, b.tags(0));
      return bytes16_of(first, shape.slots > 8 ? load(m_, b.tags(1)) : 0);
    }
  }

  pool<M>& p_;
  M& m_;
  const hash_seeds seeds_;
};

}  // namespace durahash::level
