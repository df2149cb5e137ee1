// SEPH (OSDI'23, as far as its paper and its published code tell): a directory by most significant
// bits names level segments. A level segment has a segment of its own, the top, and shares another
// one, the bottom, with its sibling. A segment has buckets of four lines with 32 words, which name
// items.
//
// Insert   the item, written back; the slot's word with a mark that says "perhaps not durable",
//          written back. Who finds the mark writes back once more and takes the mark away.
// Update   the same.        Erase    a tombstone, the same.
// Growth   only the bottom's half is split, a third of the items: into two new tops. The old top
//          becomes their bottom. The fingerprints in the words tell where each goes.
#pragma once

#include <set>
#include <vector>

#include "bench/baselines/directory.hpp"
#include "bench/baselines/seph_words.hpp"

namespace durahash::baselines {

struct seph_form {
  unsigned bucket_bits;  // logarithm of the buckets of a segment, 2 at least
  unsigned slots;        // of a bucket
};

template <class M, seph_form Form>
class seph {
 public:
  enum hole_index { copied_marks_stay, entries_torn, root_not_written_back };

  explicit seph(surroundings<M>& around)
      : around_(around),
        m_(around.memory.medium()),
        directory_(around.memory),
        items_(around.memory) {}

  static bool takes(std::uint64_t) { return true; }

  bool create(std::uint64_t capacity) {
    constexpr std::uint64_t slots_of_two = 3 * slots_per_segment;
    const unsigned depth =
        std::max(1u, 1 + log2_ceiling((capacity + slots_of_two - 1) / slots_of_two));
    const std::uint64_t made = directory_.make(depth);
    if (made == 0) return false;
    std::uint64_t bottom = 0;
    for (std::uint64_t x = 0; x < std::uint64_t{1} << depth; ++x) {
      if (x % 2 == 0) bottom = new_segment();
      const std::uint64_t top = new_segment();
      if (bottom == 0 || top == 0) return false;
      if (x % 2 == 0) (void)persist(m_, extent_of(at(bottom)), "seph.create.bottom");
      (void)persist(m_, extent_of(at(top)), "seph.create.top");
      store(m_, directory_.at(made).entries[x], level_segment{top, bottom, 0}.word());
    }
    (void)persist(m_, directory_.whole(made, depth), "seph.create");
    (void)publish(m_, directory_.name(), made, after_nothing("it is durable"), "seph.create.root");
    segments_ = (std::uint64_t{3} << depth) / 2;
    return true;
  }

  error recover() {
    if (around_.mends(root_not_written_back)) around_.memory.settle();
    if (!directory_.reach()) return unrecoverable("the directory lies outside of the memory");
    // As published: the directory's entries are written back.
    (void)persist(m_, directory_.whole(directory_.place(), depth()), "seph.recover.directory");
    if (around_.mends(entries_torn)) undo_torn_splits();
    const std::set<std::uint64_t> all = all_segments();
    segments_ = all.size();
    for (std::uint64_t s : all)
      if (!around_.memory.reach(s, sizeof(segment)))
        return unrecoverable("the directory names a segment outside of the memory");
    bool inside = true;
    std::set<std::uint64_t> reached;
    each_live_word([&](pm<std::uint64_t>& word) {
      const slot_word w{load(m_, word)};
      if (around_.mends(copied_marks_stay) && w.is_copied())
        (void)publish(m_, word, w.without_copied(), after_nothing("no split is under way"),
                      "seph.recover.mark");
      if (w.has_item() && reached.insert(w.item()).second)
        inside = inside && items_.reach(w.item());
    });
    return inside ? recovered() : unrecoverable("a slot names an item outside of the memory");
  }

  bool find(std::uint64_t key, std::uint64_t& value) {
    pm<std::uint64_t>* slot = search(key).slot;
    if (slot == nullptr) return false;
    settle(*slot);
    value = load(m_, items_.at(slot_word{load(m_, *slot)}.item()).value);
    return true;
  }

  // crash before the slot's word: nothing names the item. After: the record is there.
  bool add(std::uint64_t key, std::uint64_t value) {
    place p = search(key);
    if (p.empty == nullptr) return false;
    const std::uint64_t item = items_.make(key, value, "seph.insert.item");
    if (item == 0) return false;
    // COMMIT: the record is there
    (void)publish(m_, *p.empty, slot_word::of(item, print(key, p.empty_depth)).marked(),
                  after_nothing("it is durable"), "seph.insert");
    return true;
  }

  status change(std::uint64_t key, std::uint64_t value) {
    place p = search(key);
    if (p.slot == nullptr) return status::not_found;
    const slot_word old{load(m_, *p.slot)};
    if (old.is_copied()) return status::not_found;  // tried again for ever in the published code
    const std::uint64_t item = items_.make(key, value, "seph.update.item");
    if (item == 0) return status::no_space;
    // COMMIT: the key has this value
    (void)publish(m_, *p.slot, slot_word::of(item, print(key, p.slot_depth)).marked(),
                  after_nothing("it is durable"), "seph.update");
    items_.free(old.item());
    return status::ok;
  }

  bool remove(std::uint64_t key) {
    place p = search(key);
    if (p.slot == nullptr) return false;
    const slot_word old{load(m_, *p.slot)};
    if (old.is_copied()) return false;  // as above
    // COMMIT: the key is gone
    (void)publish(m_, *p.slot, old.tombstone().marked(), after_nothing("one word"), "seph.erase");
    items_.free(old.item());
    return true;
  }

  // crash before 2: the new segments are unreachable, hence free; the old bottom is whole, and its
  //   words say that they were copied (hole copied-marks-stay).
  // crash in 2: some entries name the new segments, the others the old ones (hole entries-torn).
  bool grow(std::uint64_t key) {
    const std::uint64_t hash = around_.hash(key);
    if (search(key).copied || !is_whole(hash)) return false;  // for ever in the published code
    const level_segment old = level_segment_of(hash);
    const bool doubles = old.difference == 0;
    if (doubles && !can_double()) return false;
    std::uint64_t wider = doubles ? directory_.make(depth() + 1) : 0;
    std::uint64_t halves[2] = {new_segment(), new_segment()};
    if (halves[0] == 0 || halves[1] == 0 || (doubles && wider == 0)) {
      for (std::uint64_t made : halves)
        if (made != 0) around_.memory.release(made, sizeof(segment));
      if (wider != 0) directory_.release(wider, depth() + 1);
      return false;
    }
    const unsigned own_depth = depth() - old.difference;
    split_bottom(old, hash, own_depth, halves);  // 1
    if (doubles) double_directory(wider);
    name_halves(hash, level_segment_of(hash), halves);  // 2
    segments_ += 2;
    release_bottom(old.bottom);
    return true;
  }

  template <class Visit>
  void scan(const Visit& visit) {
    each_live_word([&](pm<std::uint64_t>& word) {
      const slot_word w{load(m_, word)};
      if (!w.has_item()) return;
      const record& item = items_.at(w.item());
      if (search(load(m_, item.key)).slot == &word) visit(load(m_, item.key), load(m_, item.value));
    });
  }
  std::uint64_t slots() const { return segments_ * slots_per_segment; }

 private:
  static constexpr unsigned buckets = 1u << Form.bucket_bits;
  static constexpr std::uint64_t slots_per_segment = std::uint64_t{buckets} * Form.slots;

  struct bucket {
    pm<std::uint64_t> slots[Form.slots];
  };
  struct segment {
    bucket b[buckets];
  };
  static_assert(sizeof(segment) % line_bytes == 0);
  struct place {
    pm<std::uint64_t>* slot = nullptr;         // of the key
    pm<std::uint64_t>* empty = nullptr;        // for it
    unsigned slot_depth = 0, empty_depth = 0;  // of the segments they are in
    bool copied = false;                       // the published code would try again
  };

  segment& at(std::uint64_t offset) const { return *around_.memory.template at<segment>(offset); }
  unsigned depth() const { return directory_.depth(); }
  std::uint64_t entries() const { return directory_.count(); }
  pm<std::uint64_t>& entry(std::uint64_t x) const { return directory_.entry(x); }
  level_segment level_segment_of(std::uint64_t hash) const {
    return level_segment::from(load(m_, entry(hash >> (64 - depth()))));
  }
  /// The bits of the hash behind those that a segment of that depth has used up.
  static unsigned bucket_of(std::uint64_t hash, unsigned segment_depth) {
    return static_cast<unsigned>(hash << segment_depth >> (64 - Form.bucket_bits));
  }
  static unsigned print_begins(unsigned segment_depth) {
    return (segment_depth + Form.bucket_bits) & ~7u;
  }
  std::uint64_t print(std::uint64_t key, unsigned segment_depth) const {
    return around_.hash(key) << print_begins(segment_depth) >> 48;
  }

  std::uint64_t new_segment() {
    const std::uint64_t made = around_.memory.allocate(sizeof(segment));
    if (made != 0) around_.memory.fill(made, sizeof(segment), 0);
    return made;
  }
  /// That is not 0. A half of the bottom that was split still has its words: they are dead.
  template <class Each>
  void each_live_word(const Each& each) const {
    std::set<const bucket*> seen;
    auto visit = [&](segment& s, unsigned begin, unsigned end) {
      for (unsigned b = begin; b < end; ++b)
        if (seen.insert(&s.b[b]).second)
          for (pm<std::uint64_t>& word : s.b[b].slots)
            if (load(m_, word) != 0) each(word);
    };
    for (std::uint64_t x = 0; x < entries(); ++x) {
      if (x != 0 && load(m_, entry(x)) == load(m_, entry(x - 1))) continue;
      const level_segment l = level_segment::from(load(m_, entry(x)));
      const unsigned begin = static_cast<unsigned>(x >> l.difference & 1) * (buckets / 2);
      visit(at(l.top), 0, buckets);
      visit(at(l.bottom), begin, begin + buckets / 2);
    }
  }
  std::set<std::uint64_t> all_segments() const {
    std::set<std::uint64_t> all;
    for (std::uint64_t x = 0; x < entries(); ++x) {
      const level_segment l = level_segment::from(load(m_, entry(x)));
      all.insert({l.top, l.bottom});
    }
    return all;
  }

  /// The bottom first, as published. An empty word ends a bucket.
  place search(std::uint64_t key) const {
    const std::uint64_t hash = around_.hash(key);
    const level_segment l = level_segment_of(hash);
    const unsigned own = depth() - l.difference;
    place p;
    search_in(at(l.bottom), key, own - 1, p);
    if (p.slot == nullptr && !p.copied) search_in(at(l.top), key, own, p);
    return p;
  }
  void search_in(segment& s, std::uint64_t key, unsigned segment_depth, place& p) const {
    const std::uint64_t wanted = print(key, segment_depth);
    for (pm<std::uint64_t>& word : s.b[bucket_of(around_.hash(key), segment_depth)].slots) {
      const slot_word w{load(m_, word)};
      if (w.is_empty_and_copied()) return void(p.copied = true);
      if (!w.has_item() && p.empty == nullptr) p.empty = &word, p.empty_depth = segment_depth;
      if (w.is_empty()) return;
      if (w.is_tombstone() && w.print() == wanted) settle(word);
      if (!w.has_item() || w.print() != wanted || load(m_, items_.at(w.item()).key) != key)
        continue;
      p.slot = &word, p.slot_depth = segment_depth;
      return;
    }
  }
  /// Before anybody is told of a word that is perhaps not durable, it is.
  void settle(pm<std::uint64_t>& word) const {
    const slot_word w{load(m_, word)};
    if (!w.is_marked()) return;
    (void)persist(m_, extent_of(word), "seph.settle");
    store(m_, word, w.without_mark());
  }

  // ---- split

  /// Whether all entries of a level segment name it.
  bool is_whole(std::uint64_t hash) const {
    const level_segment l = level_segment_of(hash);
    const std::uint64_t span = std::uint64_t{1} << l.difference,
                        begin = align_down(hash >> (64 - depth()), span);
    for (std::uint64_t x = begin; x < begin + span; ++x)
      if (load(m_, entry(x)) != l.word()) return false;
    return true;
  }
  /// An entry has three bits for how much deeper the directory is.
  bool can_double() const {
    for (std::uint64_t x = 0; x < entries(); ++x)
      if (level_segment::from(load(m_, entry(x))).difference == level_segment::deepest)
        return false;
    return true;
  }

  /// The half of the bottom that is this level segment's: each of its buckets into four.
  void split_bottom(const level_segment& old, std::uint64_t hash, unsigned own_depth,
                    const std::uint64_t (&halves)[2]) {
    const unsigned bottom_depth = own_depth - 1, new_depth = own_depth + 1;
    // Of the bucket's number, the first bit says whose half it is.
    const unsigned begin = static_cast<unsigned>(hash << bottom_depth >> 63) * (buckets / 2);
    for (unsigned b = begin; b < begin + buckets / 2; ++b) {
      bucket& from = at(old.bottom).b[b];
      for (pm<std::uint64_t>& word : from.slots) {
        const slot_word w{load(m_, word)};
        store(m_, word, w.with_copied());
        if (!w.has_item()) continue;  // the published code carries tombstones on
        const std::uint64_t h = hash_of(w, bottom_depth, b);
        segment& to = at(halves[h << own_depth >> 63]);
        place_in(to.b[bucket_of(h, new_depth)], w, bottom_depth, new_depth);
        ++around_.records_moved;
      }
      (void)persist(m_, extent_of(from), "seph.split.copied");
    }
    flushed both = flush(m_, extent_of(at(halves[0])), "seph.split.half");
    both += flush(m_, extent_of(at(halves[1])), "seph.split.half");
    (void)fence(m_, std::move(both), "seph.split.halves");
  }
  /// As many bits of the hash as a split needs: those of the bucket, and behind them the
  /// fingerprint's. No item is read.
  std::uint64_t hash_of(const slot_word& w, unsigned segment_depth, unsigned number) const {
    const unsigned begins = print_begins(segment_depth), used = segment_depth + Form.bucket_bits;
    std::uint64_t bits = std::uint64_t{number} << (64 - used);
    const unsigned known = used - begins;  // of the fingerprint's bits, by the bucket
    bits |= (w.print() & low_bits(16 - known)) << (48 - begins);
    return bits;
  }
  void place_in(bucket& to, const slot_word& w, unsigned from_depth, unsigned to_depth) {
    // The fingerprint is used up: its item is read, as the published code does in the background.
    const std::uint64_t print_now = print_begins(to_depth) == print_begins(from_depth)
                                        ? w.print()
                                        : print(load(m_, items_.at(w.item()).key), to_depth);
    for (pm<std::uint64_t>& word : to.slots)
      if (load(m_, word) == 0) return store(m_, word, slot_word::of(w.item(), print_now).raw);
  }

  /// Entries one after the other, one write-back.
  void name_halves(std::uint64_t hash, const level_segment& old, const std::uint64_t (&halves)[2]) {
    const std::uint64_t span = std::uint64_t{1} << old.difference,
                        begin = align_down(hash >> (64 - depth()), span);
    for (std::uint64_t x = 0; x < span; ++x)
      store(m_, entry(begin + x),
            level_segment{halves[x >= span / 2], old.top, old.difference - 1}.word());
    // COMMIT: the halves are the level segments
    (void)persist(m_, extent{&entry(begin), span * 8}, "seph.split.entries");
  }
  // crash before the root's word: the old directory, whose entries are whole.
  void double_directory(std::uint64_t wider) {
    const std::uint64_t narrow = directory_.place();
    const unsigned narrow_depth = depth();
    for (std::uint64_t x = 0; x < 2 * entries(); ++x) {
      level_segment l = level_segment::from(load(m_, entry(x / 2)));
      ++l.difference;
      store(m_, directory_.at(wider).entries[x], l.word());
    }
    (void)persist(m_, directory_.whole(wider, narrow_depth + 1), "seph.double.directory");
    // COMMIT: the directory is the directory
    (void)publish(m_, directory_.name(), wider, after_nothing("it is durable"), "seph.double.root");
    directory_.release(narrow, narrow_depth);
  }
  /// Once the sibling has been split, too.
  void release_bottom(std::uint64_t bottom) {
    if (all_segments().contains(bottom)) return;
    around_.memory.release(bottom, sizeof(segment));
    --segments_;
  }

  /// Mended recovery: of a split whose entries are not all changed none is. The old words are what
  /// the entries that still name the old bottom say.
  void undo_torn_splits() {
    for (std::uint64_t x = 0; x < entries(); ++x) {
      const level_segment l = level_segment::from(load(m_, entry(x)));
      const std::uint64_t span = std::uint64_t{1} << l.difference, begin = align_down(x, span);
      for (std::uint64_t y = begin; y < begin + span; ++y) {
        const level_segment other = level_segment::from(load(m_, entry(y)));
        if (other.bottom == l.top && other.difference + 1 == l.difference)
          (void)publish(m_, entry(y), l.word(), after_nothing("nothing went through it"),
                        "seph.recover.entry");
      }
    }
  }

  surroundings<M>& around_;
  M& m_;
  prefix_directory<M> directory_;
  items<M> items_;
  std::uint64_t segments_ = 0;
};

/// As published: 64 buckets of 32 slots.
template <class M>
class seph_table : public seph<M, seph_form{6, 32}> {
  using seph<M, seph_form{6, 32}>::seph;
};

/// For the explorer: segments of 8 slots.
template <class M>
class small_seph : public seph<M, seph_form{2, 2}> {
  using seph<M, seph_form{2, 2}>::seph;
};

}  // namespace durahash::baselines
