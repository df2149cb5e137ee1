// Bucketized cuckoo hashing and PFHT: two hash functions, buckets of four slots with a token each.
// Both as Level's evaluation made them persistent (Level §2.2, §3.3, §4.1).
//
// Insert   the item, its token. Where both buckets are full, items move first, the last of the
//          path before the others (Level figure 7): the copy, its token, then the old token.
// Update   in place, behind an undo log.       Erase    the token.
// Growth   a table twice as large is filled and written back; one word of the root names it.
#pragma once

#include <optional>
#include <unordered_set>
#include <vector>

#include "bench/baselines/token_slots.hpp"

namespace durahash::baselines {

/// `max_examined`: items that an insertion considers to move, 500 in Level §4.2.1. `max_path`: how
/// many of them it moves. `stash_percent`: of all slots, in chains behind the buckets.
struct two_choices_form {
  std::size_t max_examined;
  std::size_t max_path;
  unsigned stash_percent;
};

template <class M, two_choices_form Form>
class two_choices {
 public:
  enum hole_index { erase_one_copy, read_before_durable };

  explicit two_choices(surroundings<M>& around)
      : around_(around),
        m_(around.memory.medium()),
        steps_(m_),
        log_(m_, around.memory.template root<root_words>().log) {}

  static bool takes(std::uint64_t) { return true; }

  bool create(std::uint64_t capacity) {
    std::optional<arrays> made = new_arrays(log2_ceiling((capacity + 3) / 4));
    if (!made) return false;
    (void)persist(m_, extent{made->slots, made->bytes()}, "two-choices.create");
    (void)publish(m_, root().table, made->word(around_.memory), after_nothing("a new table"),
                  "two-choices.create.root");
    now_ = std::move(*made);
    return true;
  }

  error recover() {
    if (around_.mends(read_before_durable)) around_.memory.settle();
    std::uint64_t word = load(m_, root().table);
    now_ = arrays(around_.memory, align_down(word, line_bytes), word % line_bytes);
    if (!around_.memory.reach(align_down(word, line_bytes), now_.bytes()))
      return unrecoverable("the table lies outside of the memory");
    find_free_nodes();
    log_.undo([this](std::uint64_t key) { return value_of(key); });
    return recovered();
  }

  bool find(std::uint64_t key, std::uint64_t& value) {
    pm<std::uint64_t>* found = value_of(key);
    if (found != nullptr) value = load(m_, *found);
    return found != nullptr;
  }

  bool add(std::uint64_t key, std::uint64_t value) { return add_to<true>(now_, key, value); }

  status change(std::uint64_t key, std::uint64_t value) {
    std::vector<place> copies = copies_of(key);
    // Level §3.3: of an item that a crash has left twice, one copy is deleted first.
    for (std::size_t i = 1; i < copies.size(); ++i) clear(copies[i], "two-choices.update.copy");
    pm<std::uint64_t>* in_place = value_of(key);
    if (in_place == nullptr) return status::not_found;
    log_.update(*in_place, key, value);
    return status::ok;
  }

  bool remove(std::uint64_t key) {
    std::vector<place> copies = copies_of(key);
    // As published: the slot that the search finds, and no other (Level §3.3).
    if (!around_.mends(erase_one_copy)) copies.resize(std::min<std::size_t>(copies.size(), 1));
    for (std::size_t i = copies.size(); i-- > 0;) clear(copies[i], "two-choices.erase");
    return !copies.empty() || remove_from_stash(key);
  }

  bool grow(std::uint64_t) {
    for (unsigned bits = now_.bits + 1; bits < line_bytes; ++bits) {
      std::optional<arrays> made = new_arrays(bits);
      if (!made) return false;
      std::uint64_t moved = 0;
      bool fits = true;
      scan([&](std::uint64_t key, std::uint64_t value) {
        fits = fits && add_to<false>(*made, key, value);
        ++moved;
      });
      if (!fits) {
        around_.memory.release(around_.memory.offset_of(made->slots), made->bytes());
        continue;
      }
      (void)persist(m_, extent{made->slots, made->bytes()}, "two-choices.grow.table");
      // COMMIT: the larger table is the table
      (void)publish(m_, root().table, made->word(around_.memory),
                    after_nothing("the table is durable"), "two-choices.grow.root");
      around_.memory.release(around_.memory.offset_of(now_.slots), now_.bytes());
      now_ = std::move(*made);
      around_.records_moved += moved;
      return true;
    }
    return false;
  }

  /// Of an item that a crash has left twice, one.
  template <class Visit>
  void scan(const Visit& visit) {
    for (std::uint64_t b = 0; b < now_.buckets(); ++b)
      for (unsigned s = 0; s < slots_per_bucket; ++s) {
        if (!is_set(now_, b, s)) continue;
        token_slot& slot = now_.at({b, s});
        std::uint64_t key = load(m_, slot.key);
        if (value_of(key) == &slot.value) visit(key, load(m_, slot.value));
      }
    for (std::uint64_t c = 0; c < now_.chains; ++c)
      for (std::uint64_t n = load(m_, now_.head(c)); n != 0; n = load(m_, now_.node(n).word))
        visit(load(m_, now_.node(n).key), load(m_, now_.node(n).value));
  }
  std::uint64_t slots() const { return now_.buckets() * slots_per_bucket + now_.nodes; }

 private:
  static constexpr unsigned slots_per_bucket = 4;

  struct root_words {
    pm<std::uint64_t> table;  // offset and, in the six low bits, the logarithm of its buckets
    pm<std::uint64_t> unused[7];
    undo_entry log;
  };
  static_assert(offsetof(root_words, log) == line_bytes);

  struct place {
    std::uint64_t bucket;
    unsigned slot;
  };

  /// One table: buckets, then heads of the stash's chains, then their nodes. Node 0 is none.
  struct arrays {
    arrays() = default;
    arrays(space<M>& memory, std::uint64_t at, unsigned bits_)
        : slots(memory.template at<token_slot>(at)), bits(bits_) {
      if (Form.stash_percent == 0) return;
      nodes = 1 + buckets() * slots_per_bucket * Form.stash_percent / 100;
      chains = 1 + nodes / 4;
    }
    std::uint64_t buckets() const { return std::uint64_t{1} << bits; }
    std::uint64_t bytes() const {
      return (buckets() * slots_per_bucket + nodes) * sizeof(token_slot) +
             align_up(chains * 8, line_bytes);
    }
    std::uint64_t word(const space<M>& memory) const { return memory.offset_of(slots) | bits; }
    token_slot& at(place p) const { return slots[p.bucket * slots_per_bucket + p.slot]; }
    pm<std::uint64_t>& tokens(std::uint64_t bucket) const { return at({bucket, 0}).word; }
    pm<std::uint64_t>& head(std::uint64_t chain) const {
      return reinterpret_cast<pm<std::uint64_t>*>(slots + buckets() * slots_per_bucket)[chain];
    }
    token_slot& node(std::uint64_t n) const {
      const std::uint64_t heads = align_up(chains * 8, line_bytes) / sizeof(token_slot);
      return slots[buckets() * slots_per_bucket + heads + n - 1];
    }

    token_slot* slots = nullptr;
    unsigned bits = 0;
    std::uint64_t nodes = 0, chains = 0;
    std::vector<std::uint64_t> free_nodes = {};
  };

  root_words& root() const { return around_.memory.template root<root_words>(); }

  std::optional<arrays> new_arrays(unsigned bits) {
    std::uint64_t bytes = arrays(around_.memory, 0, bits).bytes();
    std::uint64_t at = around_.memory.allocate(bytes);
    if (at == 0) return std::nullopt;
    around_.memory.fill(at, bytes, 0);
    arrays made(around_.memory, at, bits);
    for (std::uint64_t n = made.nodes; n > 0; --n) made.free_nodes.push_back(n);
    return made;
  }

  std::uint64_t home(const arrays& in, std::uint64_t key, unsigned choice) const {
    return around_.hash(key, choice) & (in.buckets() - 1);
  }
  bool is_set(const arrays& in, std::uint64_t bucket, unsigned slot) const {
    return (load(m_, in.tokens(bucket)) >> slot & 1) != 0;
  }
  std::optional<unsigned> empty_slot(const arrays& in, std::uint64_t bucket) const {
    auto slot = static_cast<unsigned>(std::countr_one(load(m_, in.tokens(bucket))));
    return slot < slots_per_bucket ? std::optional(slot) : std::nullopt;
  }

  /// In the buckets, in the order of a search: two of an item that a crash has left twice.
  std::vector<place> copies_of(std::uint64_t key) const {
    std::vector<place> found;
    std::vector<std::uint64_t> buckets{home(now_, key, 0)};
    if (home(now_, key, 1) != buckets.front()) buckets.push_back(home(now_, key, 1));
    for (std::uint64_t bucket : buckets)
      for (unsigned s = 0; s < slots_per_bucket; ++s)
        if (is_set(now_, bucket, s) && load(m_, now_.at({bucket, s}).key) == key)
          found.push_back({bucket, s});
    return found;
  }

  pm<std::uint64_t>* value_of(std::uint64_t key) const {
    for (unsigned choice : {0u, 1u}) {
      std::uint64_t bucket = home(now_, key, choice);
      for (unsigned s = 0; s < slots_per_bucket; ++s)
        if (is_set(now_, bucket, s) && load(m_, now_.at({bucket, s}).key) == key)
          return &now_.at({bucket, s}).value;
    }
    pm<std::uint64_t>* link = link_to(key);
    return link == nullptr ? nullptr : &now_.node(load(m_, *link)).value;
  }

  void clear(place p, site where) {
    pm<std::uint64_t>& tokens = now_.tokens(p.bucket);
    steps_.set_tokens(tokens, load(m_, tokens) & ~(std::uint64_t{1} << p.slot), where);
  }

  // ---- insertion. `Durable` is false of a table that nothing refers to yet.

  template <bool Durable>
  bool add_to(arrays& in, std::uint64_t key, std::uint64_t value) {
    std::uint64_t first = home(in, key, 0), second = home(in, key, 1);
    if (count(in, second) < count(in, first)) std::swap(first, second);
    if (std::optional<unsigned> slot = empty_slot(in, first))
      return fill<Durable>(in, {first, *slot}, key, value);
    if (std::optional<place> freed = move_away<Durable>(in, first, second))
      return fill<Durable>(in, *freed, key, value);
    return add_to_stash<Durable>(in, key, value);
  }
  int count(const arrays& in, std::uint64_t bucket) const {
    return std::popcount(load(m_, in.tokens(bucket)));
  }

  // crash before the token's store: the slot is free as before. After: the item is there.
  template <bool Durable>
  bool fill(arrays& in, place p, std::uint64_t key, std::uint64_t value) {
    pm<std::uint64_t>& tokens = in.tokens(p.bucket);
    std::uint64_t with = load(m_, tokens) | std::uint64_t{1} << p.slot;
    if constexpr (Durable) {
      steps_.write_item(in.at(p), key, value, "two-choices.insert.item");
      steps_.set_tokens(tokens, with, "two-choices.insert");
    } else {
      steps_.store_item(in.at(p), key, value);
      store(m_, tokens, with);
    }
    return true;
  }

  /// Frees a slot of one of two full buckets. Searches first, breadth first; what it finds moves
  /// from the path's end on.
  // crash after a copy's token, before the old token goes: the item is there twice.
  template <bool Durable>
  std::optional<place> move_away(arrays& in, std::uint64_t first, std::uint64_t second) {
    struct step {
      place from;
      std::size_t before;  // index of the step whose item takes this place, own index: none
      std::size_t length;
    };
    std::vector<step> steps;
    std::unordered_set<std::uint64_t> seen;
    auto open = [&](std::uint64_t bucket, std::size_t before, std::size_t length) {
      if (length > Form.max_path || !seen.insert(bucket).second) return;
      for (unsigned s = 0; s < slots_per_bucket && steps.size() < Form.max_examined; ++s)
        steps.push_back({{bucket, s}, before == ~std::size_t{0} ? steps.size() : before, length});
    };
    open(first, ~std::size_t{0}, 1);
    open(second, ~std::size_t{0}, 1);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      std::uint64_t to = other_home(in, steps[i].from);
      std::optional<unsigned> slot = empty_slot(in, to);
      if (!slot) {
        open(to, i, steps[i].length + 1);
        continue;
      }
      place target{to, *slot};
      for (std::size_t at = i;; at = steps[at].before) {
        move<Durable>(in, steps[at].from, target);
        target = steps[at].from;
        if (steps[at].before == at) return target;
      }
    }
    return std::nullopt;
  }
  std::uint64_t other_home(const arrays& in, place p) const {
    std::uint64_t key = load(m_, in.at(p).key), first = home(in, key, 0);
    return first == p.bucket ? home(in, key, 1) : first;
  }
  template <bool Durable>
  void move(arrays& in, place from, place to) {
    token_slot& item = in.at(from);
    fill<Durable>(in, to, load(m_, item.key), load(m_, item.value));
    pm<std::uint64_t>& tokens = in.tokens(from.bucket);
    std::uint64_t without = load(m_, tokens) & ~(std::uint64_t{1} << from.slot);
    if constexpr (Durable) {
      steps_.set_tokens(tokens, without, "two-choices.move");
      ++around_.displacements;
    } else {
      store(m_, tokens, without);
    }
  }

  // ---- the stash: chains of nodes

  std::uint64_t chain_of(const arrays& in, std::uint64_t key) const {
    return (around_.hash(key, 0) >> 32) % in.chains;
  }
  /// The word that names the key's node, or null.
  pm<std::uint64_t>* link_to(std::uint64_t key) const {
    if (now_.chains == 0) return nullptr;
    pm<std::uint64_t>* link = &now_.head(chain_of(now_, key));
    for (std::uint64_t n; (n = load(m_, *link)) != 0; link = &now_.node(n).word)
      if (load(m_, now_.node(n).key) == key) return link;
    return nullptr;
  }

  // crash before the head's store: the node is free. After: the item is there.
  template <bool Durable>
  bool add_to_stash(arrays& in, std::uint64_t key, std::uint64_t value) {
    if (in.free_nodes.empty()) return false;
    std::uint64_t n = in.free_nodes.back();
    in.free_nodes.pop_back();
    pm<std::uint64_t>& head = in.head(chain_of(in, key));
    store(m_, in.node(n).word, load(m_, head));
    steps_.store_item(in.node(n), key, value);
    if constexpr (Durable) {
      (void)persist(m_, extent{&in.node(n), 24}, "two-choices.stash.node");
      steps_.set_tokens(head, n, "two-choices.stash.insert");
    } else {
      store(m_, head, n);
    }
    return true;
  }
  bool remove_from_stash(std::uint64_t key) {
    pm<std::uint64_t>* link = link_to(key);
    if (link == nullptr) return false;
    std::uint64_t n = load(m_, *link);
    steps_.set_tokens(*link, load(m_, now_.node(n).word), "two-choices.stash.erase");
    now_.free_nodes.push_back(n);
    return true;
  }
  void find_free_nodes() {
    std::vector<bool> used(now_.nodes + 1);
    for (std::uint64_t c = 0; c < now_.chains; ++c)
      for (std::uint64_t n = load(m_, now_.head(c)); n != 0 && n <= now_.nodes && !used[n];
           n = load(m_, now_.node(n).word))
        used[n] = true;
    for (std::uint64_t n = now_.nodes; n > 0; --n)
      if (!used[n]) now_.free_nodes.push_back(n);
  }

  surroundings<M>& around_;
  M& m_;
  token_steps<M> steps_;
  undo_log<M> log_;
  arrays now_;
};

/// BCH of Level's evaluation: four slots, 500 evictions.
template <class M>
class bucketized_cuckoo : public two_choices<M, two_choices_form{500, 500, 0}> {
  using two_choices<M, two_choices_form{500, 500, 0}>::two_choices;
};

/// PFHT of Level's evaluation: one item moves at most; a stash of 3 % in chains.
template <class M>
class pfht : public two_choices<M, two_choices_form{8, 1, 3}> {
  using two_choices<M, two_choices_form{8, 1, 3}>::two_choices;
};

}  // namespace durahash::baselines
