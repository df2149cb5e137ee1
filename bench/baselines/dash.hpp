// Dash-EH (VLDB'20, and its published code): extendible hashing by most significant bits. A segment
// has buckets of four lines, with fingerprints in front, and two buckets of a stash.
//
// Insert   into the less full of two neighbours; else a record of theirs makes room; else into the
//          stash. The record, written back; then the line with fingerprint and bitmap.
// Update   the value's word.       Erase    the bitmap's word.
// Growth   a segment's records move to a new one. Entries and depth change in a transaction, which
//          is an undo log here, as PMDK's is.
#pragma once

#include <algorithm>
#include <bit>
#include <set>
#include <vector>

#include "bench/baselines/dash_bucket.hpp"
#include "bench/baselines/directory.hpp"
#include "bench/baselines/transaction.hpp"

namespace durahash::baselines {

struct dash_form {
  unsigned bucket_bits;  // logarithm of the buckets of a segment
  unsigned stash;        // buckets
  unsigned slots;        // of a bucket
};

template <class M, dash_form Form>
class dash {
 public:
  enum hole_index {
    split_not_finished,
    displaced_slot_overwritten,
    copy_comes_back,
    read_before_durable
  };

  explicit dash(surroundings<M>& around)
      : around_(around), m_(around.memory.medium()), directory_(around.memory) {}

  static bool takes(std::uint64_t) { return true; }

  bool create(std::uint64_t capacity) {
    unsigned depth = log2_ceiling((capacity + slots_per_segment - 1) / slots_per_segment);
    const std::uint64_t made = directory_.make(depth);
    if (made == 0) return false;
    for (std::uint64_t x = 0; x < std::uint64_t{1} << depth; ++x) {
      std::uint64_t segment_at = new_segment(depth);
      if (segment_at == 0) return false;
      store(m_, at(segment_at).state, normal);
      (void)persist(m_, extent_of(at(segment_at)), "dash.create.segment");
      store(m_, directory_.at(made).entries[x], segment_at);
    }
    (void)persist(m_, directory_.whole(made, depth), "dash.create");
    (void)publish(m_, directory_.name(), made, after_nothing("it is durable"), "dash.create.root");
    segments_ = std::uint64_t{1} << depth;
    return true;
  }

  error recover() {
    if (around_.mends(read_before_durable)) around_.memory.settle();
    if (!undo(around_.memory, root().log)) return unrecoverable("the log lies outside");
    if (!directory_.reach()) return unrecoverable("the directory lies outside of the memory");
    std::vector<std::uint64_t> segments;
    directory_.for_each_named([&](std::uint64_t s) { segments.push_back(s); });
    for (std::uint64_t s : segments)
      if (!around_.memory.reach(s, sizeof(segment)))
        return unrecoverable("the directory names a segment outside of the memory");
    segments_ = segments.size();
    for (std::uint64_t s : segments) recover_metadata(at(s));
    for (std::uint64_t s : segments) recover_split(at(s));
    return recovered();
  }

  bool find(std::uint64_t key, std::uint64_t& value) {
    record* r = search(key).slot;
    if (r != nullptr) value = load(m_, r->value);
    return r != nullptr;
  }

  bool add(std::uint64_t key, std::uint64_t value) {
    return add_to<true>(segment_of(key), key, value);
  }

  status change(std::uint64_t key, std::uint64_t value) {
    record* r = search(key).slot;
    if (r == nullptr) return status::not_found;
    // COMMIT: the key has this value
    (void)publish(m_, r->value, value, after_nothing("one word"), "dash.update");
    return status::ok;
  }

  bool remove(std::uint64_t key) {
    place p = search(key);
    if (p.slot == nullptr) return false;
    // COMMIT: the key is gone
    (void)publish(m_, p.in->slots_word, p.in->without(m_, p.index), after_nothing("one word"),
                  "dash.erase");
    segment& s = segment_of(key);
    if (p.in >= s.buckets + homes) recount_stash(s);  // not written back: made anew at recovery
    return true;
  }

  // crash before 3: the directory names the old segment alone; the new one is unreachable, hence
  //   free. As published, the old segment has lost what moved (hole split-not-finished).
  // crash after 3: both halves are named.
  bool grow(std::uint64_t key) {
    segment& old = segment_of(key);
    const auto d = static_cast<unsigned>(load(m_, old.depth));
    const bool doubles = d == directory_.depth();
    transaction<M> changes(around_.memory, root().log);
    std::uint64_t made = new_segment(d + 1), wider = doubles ? directory_.make(d + 1) : 0;
    if (made == 0 || (doubles && wider == 0) ||
        !changes.reserve(1 + (doubles ? 1 : directory_.count() >> (d + 1)))) {
      if (made != 0) around_.memory.release(made, sizeof(segment));
      if (wider != 0) directory_.release(wider, d + 1);
      return false;
    }
    (void)publish(m_, old.state, splitting, after_nothing("as published"), "dash.split.begin");
    (void)persist(m_, extent_of(at(made)), "dash.split.new");
    (void)publish(m_, old.next, made, after_nothing("it is durable"), "dash.split.next");  // 1
    if (!around_.mends(split_not_finished))  // as published: recovery looks for `is_new`
      (void)publish(m_, at(made).state, splitting, after_nothing("as published"),
                    "dash.split.state");
    move(old, at(made), d);                       // 2
    name_halves(changes, key, old, made, wider);  // 3
    (void)publish(m_, at(made).state, normal, after_nothing("named"), "dash.split.new-normal");
    (void)publish(m_, old.state, normal, after_nothing("named"), "dash.split.normal");
    ++segments_;
    return true;
  }

  template <class Visit>
  void scan(const Visit& visit) {
    directory_.for_each_named([&](std::uint64_t s) {
      for_each(at(s),
               [&](bucket&, unsigned, record& r) { visit(load(m_, r.key), load(m_, r.value)); });
    });
  }
  std::uint64_t slots() const { return segments_ * slots_per_segment; }

 private:
  using bucket = dash_bucket<Form.slots>;
  static constexpr unsigned homes = 1u << Form.bucket_bits;
  static constexpr std::uint64_t slots_per_segment = (homes + Form.stash) * Form.slots;
  enum state : std::uint64_t { normal, splitting, is_new };

  struct root_words {
    pm<std::uint64_t> directory, log;
  };
  struct segment {
    bucket buckets[homes + Form.stash];
    pm<std::uint64_t> depth, next, state;
    pm<std::uint64_t> unused[5];
  };
  struct place {
    bucket* in = nullptr;
    unsigned index = 0;
    record* slot = nullptr;
  };

  root_words& root() const { return around_.memory.template root<root_words>(); }
  segment& at(std::uint64_t offset) const { return *around_.memory.template at<segment>(offset); }
  segment& segment_of(std::uint64_t key) const {
    return at(load(m_, directory_.entry(prefix(around_.hash(key), directory_.depth()))));
  }
  static std::uint8_t fingerprint(std::uint64_t hash) { return static_cast<std::uint8_t>(hash); }
  static unsigned home(std::uint64_t hash) { return (hash >> 8) & (homes - 1); }
  static unsigned beside(unsigned bucket, int by) {
    return (bucket + static_cast<unsigned>(by)) & (homes - 1);
  }

  std::uint64_t new_segment(unsigned depth) {
    std::uint64_t made = around_.memory.allocate(sizeof(segment));
    if (made == 0) return 0;
    around_.memory.fill(made, sizeof(segment), 0);
    store(m_, at(made).depth, depth);
    store(m_, at(made).state, is_new);
    return made;
  }

  template <class Each>
  void for_each(segment& s, const Each& each) const {
    for (bucket& b : s.buckets)
      for (unsigned i = 0; i < Form.slots; ++i)
        if (b.is_used(m_, i)) each(b, i, b.slots[i]);
  }

  // ---- search: the home's own, the neighbour's members, the stash if a bucket tells of it

  place look(bucket& b, std::uint64_t key, std::uint8_t print, bool member) const {
    for (unsigned i = 0; i < Form.slots; ++i)
      if (b.is_used(m_, i) && b.is_member(m_, i) == member && b.print(m_, i) == print &&
          load(m_, b.slots[i].key) == key)
        return {&b, i, &b.slots[i]};
    return {};
  }
  place search(std::uint64_t key) const {
    const std::uint64_t hash = around_.hash(key);
    segment& s = segment_of(key);
    bucket &first = s.buckets[home(hash)], &second = s.buckets[beside(home(hash), 1)];
    if (place p = look(first, key, fingerprint(hash), false); p.slot != nullptr) return p;
    if (place p = look(second, key, fingerprint(hash), true); p.slot != nullptr) return p;
    for (unsigned i = 0; i < Form.stash; ++i) {
      const unsigned which = (home(hash) + i) % Form.stash;
      if (!tells_of_stash(first, second, fingerprint(hash), which)) continue;
      if (place p = look(s.buckets[homes + which], key, fingerprint(hash), false);
          p.slot != nullptr)
        return p;
    }
    return {};
  }
  bool tells_of_stash(bucket& first, bucket& second, std::uint8_t print, unsigned which) const {
    return first.overflows(m_) || first.overflow_has(m_, print, which, false) ||
           second.overflow_has(m_, print, which, true);
  }
  void tell_of_stash(segment& s, std::uint64_t hash, unsigned which) {
    bucket &first = s.buckets[home(hash)], &second = s.buckets[beside(home(hash), 1)];
    if (first.note_overflow(m_, fingerprint(hash), which, false)) return;
    if (!second.note_overflow(m_, fingerprint(hash), which, true)) first.count_overflow(m_);
  }
  void recount_stash(segment& s) {
    for (unsigned b = 0; b < homes; ++b) s.buckets[b].forget_overflow(m_);
    for (unsigned b = 0; b < Form.stash; ++b)
      for (unsigned i = 0; i < Form.slots; ++i)
        if (bucket& stash = s.buckets[homes + b]; stash.is_used(m_, i))
          tell_of_stash(s, around_.hash(load(m_, stash.slots[i].key)), b);
  }

  // ---- insertion. `Durable` is false of a segment that nothing refers to yet.

  template <bool Durable>
  bool add_to(segment& s, std::uint64_t key, std::uint64_t value) {
    const std::uint64_t hash = around_.hash(key);
    const unsigned h = home(hash);
    bucket &first = s.buckets[h], &second = s.buckets[beside(h, 1)];
    const bool to_first = first.count(m_) <= second.count(m_);
    bucket& target = to_first ? first : second;
    if (target.count(m_) < Form.slots)
      return fill<Durable>(target, target.empty(m_), key, value, !to_first);
    bucket &next = s.buckets[beside(h, 2)], &before = s.buckets[beside(h, -1)];
    if (make_way<Durable>(second, false, next, key, value)) return true;
    if (make_way<Durable>(first, true, before, key, value)) return true;
    for (unsigned i = 0; i < Form.stash; ++i) {
      const unsigned which = (h + i) % Form.stash;
      bucket& stash = s.buckets[homes + which];
      if (stash.count(m_) == Form.slots) continue;
      fill<Durable>(stash, stash.empty(m_), key, value, false);
      tell_of_stash(s, hash, which);
      return true;
    }
    return false;
  }

  // crash before the bitmap's store: the slot is free as before. After: the record is there.
  template <bool Durable>
  bool fill(bucket& b, unsigned slot, std::uint64_t key, std::uint64_t value, bool member) {
    store(m_, b.slots[slot].value, value);
    store(m_, b.slots[slot].key, key);
    if constexpr (Durable) (void)persist(m_, extent_of(b.slots[slot]), "dash.insert.record");
    b.set_print(m_, slot, fingerprint(around_.hash(key)));
    if constexpr (Durable)  // COMMIT: the record is there
      (void)publish(m_, b.slots_word, b.with(m_, slot, member), after_nothing("it is durable"),
                    "dash.insert");
    else store(m_, b.slots_word, b.with(m_, slot, member));
    return true;
  }

  /// A record of the full bucket `from` that may lie in `to` as well goes there: one at home in
  /// `from`, or a member of it that is at home in `to`.
  // crash after the copy's bitmap: the record is there twice, until recovery drops one.
  // crash after the new record's store: the old bitmap gives it a slot and a fingerprint that are
  //   not its own (hole displaced-slot-overwritten).
  template <bool Durable>
  bool make_way(bucket& from, bool member, bucket& to, std::uint64_t key, std::uint64_t value) {
    if (to.count(m_) == Form.slots || &from == &to) return false;
    unsigned slot = 0;
    while (slot < Form.slots && from.is_member(m_, slot) != member) ++slot;
    if (slot == Form.slots) return false;
    record& r = from.slots[slot];
    fill<Durable>(to, to.empty(m_), load(m_, r.key), load(m_, r.value), !member);
    if (Durable && around_.mends(displaced_slot_overwritten))
      (void)publish(m_, from.slots_word, from.without(m_, slot), after_nothing("copied"),
                    "dash.displace.clear");
    else store(m_, from.slots_word, from.without(m_, slot));
    // Into its neighbour, or into its home.
    fill<Durable>(from, slot, key, value, !member);
    around_.displacements += Durable;
    return true;
  }

  // ---- split

  bool moves(std::uint64_t key, unsigned old_depth) const {
    return (prefix(around_.hash(key), old_depth + 1) & 1) != 0;
  }

  /// What moves is written to the new segment; then the old one's bitmaps let it go.
  void move(segment& from, segment& to, unsigned old_depth) {
    bool fits = true;
    for_each(from, [&](bucket&, unsigned, record& r) {
      const std::uint64_t key = load(m_, r.key);
      if (fits && moves(key, old_depth)) fits = add_to<false>(to, key, load(m_, r.value));
    });
    if (!fits) keep_places(from, to, old_depth);
    recount_stash(to);
    (void)persist(m_, extent_of(to), "dash.split.moved");
    if (around_.mends(split_not_finished)) return;
    let_go(from, old_depth);
  }
  /// The published code drops a record that the stash of the new segment has no room for.
  void keep_places(segment& from, segment& to, unsigned old_depth) {
    for (unsigned b = 0; b < homes + Form.stash; ++b) {
      bucket &old = from.buckets[b], &made = to.buckets[b];
      store(m_, made.slots_word, 0);
      for (unsigned i = 0; i < Form.slots; ++i)
        if (old.is_used(m_, i) && moves(load(m_, old.slots[i].key), old_depth))
          fill<false>(made, i, load(m_, old.slots[i].key), load(m_, old.slots[i].value),
                      old.is_member(m_, i));
    }
  }
  void let_go(segment& s, unsigned old_depth) {
    for_each(s, [&](bucket& b, unsigned slot, record& r) {
      if (!moves(load(m_, r.key), old_depth)) return;
      store(m_, b.slots_word, b.without(m_, slot));
      ++around_.records_moved;
    });
    recount_stash(s);
    (void)persist(m_, extent_of(s), "dash.split.let-go");
  }

  /// Entries and depth, or directory and depth, in one transaction. Mended, the records that moved
  /// are let go behind it.
  void name_halves(transaction<M>& changes, std::uint64_t key, segment& old, std::uint64_t made,
                   std::uint64_t wider) {
    const std::uint64_t narrow = directory_.place(), hash = around_.hash(key),
                        count = directory_.count();
    const auto old_depth = static_cast<unsigned>(load(m_, old.depth));
    changes.set(old.depth, old_depth + 1);
    if (wider != 0) {
      for (std::uint64_t x = 0; x < 2 * count; ++x)
        store(m_, directory_.at(wider).entries[x], load(m_, directory_.entry(x / 2)));
      store(m_, directory_.at(wider).entries[prefix(hash, old_depth) * 2 + 1], made);
      (void)persist(m_, directory_.whole(wider, old_depth + 1), "dash.double.directory");
      changes.set(directory_.name(), wider);
    } else {
      const std::uint64_t span = count >> old_depth,
                          begin = prefix(hash, old_depth) * span + span / 2;
      for (std::uint64_t x = begin; x < begin + span / 2; ++x)
        changes.set(directory_.entry(x), made);
    }
    // COMMIT: the directory names both halves
    changes.commit("dash.split.entries");
    if (wider != 0) directory_.release(narrow, old_depth);
    if (around_.mends(split_not_finished)) let_go(old, old_depth);
  }

  // ---- recovery, of all segments at once; the published code's comes with the first access

  void recover_metadata(segment& s) {
    for (unsigned b = 0; b < homes; ++b) {
      bucket &own = s.buckets[b], &next = s.buckets[beside(b, 1)];
      for (unsigned i = 0; i < Form.slots; ++i) {
        if (!own.is_used(m_, i) || own.is_member(m_, i)) continue;
        if (look(next, load(m_, own.slots[i].key), own.print(m_, i), true).slot == nullptr)
          continue;
        if (around_.mends(copy_comes_back))
          (void)publish(m_, own.slots_word, own.without(m_, i), after_nothing("it is there twice"),
                        "dash.recover.copy");
        else store(m_, own.slots_word, own.without(m_, i));
      }
    }
    recount_stash(s);
  }

  /// As published: a segment that says `splitting` is finished only if its new one says `is_new`,
  /// which no split leaves it saying. Mended, a split that the directory does not tell of has
  /// changed nothing; what the directory looks for elsewhere is let go.
  void recover_split(segment& s) {
    if (load(m_, s.state) == normal) return;
    if (around_.mends(split_not_finished)) let_go_of_others(s);
    (void)publish(m_, s.state, normal, after_nothing("finished, or never begun"),
                  "dash.recover.state");
  }
  void let_go_of_others(segment& s) {
    for_each(s, [&](bucket& b, unsigned slot, record& r) {
      if (&segment_of(load(m_, r.key)) != &s) store(m_, b.slots_word, b.without(m_, slot));
    });
    recount_stash(s);
    (void)persist(m_, extent_of(s), "dash.recover.let-go");
  }

  surroundings<M>& around_;
  M& m_;
  prefix_directory<M> directory_;
  std::uint64_t segments_ = 0;
};

/// As published: 64 buckets of 14 slots, two of a stash.
template <class M>
class dash_eh : public dash<M, dash_form{6, 2, 14}> {
  using dash<M, dash_form{6, 2, 14}>::dash;
};

/// For the explorer: 15 slots.
template <class M>
class small_dash_eh : public dash<M, dash_form{2, 1, 3}> {
  using dash<M, dash_form{2, 1, 3}>::dash;
};

}  // namespace durahash::baselines
