// CCEH as its authors published it (FAST'19, CCEH_MSB.cpp): segments of 256 lines, two windows of
// eight lines by two hash functions, splits in place or by copying. The engine `cceh` has one
// window, and holes of this code closed.
//
// Insert   value, key (the same line) in the first slot of the windows that is free: invalid, or of
//          another segment. One write-back.        Update    the value's word.
// Erase    CCEH §4: the key becomes invalid.
// Growth   in place: half of a segment moves to a new one, then the directory's entries change,
//          then the old one's depth. Copying: two new segments, then the entries.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "bench/baselines/design.hpp"
#include "bench/baselines/directory.hpp"

namespace durahash::baselines {

struct cceh_form {
  unsigned line_bits;     // logarithm of the lines of a segment
  unsigned window_lines;  // that a search looks at, twice
  bool copies;            // splits
};

template <class M, cceh_form Form>
class cceh_published {
 public:
  enum hole_index { directory_not_flushed, last_segment_skipped, read_before_durable };

  explicit cceh_published(surroundings<M>& around) : around_(around), m_(around.memory.medium()) {}

  static bool takes(std::uint64_t key) { return key < locked_key; }

  bool create(std::uint64_t capacity) {
    unsigned depth = log2_ceiling((capacity + slots_per_segment - 1) / slots_per_segment);
    std::optional<directory_view> made = new_directory(depth);
    if (!made) return false;
    for (std::uint64_t x = 0; x < std::uint64_t{1} << depth; ++x) {
      std::uint64_t s = new_segment(depth);
      if (s == 0) return false;
      (void)persist(m_, extent_of(at(s)), "cceh-published.create.segment");
      store(m_, made->entries[x], s);
    }
    (void)persist(m_, extent{made->entries, entry_bytes(depth)}, "cceh-published.create");
    (void)persist(m_, extent_of(*made->words), "cceh-published.create.directory");
    (void)publish(m_, root().directory, around_.memory.offset_of(made->words),
                  after_nothing("it is durable"), "cceh-published.create.root");
    segments_ = std::uint64_t{1} << depth;
    return true;
  }

  error recover() {
    if (around_.mends(read_before_durable)) around_.memory.settle();
    const std::uint64_t words = load(m_, root().directory);
    if (!around_.memory.reach(words, sizeof(directory_words)) || depth() >= 32 ||
        !around_.memory.reach(load(m_, directory().entries), entry_bytes(depth())))
      return unrecoverable("the directory lies outside of the memory");
    std::set<std::uint64_t> all;
    for_each_named(entries(), named(), [&](std::uint64_t s) { all.insert(s); });
    for (std::uint64_t s : all)
      if (!around_.memory.reach(s, sizeof(segment)))
        return unrecoverable("the directory names a segment outside of the memory");
    segments_ = all.size();
    if (!around_.mends(last_segment_skipped)) return go_back(), recovered();
    go_on();
    for (std::uint64_t x = 0; x < entries(); ++x) all.erase(load(m_, entry(x)));
    for (std::uint64_t s : all) around_.memory.release(s, sizeof(segment));
    segments_ -= all.size();
    return recovered();
  }

  bool find(std::uint64_t key, std::uint64_t& value) {
    record* r = search(key);
    if (r != nullptr) value = load(m_, r->value);
    return r != nullptr;
  }

  // crash before the key's store: the slot is free as before. After: the record is there.
  bool add(std::uint64_t key, std::uint64_t value) {
    record* r = free_slot(segment_of(key), key);
    if (r == nullptr) return false;
    store(m_, r->value, value);
    // COMMIT: the key exists
    (void)publish(m_, r->key, key, after_same_line(&r->key, &r->value, sizeof r->value),
                  "cceh-published.insert");
    return true;
  }

  status change(std::uint64_t key, std::uint64_t value) {
    record* r = search(key);
    if (r == nullptr) return status::not_found;
    // COMMIT: the key has this value
    (void)publish(m_, r->value, value, after_nothing("one word"), "cceh-published.update");
    return status::ok;
  }

  bool remove(std::uint64_t key) {
    record* r = search(key);
    if (r == nullptr) return false;
    // COMMIT: the key is gone
    (void)publish(m_, r->key, empty_key, after_nothing("one word"), "cceh-published.erase");
    return true;
  }

  // Splits the key's segment.
  // crash before the directory's entries: the new segments are unreachable, hence free.
  // crash in them, or before the old one's depth: recovery takes it back, or goes on with it.
  bool grow(std::uint64_t key) {
    segment& old = segment_of(key);
    const auto d = static_cast<unsigned>(load(m_, old.depth));
    std::optional<directory_view> wider;
    if (d == depth() && !(wider = new_directory(d + 1))) return false;
    const std::uint64_t right = new_segment(d + 1), left = Form.copies ? new_segment(d + 1) : 0;
    if (right == 0 || (Form.copies && left == 0)) {
      if (right != 0) around_.memory.release(right, sizeof(segment));
      if (wider) release(*wider, d + 1);
      return false;
    }
    flushed halves = fill_half(old, at(right), d, 1);
    if (Form.copies) halves += fill_half(old, at(left), d, 0);
    (void)fence(m_, std::move(halves), "cceh-published.split.halves");
    const std::uint64_t old_at = around_.memory.offset_of(&old);
    const std::uint64_t left_at = Form.copies ? left : old_at;
    if (wider) switch_directory(*wider, key, left_at, right);
    else update_entries(key, d, left_at, right);
    if (Form.copies) around_.memory.release(old_at, sizeof(segment));
    else deepen(old, d + 1);
    ++segments_;
    return true;
  }

  template <class Visit>
  void scan(const Visit& visit) {
    auto found = [this](std::uint64_t key) { return takes(key) ? search(key) : nullptr; };
    for_each_named(entries(), named(),
                   [&](std::uint64_t s) { for_each_found(m_, at(s).slots, found, visit); });
  }
  std::uint64_t slots() const { return segments_ * slots_per_segment; }

 private:
  // The published code's INVALID and SENTINEL.
  static constexpr std::uint64_t empty_key = ~std::uint64_t{0}, locked_key = empty_key - 1;
  static constexpr std::uint64_t lines = 1u << Form.line_bits, slots_per_line = 4,
                                 slots_per_segment = lines * slots_per_line;

  struct root_words {
    pm<std::uint64_t> directory;
  };
  struct directory_words {
    pm<std::uint64_t> entries, depth;
  };
  struct directory_view {
    directory_words* words;
    pm<std::uint64_t>* entries;
  };
  struct segment {
    record slots[slots_per_segment];
    pm<std::uint64_t> depth;
    pm<std::uint64_t> unused[7];  // the lock
  };

  root_words& root() const { return around_.memory.template root<root_words>(); }
  segment& at(std::uint64_t offset) const { return *around_.memory.template at<segment>(offset); }
  directory_words& directory() const {
    return *around_.memory.template at<directory_words>(load(m_, root().directory));
  }
  unsigned depth() const { return static_cast<unsigned>(load(m_, directory().depth)); }
  std::uint64_t entries() const { return std::uint64_t{1} << depth(); }
  pm<std::uint64_t>& entry(std::uint64_t x) const {
    return around_.memory.template at<pm<std::uint64_t>>(load(m_, directory().entries))[x];
  }
  auto named() const {
    return [this](std::uint64_t x) { return load(m_, entry(x)); };
  }
  static std::uint64_t entry_bytes(unsigned depth) {
    return align_up(std::uint64_t{8} << depth, line_bytes);
  }
  segment& segment_of(std::uint64_t key) const {
    return at(load(m_, entry(prefix(around_.hash(key), depth()))));
  }
  unsigned depth_of(const segment& s) const { return static_cast<unsigned>(load(m_, s.depth)); }

  /// The windows: by the low bits of two hashes, round the segment's end.
  template <class Each>
  record* in_windows(segment& s, std::uint64_t key, const Each& each) const {
    for (unsigned choice : {0u, 1u}) {
      const std::uint64_t begin = (around_.hash(key, choice) & (lines - 1)) * slots_per_line;
      for (std::uint64_t i = 0; i < Form.window_lines * slots_per_line; ++i)
        if (record& r = s.slots[(begin + i) % slots_per_segment]; each(r)) return &r;
    }
    return nullptr;
  }
  record* search(std::uint64_t key) const {
    return in_windows(segment_of(key), key, [&](record& r) { return load(m_, r.key) == key; });
  }
  /// Invalid, or of another segment than the key's.
  record* free_slot(segment& s, std::uint64_t key) const {
    const unsigned d = depth_of(s);
    return in_windows(s, key, [&](record& r) {
      const std::uint64_t present = load(m_, r.key);
      return !takes(present) || prefix(around_.hash(present), d) != prefix(around_.hash(key), d);
    });
  }

  std::uint64_t new_segment(unsigned depth) {
    const std::uint64_t made = around_.memory.allocate(sizeof(segment));
    if (made == 0) return 0;
    around_.memory.fill(made, sizeof(segment), 0xff);
    store(m_, at(made).depth, depth);
    return made;
  }
  std::optional<directory_view> new_directory(unsigned depth) {
    const std::uint64_t words = around_.memory.allocate(sizeof(directory_words)),
                        made = words == 0 ? 0 : around_.memory.allocate(entry_bytes(depth));
    if (made == 0) {
      if (words != 0) around_.memory.release(words, sizeof(directory_words));
      return std::nullopt;
    }
    directory_view view{around_.memory.template at<directory_words>(words),
                        around_.memory.template at<pm<std::uint64_t>>(made)};
    store(m_, view.words->entries, made);
    store(m_, view.words->depth, depth);
    return view;
  }
  void release(const directory_view& d, unsigned depth) {
    around_.memory.release(around_.memory.offset_of(d.entries), entry_bytes(depth));
    around_.memory.release(around_.memory.offset_of(d.words), sizeof(directory_words));
  }

  // ---- split

  flushed fill_half(segment& from, segment& to, unsigned old_depth, std::uint64_t half) {
    std::vector<record*> all;
    const std::uint64_t own = load_prefix(from, old_depth);
    for (record& r : from.slots)
      if (std::uint64_t key = load(m_, r.key);
          takes(key) && prefix(around_.hash(key), old_depth + 1) == own * 2 + half)
        all.push_back(&r);
    bool fits = true;
    for (record* r : all) {
      record* place = free_slot(to, load(m_, r->key));
      if (place == nullptr) fits = false;
      else copy(*r, *place);
    }
    // The published code prints a line, and drops the record.
    if (!fits) {
      for (record& r : to.slots) store(m_, r.key, empty_key);
      for (record* r : all) copy(*r, to.slots[r - from.slots]);
    }
    around_.records_moved += all.size();
    return flush(m_, extent_of(to), "cceh-published.split.segment");
  }
  void copy(record& from, record& to) {
    store(m_, to.value, load(m_, from.value));
    store(m_, to.key, load(m_, from.key));
  }
  /// Of the hashes that the directory looks for in that segment.
  std::uint64_t load_prefix(const segment& s, unsigned segment_depth) const {
    const std::uint64_t at = around_.memory.offset_of(&s);
    std::uint64_t x = 0;
    while (load(m_, entry(x)) != at) ++x;
    return x >> (depth() - segment_depth);
  }
  void deepen(segment& s, unsigned depth) {
    (void)publish(m_, s.depth, depth, after_nothing("the entries are durable"),
                  "cceh-published.split.depth");
  }
  void switch_directory(const directory_view& wider, std::uint64_t key, std::uint64_t left,
                        std::uint64_t right) {
    const unsigned d = depth();
    const directory_view narrow{&directory(), &entry(0)};
    for (std::uint64_t x = 0; x < 2 * entries(); ++x)
      store(m_, wider.entries[x], load(m_, entry(x / 2)));
    const std::uint64_t x = prefix(around_.hash(key), d);
    store(m_, wider.entries[2 * x], left);
    store(m_, wider.entries[2 * x + 1], right);
    (void)persist(m_, extent{wider.entries, entry_bytes(d + 1)}, "cceh-published.double.entries");
    // As published: the pointer to it is written back once more, and never the words themselves.
    if (around_.mends(directory_not_flushed))
      (void)persist(m_, extent_of(*wider.words), "cceh-published.double.words");
    // COMMIT: the directory is the directory
    (void)publish(m_, root().directory, around_.memory.offset_of(wider.words),
                  after_nothing("as published"), "cceh-published.double.root");
    release(narrow, d);
  }
  void update_entries(std::uint64_t key, unsigned old_depth, std::uint64_t left,
                      std::uint64_t right) {
    const std::uint64_t span = entries() >> old_depth,
                        begin = prefix(around_.hash(key), old_depth) * span,
                        middle = begin + span / 2;
    for (std::uint64_t x = middle; x < begin + span; ++x) store(m_, entry(x), right);
    if (Form.copies)
      for (std::uint64_t x = begin; x < middle; ++x) store(m_, entry(x), left);
    // As published: all in one write-back. What that can lose in a directory of several lines is
    // hole CCEH 6 of the crash catalogue.
    const std::uint64_t first = Form.copies ? begin : middle;
    (void)persist(m_, extent{&entry(first), (begin + span - first) * 8},
                  "cceh-published.split.entries");
  }

  // ---- recovery

  /// As published: entries of another depth than the first one's are of a split, which is taken
  /// back, and not written back; the last segment is not looked at.
  void go_back() {
    for (std::uint64_t x = 0; x < entries();) {
      const segment& first = at(load(m_, entry(x)));
      const std::uint64_t end = x + std::max<std::uint64_t>(entries() >> depth_of(first), 1);
      if (end >= entries()) return;
      for (std::uint64_t y = end; y-- > x + 1;)
        if (depth_of(at(load(m_, entry(y)))) != depth_of(first))
          store(m_, entry(y), load(m_, entry(x)));
      x = end;
    }
  }
  /// Mended. In place: the new segment takes its half, then the old one gets deeper. Copies: a left
  /// half that is named takes its half; else the right half is taken back.
  void go_on() {
    auto name = [this](std::uint64_t x, std::uint64_t s) {
      if (load(m_, entry(x)) != s)
        (void)publish(m_, entry(x), s, after_nothing("it is durable"),
                      "cceh-published.recover.entry");
    };
    for (std::uint64_t x = 0; x < entries();) {
      const std::uint64_t first = load(m_, entry(x));
      const unsigned d = depth_of(at(first));
      const std::uint64_t end = std::min(x + std::max<std::uint64_t>(entries() >> d, 1), entries());
      const std::uint64_t last = load(m_, entry(end - 1));
      if (last != first && !Form.copies) {
        for (std::uint64_t y = x + (end - x) / 2; y < end; ++y) name(y, last);
        deepen(at(first), d + 1);
      } else {
        for (std::uint64_t y = x; y < end; ++y) name(y, first);
      }
      x = end;
    }
  }

  surroundings<M>& around_;
  M& m_;
  std::uint64_t segments_ = 0;
};

/// As published: 256 lines, windows of eight.
template <class M>
class cceh_in_place : public cceh_published<M, cceh_form{8, 8, false}> {
  using cceh_published<M, cceh_form{8, 8, false}>::cceh_published;
};
template <class M>
class cceh_copying : public cceh_published<M, cceh_form{8, 8, true}> {
  using cceh_published<M, cceh_form{8, 8, true}>::cceh_published;
};

/// For the explorer: 16 slots, windows of a line.
template <class M>
class small_cceh_in_place : public cceh_published<M, cceh_form{2, 1, false}> {
  using cceh_published<M, cceh_form{2, 1, false}>::cceh_published;
};
template <class M>
class small_cceh_copying : public cceh_published<M, cceh_form{2, 1, true}> {
  using cceh_published<M, cceh_form{2, 1, true}>::cceh_published;
};

}  // namespace durahash::baselines
