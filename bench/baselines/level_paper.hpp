// Level hashing as its paper has it (OSDI'18 §3, with what its published code tells): two levels of
// buckets of four slots with a token each. The engine `level` has tags, filters, versions and
// another order of movements, and holes of this design closed.
//
// Insert   into the less full of two buckets above; else a record of theirs moves; else the same
//          below; else a record from below moves up. Item and token, in one line or in two.
// Update   into an empty slot of the same bucket, both tokens in one word; else behind an undo log.
// Erase    the token.
// Growth   a level on top; the items of the bottom are inserted there and deleted one by one;
//          nothing else runs meanwhile. Then the words of the root change one by one.
#pragma once

#include <optional>
#include <vector>

#include "bench/baselines/token_slots.hpp"

namespace durahash::baselines {

/// The paper's decisions D1 to D4 (figure 2).
struct level_decisions {
  unsigned slots = 4;
  bool two_places = true, two_levels = true, moves = true;
};

template <class M, level_decisions D>
class level_paper {
 public:
  enum hole_index { erase_one_copy, root_in_words, read_before_durable };

  explicit level_paper(surroundings<M>& around)
      : around_(around),
        m_(around.memory.medium()),
        steps_(m_),
        log_(m_, around.memory.template root<root_words>().log) {}

  static bool takes(std::uint64_t) { return true; }

  bool create(std::uint64_t capacity) {
    const std::uint64_t bottoms = (capacity + 3 * D.slots - 1) / (3 * D.slots);
    const unsigned bits = std::max(2u, 1 + log2_ceiling(bottoms));
    const std::uint64_t top = new_level(bits), bottom = D.two_levels ? new_level(bits - 1) : top;
    if (top == 0 || bottom == 0) return false;
    set_levels({top, bottom, bits}, "level-paper.create");
    return true;
  }

  error recover() {
    if (around_.mends(read_before_durable)) around_.memory.settle();
    const levels now = levels_now();
    if (now.bits == 0 || now.bits > 40 || !around_.memory.reach(now.top, bytes_of(now.bits)) ||
        (D.two_levels && !around_.memory.reach(now.bottom, bytes_of(now.bits - 1))))
      return unrecoverable("a level lies outside of the memory");
    log_.undo([this](std::uint64_t key) {
      const std::vector<place> found = copies_of(key);
      return found.empty() ? nullptr : &slot(found.front()).value;
    });
    if (load(m_, root().is_resizing) == 0) return recovered();
    if (load(m_, root().interim) == 0 ||
        !around_.memory.reach(load(m_, root().interim), bytes_of(now.bits + 1)))
      return set(root().is_resizing, 0, "level-paper.recover.state"), recovered();
    drop_first_if_twice();
    rehash();
    return recovered();
  }

  bool find(std::uint64_t key, std::uint64_t& value) {
    const std::vector<place> found = copies_of(key, 1);
    if (!found.empty()) value = load(m_, slot(found.front()).value);
    return !found.empty();
  }

  bool add(std::uint64_t key, std::uint64_t value) {
    std::optional<place> free = room_for(key, levels_now());
    return free && fill(*free, key, value, "level-paper.insert");
  }

  // crash in 1: the old item's token stands. After: the new one's.
  status change(std::uint64_t key, std::uint64_t value) {
    std::vector<place> found = copies_of(key);
    if (found.empty()) return status::not_found;
    // §3.3: of an item that a crash has left twice, one is deleted first.
    for (; found.size() > 1; found.pop_back()) clear(found.back(), "level-paper.update.copy");
    const place old = found.front();
    if (std::optional<place> beside = empty_in(old.at)) {
      store_item(*beside, key, value, "level-paper.update.item");
      const std::uint64_t tokens = load(m_, tokens_of(old.at));
      // COMMIT: the new item in place of the old one, two tokens in one word
      steps_.set_tokens(tokens_of(old.at), (tokens & ~bit(old)) | bit(*beside),
                        "level-paper.update");  // 1
      return status::ok;
    }
    log_.update(slot(old).value, key, value);
    return status::ok;
  }

  bool remove(std::uint64_t key) {
    std::vector<place> found = copies_of(key);
    if (!around_.mends(erase_one_copy)) found.resize(std::min<std::size_t>(found.size(), 1));
    for (std::size_t i = found.size(); i-- > 0;) clear(found[i], "level-paper.erase");
    return !found.empty();
  }

  // crash before the interim's word: nothing has begun.
  // crash in the rehash: recovery goes on; the first item may be there twice.
  bool grow(std::uint64_t) {
    const levels now = levels_now();
    if (!D.two_levels || !all_fit_above(now)) return false;
    const std::uint64_t above = new_level(now.bits + 1);
    if (above == 0) return false;
    set(root().is_resizing, 1, "level-paper.expand.state");
    set(root().interim, above, "level-paper.expand.interim");
    rehash();
    return true;
  }

  /// Of an item that a crash has left twice, one.
  template <class Visit>
  void scan(const Visit& visit) {
    each_level(levels_now(), [&](std::uint64_t level, unsigned bits) {
      for (std::uint64_t b = 0; b < std::uint64_t{1} << bits; ++b)
        for (unsigned s = 0; s < D.slots; ++s) {
          const place p{bucket(level, b), s};
          if (!is_set(p)) continue;
          const std::uint64_t key = load(m_, slot(p).key);
          if (const auto found = copies_of(key); !found.empty() && found.front() == p)
            visit(key, load(m_, slot(p).value));
        }
    });
  }
  std::uint64_t slots() const {
    const std::uint64_t top = D.slots * (std::uint64_t{1} << levels_now().bits);
    return D.two_levels ? top + top / 2 : top;
  }

 private:
  struct levels {
    std::uint64_t top, bottom;
    unsigned bits;  // logarithm of the top's buckets
  };
  struct bank {
    pm<std::uint64_t> top, bottom, bits;
  };
  struct root_words {
    bank banks[2];  // one, but for the mended table
    pm<std::uint64_t> which;
    pm<std::uint64_t> unused;
    undo_entry log;
    pm<std::uint64_t> interim, is_resizing;
  };
  static_assert(offsetof(root_words, log) == line_bytes);
  struct place {
    std::uint64_t at;  // offset of the bucket
    unsigned slot;
    bool operator==(const place&) const = default;
  };

  root_words& root() const { return around_.memory.template root<root_words>(); }
  levels levels_now() const {
    const bank& b = root().banks[load(m_, root().which) & 1];
    return {load(m_, b.top), load(m_, b.bottom), static_cast<unsigned>(load(m_, b.bits))};
  }
  void set(pm<std::uint64_t>& word, std::uint64_t value, site where) {
    (void)publish(m_, word, value, after_nothing("one word after another"), where);
  }
  /// As published: in place, one word after the other. Mended: the other bank, and then which.
  void set_levels(const levels& to, site where) {
    const bool mended = around_.mends(root_in_words);
    const std::uint64_t other = 1 - (load(m_, root().which) & 1);
    bank& b = root().banks[mended ? other : 0];
    store(m_, b.bits, to.bits);
    store(m_, b.bottom, to.bottom);
    store(m_, b.top, to.top);
    (void)persist(m_, extent_of(b), where);
    if (mended) set(root().which, other, "level-paper.which");
  }

  static constexpr std::uint64_t bucket_bytes = sizeof(token_slot) * std::max(D.slots, 4u);
  static std::uint64_t bytes_of(unsigned bits) { return bucket_bytes << bits; }
  static std::uint64_t bucket(std::uint64_t level, std::uint64_t number) {
    return level + number * bucket_bytes;
  }
  token_slot& slot(place p) const { return around_.memory.template at<token_slot>(p.at)[p.slot]; }
  pm<std::uint64_t>& tokens_of(std::uint64_t bucket) const { return slot({bucket, 0}).word; }
  static std::uint64_t bit(place p) { return std::uint64_t{1} << p.slot; }
  bool is_set(place p) const { return (load(m_, tokens_of(p.at)) & bit(p)) != 0; }
  unsigned count(std::uint64_t bucket) const {
    return static_cast<unsigned>(std::popcount(load(m_, tokens_of(bucket))));
  }
  std::optional<place> empty_in(std::uint64_t bucket) const {
    const auto s = static_cast<unsigned>(std::countr_one(load(m_, tokens_of(bucket))));
    return s < D.slots ? std::optional(place{bucket, s}) : std::nullopt;
  }

  template <class Each>
  void each_level(const levels& now, const Each& each) const {
    each(now.top, now.bits);
    if (D.two_levels) each(now.bottom, now.bits - 1);
  }
  std::uint64_t home(std::uint64_t level, unsigned bits, std::uint64_t key, unsigned choice) const {
    // The bottom's buckets are shared: hash % N and hash % (N / 2), as §3.1 has it.
    return bucket(level, around_.hash(key, D.two_places ? choice : 0) & low_bits(bits));
  }
  /// In the order of a search: two of an item that a crash has left twice. Who wants one looks no
  /// further.
  std::vector<place> copies_of(std::uint64_t key, std::size_t wanted = 2) const {
    std::vector<place> found;
    each_level(levels_now(), [&](std::uint64_t level, unsigned bits) {
      copies_in(level, bits, key, wanted, found);
    });
    return found;
  }
  void copies_in(std::uint64_t level, unsigned bits, std::uint64_t key, std::size_t wanted,
                 std::vector<place>& found) const {
    const std::uint64_t first = home(level, bits, key, 0), second = home(level, bits, key, 1);
    for (std::uint64_t at : {first, second}) {
      for (unsigned s = 0; s < D.slots && found.size() < wanted; ++s)
        if (is_set({at, s}) && load(m_, slot({at, s}).key) == key) found.push_back({at, s});
      if (first == second) return;
    }
  }

  // ---- insertion

  std::optional<place> room_for(std::uint64_t key, const levels& now) {
    std::optional<place> free;
    each_level(now, [&](std::uint64_t level, unsigned bits) {
      if (!free) free = room_in(level, bits, key);
      if (!free && D.moves) free = make_way(level, bits, key);
    });
    if (!free && D.moves && D.two_levels && around_.grows != 0) free = move_up(now, key);
    return free;
  }
  /// In the less full of two buckets.
  std::optional<place> room_in(std::uint64_t level, unsigned bits, std::uint64_t key) const {
    const std::uint64_t first = home(level, bits, key, 0), second = home(level, bits, key, 1);
    return empty_in(count(second) < count(first) ? second : first);
  }
  /// A record of either bucket goes to its other one in this level.
  std::optional<place> make_way(std::uint64_t level, unsigned bits, std::uint64_t key) {
    for (unsigned choice : {0u, 1u})
      for (unsigned s = 0; s < D.slots; ++s) {
        const place from{home(level, bits, key, choice), s};
        const std::uint64_t present = load(m_, slot(from).key);
        const std::uint64_t first = home(level, bits, present, 0);
        const std::uint64_t other = first == from.at ? home(level, bits, present, 1) : first;
        if (std::optional<place> to = empty_in(other)) return move(from, *to);
      }
    return std::nullopt;
  }
  /// A record of either bucket below goes up.
  std::optional<place> move_up(const levels& now, std::uint64_t key) {
    for (unsigned choice : {0u, 1u})
      for (unsigned s = 0; s < D.slots; ++s) {
        const place from{home(now.bottom, now.bits - 1, key, choice), s};
        if (std::optional<place> to = room_in(now.top, now.bits, load(m_, slot(from).key)))
          return move(from, *to);
      }
    return std::nullopt;
  }
  // crash after the copy's token, before the old one goes: the item is there twice.
  place move(place from, place to) {
    fill(to, load(m_, slot(from).key), load(m_, slot(from).value), "level-paper.move");
    clear(from, "level-paper.move.from");
    ++around_.displacements;
    return from;
  }

  void store_item(place p, std::uint64_t key, std::uint64_t value, site where) {
    if (shares_line(p)) steps_.store_item(slot(p), key, value);
    else steps_.write_item(slot(p), key, value, where);
  }
  /// A line becomes durable as a prefix of its stores: item before token.
  static bool shares_line(place p) { return (p.slot + 1) * sizeof(token_slot) <= line_bytes; }
  // crash before the token's store: the slot is free as before. After: the item is there.
  bool fill(place p, std::uint64_t key, std::uint64_t value, site where) {
    store_item(p, key, value, "level-paper.item");
    steps_.set_tokens(tokens_of(p.at), load(m_, tokens_of(p.at)) | bit(p), where);
    return true;
  }
  void clear(place p, site where) {
    steps_.set_tokens(tokens_of(p.at), load(m_, tokens_of(p.at)) & ~bit(p), where);
  }

  // ---- growth

  std::uint64_t new_level(unsigned bits) {
    const std::uint64_t made = around_.memory.allocate(bytes_of(bits));
    if (made == 0) return 0;
    around_.memory.fill(made, bytes_of(bits), 0);
    (void)persist(m_, extent{around_.memory.template at<token_slot>(made), bytes_of(bits)},
                  "level-paper.level");
    return made;
  }
  template <class Each>
  void each_item_below(const levels& now, const Each& each) const {
    for (std::uint64_t b = 0; b < std::uint64_t{1} << (now.bits - 1); ++b)
      for (unsigned s = 0; s < D.slots; ++s)
        if (const place p{bucket(now.bottom, b), s}; is_set(p) && !each(p)) return;
  }
  /// §3.2: "rehashing never fails". The published program ends where it does; here the table is
  /// full.
  bool all_fit_above(const levels& now) const {
    std::vector<unsigned char> used(std::uint64_t{1} << (now.bits + 1));
    bool fit = true;
    each_item_below(now, [&](place p) {
      const std::uint64_t key = load(m_, slot(p).key);
      unsigned char& first = used[around_.hash(key, 0) & low_bits(now.bits + 1)];
      unsigned char& second = used[around_.hash(key, 1) & low_bits(now.bits + 1)];
      unsigned char& less = second < first ? second : first;
      return fit = less++ < D.slots;
    });
    return fit;
  }
  void rehash() {
    const levels now = levels_now();
    const std::uint64_t above = load(m_, root().interim);
    each_item_below(now, [&](place p) {
      const std::uint64_t key = load(m_, slot(p).key);
      std::optional<place> to = room_in(above, now.bits + 1, key);
      check(to.has_value(), "an item of the bottom finds room above");
      fill(*to, key, load(m_, slot(p).value), "level-paper.rehash");
      clear(p, "level-paper.rehash.from");
      ++around_.records_moved;
      return true;
    });
    // COMMIT, of the last word: two levels again
    set_levels({above, now.top, now.bits + 1}, "level-paper.swap");
    set(root().interim, 0, "level-paper.swap.interim");
    set(root().is_resizing, 0, "level-paper.swap.state");
    around_.memory.release(now.bottom, bytes_of(now.bits - 1));
  }
  /// §3.3: of the interim level's items only the first can be there twice.
  void drop_first_if_twice() {
    const levels now = levels_now();
    each_item_below(now, [&](place p) {
      std::vector<place> above;
      copies_in(load(m_, root().interim), now.bits + 1, load(m_, slot(p).key), 2, above);
      if (!above.empty()) clear(p, "level-paper.recover.twice");
      return false;
    });
  }

  surroundings<M>& around_;
  M& m_;
  token_steps<M> steps_;
  undo_log<M> log_;
};

template <class M>
class level_hashing : public level_paper<M, level_decisions{}> {
  using level_paper<M, level_decisions{}>::level_paper;
};

}  // namespace durahash::baselines
