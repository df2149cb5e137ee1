// Linear probing as CCEH's evaluation has it (LINP: CCEH §6.2 and the code that its footnote 1
// names): one array of 16-byte records, rehashed as a whole at 95 % load.
//
// Insert   value, key (the same line), one write-back. The key's word is the commit.
// Update   the value's word, one write-back.
// Erase    the published code has none. Here a dead key stands in the slot, as TurboHash §5 tells
//          of open addressing; a later insertion takes the slot, a rehash drops it.
// Growth   a new array is filled and written back; then the root's words change one by one.
#pragma once

#include "bench/baselines/design.hpp"

namespace durahash::baselines {

template <class M>
class linear_probing {
 public:
  enum hole_index { root_in_words, read_before_durable };

  explicit linear_probing(surroundings<M>& around) : around_(around) {}

  static bool takes(std::uint64_t key) { return key < dead_key; }

  bool create(std::uint64_t capacity) {
    M& m = medium();
    std::uint64_t array = new_array(capacity);
    if (array == 0) return false;
    store(m, root().array, array);
    store(m, root().capacity, capacity);
    const record* slots = around_.memory.template at<record>(array);
    flushed all = flush(m, extent{slots, bytes_of(capacity)}, "linear-probing.create.array");
    all += flush(m, extent_of(root()), "linear-probing.create.root");
    (void)fence(m, std::move(all), "linear-probing.create");
    return true;
  }

  error recover() {
    M& m = medium();
    if (around_.mends(read_before_durable)) around_.memory.settle();
    std::uint64_t old_array = load(m, root().old_array), old = load(m, root().old_capacity);
    if (around_.mends(root_in_words) && old_array != 0 && old != 0) take_back(old_array, old);
    // The published code reads the two words as they are.
    if (capacity() == 0 || !around_.memory.reach(load(m, root().array), bytes_of(capacity())))
      return unrecoverable("the array lies outside of the memory");
    used_ = 0;
    for (std::uint64_t i = 0; i < capacity(); ++i) used_ += load(m, slot(i).key) != empty_key;
    return recovered();
  }

  bool find(std::uint64_t key, std::uint64_t& value) {
    record* r = search(key);
    if (r != nullptr) value = load(medium(), r->value);
    return r != nullptr;
  }

  // crash before the key's store: the slot is free as before. After: the record is there.
  bool add(std::uint64_t key, std::uint64_t value) {
    M& m = medium();
    if (full()) return false;
    for (std::uint64_t i = 0; i < capacity(); ++i) {
      record& r = slot(home(key) + i);
      std::uint64_t present = load(m, r.key);
      if (takes(present)) continue;
      store(m, r.value, value);
      // COMMIT: the key exists
      (void)publish(m, r.key, key, after_same_line(&r.key, &r.value, sizeof r.value),
                    "linear-probing.insert");
      used_ += present == empty_key;
      return true;
    }
    return false;
  }

  status change(std::uint64_t key, std::uint64_t value) {
    record* r = search(key);
    if (r == nullptr) return status::not_found;
    // COMMIT: the key has this value
    (void)publish(medium(), r->value, value, after_nothing("one word"), "linear-probing.update");
    return status::ok;
  }

  bool remove(std::uint64_t key) {
    record* r = search(key);
    if (r == nullptr) return false;
    // COMMIT: the key is gone
    (void)publish(medium(), r->key, dead_key, after_nothing("one word"), "linear-probing.erase");
    return true;
  }

  // crash before 3: the old array is in use, and the root tells of it twice.
  // crash after 3, before 4: the new array with the old capacity: records are not where they are
  //   looked for (hole root-in-words).
  // crash after 4: the new array; the root still tells of the old one.
  bool grow(std::uint64_t) {
    M& m = medium();
    std::uint64_t old_capacity = capacity(), old_array = load(m, root().array), records = 0;
    scan([&](std::uint64_t, std::uint64_t) { ++records; });
    // Where the dead fill the array, the same size is enough.
    std::uint64_t wanted = records * 2 > old_capacity ? old_capacity * 2 : old_capacity;
    std::uint64_t array = new_array(wanted);
    if (array == 0) return false;
    record* to = around_.memory.template at<record>(array);
    scan([&](std::uint64_t key, std::uint64_t value) {
      std::uint64_t i = around_.hash(key) % wanted;
      while (load(m, to[i].key) != empty_key) i = (i + 1) % wanted;
      store(m, to[i].key, key);
      store(m, to[i].value, value);
    });
    (void)persist(m, extent{to, bytes_of(wanted)}, "linear-probing.grow.array");
    set(root().old_capacity, old_capacity, "linear-probing.grow.old-capacity");  // 1
    set(root().old_array, old_array, "linear-probing.grow.old-array");           // 2
    set(root().array, array, "linear-probing.grow.root");                        // 3
    set(root().capacity, wanted, "linear-probing.grow.capacity");                // 4
    set(root().old_capacity, 0, "linear-probing.grow.no-old-capacity");          // 5
    set(root().old_array, 0, "linear-probing.grow.no-old-array");                // 6
    around_.memory.release(old_array, bytes_of(old_capacity));
    around_.records_moved += records;
    used_ = records;
    return true;
  }

  template <class Visit>
  void scan(const Visit& visit) {
    M& m = medium();
    for (std::uint64_t i = 0; i < capacity(); ++i) {
      std::uint64_t key = load(m, slot(i).key);
      if (takes(key)) visit(key, load(m, slot(i).value));
    }
  }
  std::uint64_t slots() const { return capacity(); }

 private:
  // Two keys that no record has: the published code's INVALID, and the one below it.
  static constexpr std::uint64_t empty_key = ~std::uint64_t{0}, dead_key = empty_key - 1;
  static constexpr std::uint64_t threshold_percent = 95;

  struct root_words {
    pm<std::uint64_t> array, capacity;
    pm<std::uint64_t> old_array, old_capacity;  // while a rehash changes the two above
  };

  M& medium() const { return around_.memory.medium(); }
  root_words& root() const { return around_.memory.template root<root_words>(); }
  std::uint64_t capacity() const { return load(medium(), root().capacity); }
  static std::uint64_t bytes_of(std::uint64_t capacity) { return capacity * sizeof(record); }
  record& slot(std::uint64_t i) const {
    return around_.memory.template at<record>(load(medium(), root().array))[i % capacity()];
  }
  std::uint64_t home(std::uint64_t key) const { return around_.hash(key) % capacity(); }
  bool full() const { return used_ * 100 >= capacity() * threshold_percent; }

  record* search(std::uint64_t key) const {
    for (std::uint64_t i = 0; i < capacity(); ++i) {
      record& r = slot(home(key) + i);
      std::uint64_t present = load(medium(), r.key);
      if (present == key) return &r;
      if (present == empty_key) return nullptr;
    }
    return nullptr;
  }

  /// Empty, and not yet durable. Returns 0 where there is no room.
  std::uint64_t new_array(std::uint64_t capacity) {
    std::uint64_t at = around_.memory.allocate(bytes_of(capacity));
    if (at != 0) around_.memory.fill(at, bytes_of(capacity), 0xff);
    return at;
  }

  void set(pm<std::uint64_t>& word, std::uint64_t value, site where) {
    (void)publish(medium(), word, value, after_nothing("as published: one word after another"),
                  where);
  }

  /// A rehash that had not ended is as if it had not begun.
  void take_back(std::uint64_t old_array, std::uint64_t old_capacity) {
    M& m = medium();
    store(m, root().capacity, old_capacity);
    store(m, root().array, old_array);
    (void)persist(m, extent_of(root()), "linear-probing.recover.take-back");
    set(root().old_capacity, 0, "linear-probing.recover.no-old-capacity");
    set(root().old_array, 0, "linear-probing.recover.no-old-array");
  }

  surroundings<M>& around_;
  std::uint64_t used_ = 0;  // slots that are not empty, the dead among them
};

}  // namespace durahash::baselines
