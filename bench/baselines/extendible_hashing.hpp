// Extendible hashing with least significant bits (EXTH of CCEH figure 6): a directory of offsets,
// blocks that are searched as a whole. CCEH §6.1: CCEH(LSB) with one bucket in a segment is the
// same table; so the steps are those of the authors' CCEH_LSB.cpp, split in place.
//
// Insert   value, key (the same line) in the first free slot of the block, one write-back.
// Erase    CCEH §4: the key becomes invalid.
// Growth   half of a block moves to a new one; what stays behind of it is free, because its hash
//          does not fit the block any more. Entries of the directory change one by one.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "bench/baselines/design.hpp"
#include "bench/baselines/directory.hpp"

namespace durahash::baselines {

template <class M>
class extendible_hashing {
 public:
  enum hole_index {
    old_directory_flushed,
    root_in_words,
    depth_before_directory,
    pattern_not_flushed,
    read_before_durable
  };

  explicit extendible_hashing(surroundings<M>& around)
      : around_(around), m_(around.memory.medium()) {}

  static bool takes(std::uint64_t key) { return key < locked_key; }

  bool create(std::uint64_t capacity) {
    unsigned depth = log2_ceiling((capacity + slots_per_block - 1) / slots_per_block);
    std::uint64_t directory = around_.memory.allocate(directory_bytes(depth));
    if (directory == 0) return false;
    for (std::uint64_t x = 0; x < std::uint64_t{1} << depth; ++x) {
      std::uint64_t made = new_block(depth, x);
      if (made == 0) return false;
      (void)persist(m_, extent_of(block_at(made)), "extendible.create.block");
      store(m_, entries(directory)[x], made);
    }
    (void)persist(m_, extent{entries(directory), directory_bytes(depth)}, "extendible.create");
    name(directory, depth);
    blocks_ = std::uint64_t{1} << depth;
    return true;
  }

  error recover() {
    if (around_.mends(read_before_durable)) around_.memory.settle();
    unsigned g = global_depth();
    if (g >= 32 || !around_.memory.reach(directory(), directory_bytes(g)))
      return unrecoverable("the directory lies outside of the memory");
    std::set<std::uint64_t> all;
    for_each_named(capacity(), named(), [&](std::uint64_t b) { all.insert(b); });
    for (std::uint64_t b : all)
      if (!around_.memory.reach(b, sizeof(block)))
        return unrecoverable("the directory names a block outside of the memory");
    blocks_ = all.size();
    // None is published.
    if (around_.mends(depth_before_directory)) finish_split(all);
    return recovered();
  }

  bool find(std::uint64_t key, std::uint64_t& value) {
    record* r = search(key);
    if (r != nullptr) value = load(m_, r->value);
    return r != nullptr;
  }

  // crash before the key's store: the slot is free as before. After: the record is there.
  bool add(std::uint64_t key, std::uint64_t value) {
    block& b = block_of(key);
    // The published code tries again for ever; here the key is refused.
    if (!fits(b, key)) return false;
    for (record& r : b.slots) {
      std::uint64_t present = load(m_, r.key);
      if (takes(present) && fits(b, present)) continue;
      store(m_, r.value, value);
      // COMMIT: the key exists
      (void)publish(m_, r.key, key, after_same_line(&r.key, &r.value, sizeof r.value),
                    "extendible.insert");
      return true;
    }
    return false;
  }

  status change(std::uint64_t key, std::uint64_t value) {
    record* r = search(key);
    if (r == nullptr) return status::not_found;
    // COMMIT: the key has this value
    (void)publish(m_, r->value, value, after_nothing("one word"), "extendible.update");
    return status::ok;
  }

  bool remove(std::uint64_t key) {
    record* r = search(key);
    if (r == nullptr) return false;
    // COMMIT: the key is gone
    (void)publish(m_, r->key, empty_key, after_nothing("one word"), "extendible.erase");
    return true;
  }

  // Splits the key's block.
  // crash after 1: nothing names the new block.
  // crash after 2, before 3: what moved is free in the old block, and the directory names no other
  //   (hole depth-before-directory). Mended, 2 comes last, and recovery goes on from 3.
  bool grow(std::uint64_t key) {
    block& old = block_of(key);
    if (!fits(old, key)) return false;
    unsigned depth = depth_of(old);
    std::uint64_t pattern = load(m_, old.pattern) | std::uint64_t{1} << depth;
    bool early = around_.mends(pattern_not_flushed), last = around_.mends(depth_before_directory);
    bool doubles = depth == global_depth();
    std::uint64_t wider = doubles ? around_.memory.allocate(directory_bytes(depth + 1)) : 0;
    if (doubles && wider == 0) return false;
    std::uint64_t made = new_block(depth + 1, early ? pattern : 0);
    if (made == 0) {
      if (doubles) around_.memory.release(wider, directory_bytes(depth + 1));
      return false;
    }
    move(old, block_at(made), depth);
    (void)persist(m_, extent_of(block_at(made)), "extendible.split.block");  // 1
    // As published: after the block was written back, and never again.
    if (!early) store(m_, block_at(made).pattern, pattern);
    if (!last) deepen(old, depth + 1);  // 2
    if (doubles) double_directory(wider, old, made, pattern);
    else update_directory(old, made, pattern, depth);  // 3
    if (last) deepen(old, depth + 1);
    ++blocks_;
    return true;
  }

  template <class Visit>
  void scan(const Visit& visit) {
    auto found = [this](std::uint64_t key) { return takes(key) ? search(key) : nullptr; };
    for_each_named(capacity(), named(),
                   [&](std::uint64_t b) { for_each_found(m_, block_at(b).slots, found, visit); });
  }
  std::uint64_t slots() const { return blocks_ * slots_per_block; }

 private:
  // The published code's INVALID and SENTINEL.
  static constexpr std::uint64_t empty_key = ~std::uint64_t{0}, locked_key = empty_key - 1;
  static constexpr std::uint64_t slots_per_block = 256 / sizeof(record);  // CCEH figure 6

  struct root_words {
    pm<std::uint64_t> directory, capacity, global_depth;
  };
  struct block {
    record slots[slots_per_block];
    pm<std::uint64_t> depth, pattern;
    pm<std::uint64_t> unused[6];
  };
  static_assert(sizeof(block) == 256 + line_bytes);

  root_words& root() const { return around_.memory.template root<root_words>(); }
  bool in_one_word() const { return around_.mends(root_in_words); }
  std::uint64_t directory() const { return align_down(load(m_, root().directory), line_bytes); }
  unsigned global_depth() const {
    std::uint64_t depth =
        in_one_word() ? load(m_, root().directory) % line_bytes : load(m_, root().global_depth);
    return static_cast<unsigned>(depth);
  }
  std::uint64_t capacity() const {
    return in_one_word() ? std::uint64_t{1} << global_depth() : load(m_, root().capacity);
  }
  static std::uint64_t directory_bytes(unsigned depth) {
    return align_up(std::uint64_t{8} << depth, line_bytes);
  }
  pm<std::uint64_t>* entries(std::uint64_t directory) const {
    return around_.memory.template at<pm<std::uint64_t>>(directory);
  }
  auto named() const {
    return [this](std::uint64_t x) { return load(m_, entries(directory())[x]); };
  }
  block& block_at(std::uint64_t at) const { return *around_.memory.template at<block>(at); }
  block& block_of(std::uint64_t key) const {
    return block_at(load(m_, entries(directory())[around_.hash(key) % capacity()]));
  }
  unsigned depth_of(const block& b) const { return static_cast<unsigned>(load(m_, b.depth)); }
  bool fits(const block& b, std::uint64_t key) const {
    return (around_.hash(key) & low_bits(depth_of(b))) == load(m_, b.pattern);
  }
  record* search(std::uint64_t key) const {
    for (record& r : block_of(key).slots)
      if (load(m_, r.key) == key) return &r;
    return nullptr;
  }

  std::uint64_t new_block(unsigned depth, std::uint64_t pattern) {
    std::uint64_t at = around_.memory.allocate(sizeof(block));
    if (at == 0) return 0;
    around_.memory.fill(at, sizeof(block), 0xff);
    store(m_, block_at(at).depth, depth);
    store(m_, block_at(at).pattern, pattern);
    return at;
  }
  void move(block& from, block& to, unsigned depth) {
    record* next = to.slots;
    for (record& r : from.slots) {
      std::uint64_t key = load(m_, r.key);
      if (!takes(key) || !fits(from, key) || (around_.hash(key) >> depth & 1) == 0) continue;
      store(m_, next->value, load(m_, r.value));
      store(m_, next->key, key);
      ++next;
      ++around_.records_moved;
    }
  }
  void deepen(block& b, unsigned depth) {
    (void)publish(m_, b.depth, depth, after_nothing("as published, or the last step"),
                  "extendible.split.depth");
  }

  /// Both halves' entries are written, each one durable before the next.
  void update_directory(block& old, std::uint64_t made, std::uint64_t pattern, unsigned depth) {
    std::uint64_t step = std::uint64_t{1} << depth, old_at = around_.memory.offset_of(&old);
    for (std::uint64_t x = pattern & (step - 1); x < capacity(); x += step)
      (void)publish(m_, entries(directory())[x], (x & step) != 0 ? made : old_at,
                    after_nothing("one entry after another"), "extendible.split.entry");
  }
  void double_directory(std::uint64_t wider, block& old, std::uint64_t made,
                        std::uint64_t pattern) {
    unsigned depth = global_depth();
    std::uint64_t narrow = directory(), count = std::uint64_t{1} << depth;
    for (std::uint64_t x = 0; x < 2 * count; ++x)
      store(m_, entries(wider)[x], load(m_, entries(narrow)[x % count]));
    store(m_, entries(wider)[pattern % count], around_.memory.offset_of(&old));
    store(m_, entries(wider)[pattern], made);
    // As published: the directory that goes is written back, and not the one that comes.
    bool old_one = !around_.mends(old_directory_flushed);
    (void)persist(m_, extent{entries(old_one ? narrow : wider), (old_one ? count : 2 * count) * 8},
                  "extendible.double.directory");
    name(wider, depth + 1);
    around_.memory.release(narrow, directory_bytes(depth));
  }
  void name(std::uint64_t directory, unsigned depth) {
    if (in_one_word()) {
      // COMMIT: the directory is the directory
      (void)publish(m_, root().directory, directory | depth, after_nothing("it is durable"),
                    "extendible.double.root");
      return;
    }
    auto set = [&](pm<std::uint64_t>& word, std::uint64_t value) {
      (void)publish(m_, word, value, after_nothing("one word after another"),
                    "extendible.double.words");
    };
    set(root().directory, directory);
    set(root().capacity, std::uint64_t{1} << depth);
    set(root().global_depth, depth);
  }

  /// Mended recovery: an entry names the deepest block whose pattern it has; a block is as deep as
  /// its entries say.
  void finish_split(const std::set<std::uint64_t>& blocks) {
    std::vector<std::uint64_t> named(capacity());
    for (std::uint64_t at : blocks) {
      block& b = block_at(at);
      std::uint64_t step = std::uint64_t{1} << depth_of(b);
      for (std::uint64_t x = load(m_, b.pattern) % step; x < capacity(); x += step)
        if (named[x] == 0 || depth_of(block_at(named[x])) < depth_of(b)) named[x] = at;
    }
    std::map<std::uint64_t, std::uint64_t> counts;
    for (std::uint64_t x = 0; x < capacity(); ++x) {
      ++counts[named[x]];
      if (load(m_, entries(directory())[x]) != named[x])
        (void)publish(m_, entries(directory())[x], named[x], after_nothing("it is durable"),
                      "extendible.recover.entry");
    }
    for (auto [at, count] : counts) {
      unsigned depth = global_depth() - log2_ceiling(count);
      if (depth != depth_of(block_at(at))) deepen(block_at(at), depth);
    }
  }

  surroundings<M>& around_;
  M& m_;
  std::uint64_t blocks_ = 0;
};

}  // namespace durahash::baselines
