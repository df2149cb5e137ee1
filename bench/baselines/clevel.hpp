// Clevel hashing (ATC'20, and its published code): levels of buckets of one line, with eight words
// that name items. A key has two buckets in each level; empty slots of the top are preferred.
//
// Insert   the item, written back; the slot's word, written back.
// Update   a new item, and the slot's word.       Erase    the slot's word.
// Growth   a level of twice the size on top; the items of the last one move up, a bucket after the
//          other: the new word, then the old one, each written back.
//
// The published code moves them in a thread of its own. Here every write moves a bucket's items.
// It writes the word of the context back before each insertion and update, and so does this.
#pragma once

#include <array>
#include <vector>

#include "bench/baselines/items.hpp"

namespace durahash::baselines {

template <class M, unsigned SlotsPerBucket>
class clevel_of {
 public:
  enum hole_index { cursor_apart, read_before_durable };

  explicit clevel_of(surroundings<M>& around)
      : around_(around), m_(around.memory.medium()), items_(around.memory) {}

  static bool takes(std::uint64_t) { return true; }

  bool create(std::uint64_t capacity) {
    const unsigned bits = std::max(
        2u, log2_ceiling((capacity * 2 + 3 * slots_per_bucket - 1) / (3 * slots_per_bucket)));
    const std::uint64_t top = new_level(bits), last = new_level(bits - 1);
    if (top == 0 || last == 0) return false;
    (void)publish(m_, level_at(last).up, top, after_nothing("a new table"), "clevel.create.up");
    return switch_context({last, top, false}, "clevel.create");
  }

  error recover() {
    if (around_.mends(read_before_durable)) around_.memory.settle();
    if (!around_.memory.reach(load(m_, root().context), sizeof(context_words)))
      return unrecoverable("the context lies outside of the memory");
    // One more than the context tells of may be linked already.
    for (std::uint64_t at = load(m_, context().last); at != 0; at = load(m_, level_at(at).up))
      if (!around_.memory.reach(at, sizeof(level)) ||
          !around_.memory.reach(load(m_, level_at(at).buckets),
                                load(m_, level_at(at).capacity) * sizeof(bucket)))
        return unrecoverable("a level lies outside of the memory");
    bool all_lie_inside = true;
    each_slot([&](pm<std::uint64_t>& slot) {
      // An item that moved is named twice.
      if (!items_.reach(item_of(load(m_, slot))) && !is_named_twice(slot)) all_lie_inside = false;
    });
    if (!all_lie_inside) return unrecoverable("a slot names an item outside of the memory");
    // None is published: the thread that moves items goes on where the cursor is.
    if (around_.mends(cursor_apart))
      (void)publish(m_, root().cursor, 0, after_nothing("moved items are not there"),
                    "clevel.recover.cursor");
    return recovered();
  }

  bool find(std::uint64_t key, std::uint64_t& value) {
    pm<std::uint64_t>* slot = nullptr;
    each_slot_of(key, [&](pm<std::uint64_t>& s) { return slot = &s, false; });
    if (slot != nullptr) value = load(m_, items_.at(item_of(load(m_, *slot))).value);
    return slot != nullptr;
  }

  // crash before the slot's word: nothing names the item. After: the record is there.
  bool add(std::uint64_t key, std::uint64_t value) {
    pm<std::uint64_t>* slot = vacancy(key);
    if (slot == nullptr) return false;
    const std::uint64_t item = items_.make(key, value, "clevel.insert.item");
    if (item == 0) return false;
    write_context_back();
    // COMMIT: the record is there
    (void)publish(m_, *slot, word_of(item, key), after_nothing("it is durable"), "clevel.insert");
    move_a_bucket();
    return true;
  }

  status change(std::uint64_t key, std::uint64_t value) {
    pm<std::uint64_t>* slot = the_only_slot_of(key);
    if (slot == nullptr) return status::not_found;
    const std::uint64_t item = items_.make(key, value, "clevel.update.item");
    if (item == 0) return status::no_space;
    write_context_back();
    const std::uint64_t old = item_of(load(m_, *slot));
    // COMMIT: the key has this value
    (void)publish(m_, *slot, word_of(item, key), after_nothing("it is durable"), "clevel.update");
    items_.free(old);
    move_a_bucket();
    return status::ok;
  }

  /// All words that name the item go.
  bool remove(std::uint64_t key) {
    std::uint64_t item = 0;
    each_slot_of(key, [&](pm<std::uint64_t>& slot) {
      item = item_of(load(m_, slot));
      // COMMIT, of the last one: the key is gone
      (void)publish(m_, slot, 0, after_nothing("one word"), "clevel.erase");
      return true;
    });
    if (item != 0) items_.free(item);
    if (item != 0) move_a_bucket();
    return item != 0;
  }

  bool grow(std::uint64_t) { return expand(); }

  template <class Visit>
  void scan(const Visit& visit) {
    each_slot([&](pm<std::uint64_t>& slot) {
      const record& item = items_.at(item_of(load(m_, slot)));
      if (is_first(slot)) visit(load(m_, item.key), load(m_, item.value));
    });
  }
  std::uint64_t slots() const {
    std::uint64_t sum = 0;
    const levels all = all_levels();
    for (unsigned l = 0; l < all.count; ++l)
      sum += load(m_, all.at[l]->capacity) * slots_per_bucket;
    return sum;
  }

 private:
  static constexpr unsigned slots_per_bucket = SlotsPerBucket, max_levels = 16;

  struct root_words {
    pm<std::uint64_t> context;  // offset
    pm<std::uint64_t> cursor;   // bucket of the last level, from which items move next
  };
  struct context_words {
    pm<std::uint64_t> last, first, is_resizing;
  };
  struct bucket {
    pm<std::uint64_t> slots[slots_per_bucket];  // offset, and 16 bits of the hash; 0: empty
  };
  static_assert(line_bytes % sizeof(bucket) == 0);
  struct level {
    pm<std::uint64_t> buckets, capacity, up;
  };
  struct levels {
    std::array<level*, max_levels> at;  // the last one first
    unsigned count = 0;
  };
  struct new_context {
    std::uint64_t last, first;
    bool is_resizing;
  };

  root_words& root() const { return around_.memory.template root<root_words>(); }
  context_words& context() const {
    return *around_.memory.template at<context_words>(load(m_, root().context));
  }
  level& level_at(std::uint64_t at) const { return *around_.memory.template at<level>(at); }
  bucket* buckets_of(const level& l) const {
    return around_.memory.template at<bucket>(load(m_, l.buckets));
  }
  levels all_levels() const {
    levels all;
    for (std::uint64_t at = load(m_, context().last);; at = load(m_, level_at(at).up)) {
      all.at[all.count++] = &level_at(at);
      if (at == load(m_, context().first)) return all;
    }
  }

  std::uint64_t word_of(std::uint64_t item, std::uint64_t key) const {
    return item | around_.hash(key) >> 48 << 48;
  }
  static std::uint64_t item_of(std::uint64_t word) { return word & low_bits(48); }
  bool is_of(std::uint64_t word, std::uint64_t key) const {
    return word != 0 && word >> 48 == around_.hash(key) >> 48 &&
           load(m_, items_.at(item_of(word)).key) == key;
  }
  /// One in each half of a level.
  bucket& home(const level& l, std::uint64_t key, unsigned choice) const {
    const std::uint64_t half = load(m_, l.capacity) / 2;
    return buckets_of(l)[(around_.hash(key, choice) & (half - 1)) + choice * half];
  }

  /// Each that names an item.
  template <class Each>
  void each_slot(const Each& each) const {
    const levels all = all_levels();
    for (unsigned l = 0; l < all.count; ++l)
      for (std::uint64_t b = 0; b < load(m_, all.at[l]->capacity); ++b)
        for (pm<std::uint64_t>& slot : buckets_of(*all.at[l])[b].slots)
          if (load(m_, slot) != 0) each(slot);
  }
  /// From the last level to the first; ends where `each` answers false.
  template <class Each>
  void each_slot_of(std::uint64_t key, const Each& each) const {
    const levels all = all_levels();
    for (unsigned l = 0; l < all.count; ++l)
      for (unsigned choice : {0u, 1u})
        for (pm<std::uint64_t>& slot : home(*all.at[l], key, choice).slots)
          if (is_of(load(m_, slot), key) && !each(slot)) return;
  }
  bool is_first(const pm<std::uint64_t>& slot) const {
    const pm<std::uint64_t>* first = nullptr;
    each_slot_of(load(m_, items_.at(item_of(load(m_, slot))).key),
                 [&](pm<std::uint64_t>& s) { return first = &s, false; });
    return first == &slot;
  }
  /// Whether another slot names the same item.
  bool is_named_twice(const pm<std::uint64_t>& slot) const {
    const std::uint64_t item = item_of(load(m_, slot));
    if (item + sizeof(record) > around_.memory.end()) return false;
    unsigned named = 0;
    each_slot_of(load(m_, items_.at(item).key),
                 [&](pm<std::uint64_t>& s) { return named += item_of(load(m_, s)) == item, true; });
    return named > 1;
  }

  /// As published: a crash or two may have left an item under several words.
  pm<std::uint64_t>* the_only_slot_of(std::uint64_t key) {
    std::vector<pm<std::uint64_t>*> all;
    each_slot_of(key, [&](pm<std::uint64_t>& slot) { return all.push_back(&slot), true; });
    for (std::size_t i = 0; i + 1 < all.size(); ++i)
      (void)publish(m_, *all[i], 0, after_nothing("another word names the item"),
                    "clevel.update.copy");
    return all.empty() ? nullptr : all.back();
  }

  /// The topmost level's, in the less loaded of its two buckets; none in a level that goes.
  pm<std::uint64_t>* vacancy(std::uint64_t key) const {
    const levels all = all_levels();
    const bool resizing = load(m_, context().is_resizing) != 0;
    for (unsigned l = all.count; l-- > (resizing ? 1u : 0u);)
      if (pm<std::uint64_t>* slot = vacancy_in(*all.at[l], key)) return slot;
    return nullptr;
  }
  pm<std::uint64_t>* vacancy_in(const level& l, std::uint64_t key) const {
    bucket &one = home(l, key, 0), &other = home(l, key, 1);
    for (unsigned s = 0; s < slots_per_bucket; ++s) {
      if (load(m_, one.slots[s]) == 0) return &one.slots[s];
      if (load(m_, other.slots[s]) == 0) return &other.slots[s];
    }
    return nullptr;
  }

  // ---- levels

  std::uint64_t new_level(unsigned bits) {
    const std::uint64_t bytes = align_up(sizeof(bucket) << bits, line_bytes),
                        at = around_.memory.allocate(bytes),
                        words = around_.memory.allocate(sizeof(level));
    if (at == 0 || words == 0) {
      if (at != 0) around_.memory.release(at, bytes);
      if (words != 0) around_.memory.release(words, sizeof(level));
      return 0;
    }
    around_.memory.fill(at, bytes, 0);
    level& l = level_at(words);
    store(m_, l.buckets, at);
    store(m_, l.capacity, std::uint64_t{1} << bits);
    store(m_, l.up, 0);
    flushed all = flush(m_, extent{buckets_of(l), bytes}, "clevel.level.buckets");
    all += flush(m_, extent_of(l), "clevel.level.words");
    (void)fence(m_, std::move(all), "clevel.level");
    return words;
  }

  /// One word names the levels in use. Returns false where there is no room.
  bool switch_context(const new_context& to, site where) {
    const std::uint64_t old = load(m_, root().context),
                        made = around_.memory.allocate(sizeof(context_words));
    if (made == 0) return false;
    auto& c = *around_.memory.template at<context_words>(made);
    store(m_, c.last, to.last);
    store(m_, c.first, to.first);
    store(m_, c.is_resizing, to.is_resizing);
    (void)persist(m_, extent_of(c), where);
    // COMMIT: these are the levels
    (void)publish(m_, root().context, made, after_nothing("it is durable"), where);
    if (old != 0) around_.memory.release(old, sizeof(context_words));
    return true;
  }
  void write_context_back() { (void)persist(m_, extent_of(root().context), "clevel.context"); }

  // crash before the context's word: nobody looks into the new level.
  bool expand() {
    const levels all = all_levels();
    level& top = *all.at[all.count - 1];
    if (all.count == max_levels) return false;
    std::uint64_t above = load(m_, top.up);
    if (above == 0) {
      above = new_level(log2_ceiling(load(m_, top.capacity)) + 1);
      if (above == 0) return false;
      (void)publish(m_, top.up, above, after_nothing("it is durable"), "clevel.expand.up");
    }
    return switch_context({load(m_, context().last), above, true}, "clevel.expand");
  }

  /// Of the last level, those that the cursor is at.
  // crash between a new word and the old one: the item is named twice. The old bucket's items move
  //   again.
  // crash between the context's word and the cursor's: buckets of the next level are passed by, and
  //   what they hold goes with them (hole cursor-apart).
  void move_a_bucket() {
    if (load(m_, context().is_resizing) == 0) return;
    levels all = all_levels();
    level& from = *all.at[0];
    const std::uint64_t at = load(m_, root().cursor);
    if (at < load(m_, from.capacity)) {
      for (pm<std::uint64_t>& slot : buckets_of(from)[at].slots)
        if (load(m_, slot) != 0 && !move_up(slot)) return;
      (void)publish(m_, root().cursor, at + 1, after_nothing("they are moved"), "clevel.cursor");
    }
    if (at + 1 < load(m_, from.capacity)) return;
    all = all_levels();
    const new_context without{around_.memory.offset_of(all.at[1]),
                              around_.memory.offset_of(all.at[all.count - 1]), all.count > 3};
    if (!switch_context(without, "clevel.drop")) return;
    (void)publish(m_, root().cursor, 0, after_nothing("as published"), "clevel.drop.cursor");
    around_.memory.release(load(m_, from.buckets), load(m_, from.capacity) * sizeof(bucket));
    around_.memory.release(around_.memory.offset_of(&from), sizeof(level));
  }
  /// Returns false where there is no room for another level.
  bool move_up(pm<std::uint64_t>& slot) {
    const std::uint64_t word = load(m_, slot), key = load(m_, items_.at(item_of(word)).key);
    for (;;) {
      const levels all = all_levels();
      if (pm<std::uint64_t>* to = vacancy_in(*all.at[all.count - 1], key)) {
        (void)publish(m_, *to, word, after_nothing("the item is durable"), "clevel.move.to");
        (void)publish(m_, slot, 0, after_nothing("it is above"), "clevel.move.from");
        ++around_.records_moved;
        return true;
      }
      if (!expand()) return false;
      ++around_.grows;
    }
  }

  surroundings<M>& around_;
  M& m_;
  items<M> items_;
};

/// As published.
template <class M>
class clevel : public clevel_of<M, 8> {
  using clevel_of<M, 8>::clevel_of;
};

/// For the explorer: two slots in a bucket.
template <class M>
class small_clevel : public clevel_of<M, 2> {
  using clevel_of<M, 2>::clevel_of;
};

}  // namespace durahash::baselines
