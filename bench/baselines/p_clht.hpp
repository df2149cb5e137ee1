// P-CLHT (RECIPE, SOSP'19, and its published code): buckets of one line with three records, longer
// chains where that is not enough, resized as a whole.
//
// Insert   the value, written back; then the key, written back. Into a new bucket: the bucket, then
//          the word that links it.
// Update   the value's word, Erase the key's word: between two fences, as published.
// Growth   once as many buckets were added as the array has; all records into a larger array.
//
// The published code stores a commit word past the caches (movnti) and fences. Here it is stored
// and written back: one line and one fence too.
#pragma once

#include <vector>

#include "bench/baselines/design.hpp"

namespace durahash::baselines {

template <class M>
class p_clht {
 public:
  enum hole_index { read_before_durable };

  explicit p_clht(surroundings<M>& around) : around_(around), m_(around.memory.medium()) {}

  static bool takes(std::uint64_t key) { return key != 0; }

  bool create(std::uint64_t capacity) {
    unsigned bits = log2_ceiling((capacity + records_per_bucket - 1) / records_per_bucket);
    bucket* made = new_buckets(bits);
    if (made == nullptr) return false;
    (void)persist(m_, extent{made, bytes_of(bits)}, "p-clht.create");
    name(made, bits);
    return true;
  }

  error recover() {
    if (around_.mends(read_before_durable)) around_.memory.settle();
    std::uint64_t word = load(m_, root().table);
    if (!around_.memory.reach(align_down(word, line_bytes), bytes_of(word % line_bytes)))
      return unrecoverable("the table lies outside of the memory");
    added_ = 0;
    expansions_ = 0;  // the published count is never written back
    for (std::uint64_t b = 0; b < buckets(); ++b)
      for (std::uint64_t n = load(m_, array()[b].next); n != 0; n = load(m_, at(n).next)) {
        if (!around_.memory.reach(n, sizeof(bucket)))
          return unrecoverable("a chain leads outside of the memory");
        ++added_;
      }
    return recovered();
  }

  bool find(std::uint64_t key, std::uint64_t& value) {
    place p = search(key);
    if (p.in != nullptr) value = load(m_, p.in->values[p.index]);
    return p.in != nullptr;
  }

  // crash before the key's store, or the link's: nothing is there. After: the record is there.
  bool add(std::uint64_t key, std::uint64_t value) {
    if (expansions_ >= buckets()) return false;
    bucket* last = &home(key);
    place free{};
    for (bucket* b = last; b != nullptr; b = next(*b)) {
      for (unsigned i = 0; i < records_per_bucket && free.in == nullptr; ++i)
        if (load(m_, b->keys[i]) == 0) free = {b, i};
      last = b;
    }
    return free.in != nullptr ? fill(free, key, value) : extend(*last, key, value);
  }

  status change(std::uint64_t key, std::uint64_t value) {
    place p = search(key);
    if (p.in == nullptr) return status::not_found;
    set(p.in->values[p.index], value, "p-clht.update");
    return status::ok;
  }

  bool remove(std::uint64_t key) {
    place p = search(key);
    if (p.in == nullptr) return false;
    set(p.in->keys[p.index], 0, "p-clht.erase");
    return true;
  }

  // crash before the root's store: the old table. After: the new one.
  bool grow(std::uint64_t) {
    std::uint64_t records = 0;
    scan([&](std::uint64_t, std::uint64_t) { ++records; });
    // As published: by the load in percent over 40, rounded up to a power of two.
    std::uint64_t factor = records * 100 / (buckets() * records_per_bucket) / 40;
    unsigned old_bits = bits(), wider = old_bits + std::max(1u, log2_ceiling(factor));
    bucket* old = array();
    bucket* made = new_buckets(wider);
    if (made == nullptr) return false;
    std::vector<bucket*> extra;
    if (!copy_all(made, wider, extra)) {
      release(made, wider, extra);
      return false;
    }
    flushed all = flush(m_, extent{made, bytes_of(wider)}, "p-clht.grow.array");
    for (bucket* b : extra) all += flush(m_, extent_of(*b), "p-clht.grow.chains");
    (void)fence(m_, std::move(all), "p-clht.grow.table");
    std::vector<bucket*> chained;
    for (std::uint64_t b = 0; b < buckets(); ++b)
      for (bucket* n = next(old[b]); n != nullptr; n = next(*n)) chained.push_back(n);
    name(made, wider);
    release(old, old_bits, chained);
    added_ = expansions_ = extra.size();
    around_.records_moved += records;
    return true;
  }

  template <class Visit>
  void scan(const Visit& visit) {
    for (std::uint64_t i = 0; i < buckets(); ++i)
      for (bucket* b = &array()[i]; b != nullptr; b = next(*b))
        for (unsigned r = 0; r < records_per_bucket; ++r)
          if (std::uint64_t key = load(m_, b->keys[r]); key != 0)
            visit(key, load(m_, b->values[r]));
  }
  std::uint64_t slots() const { return (buckets() + added_) * records_per_bucket; }

 private:
  static constexpr unsigned records_per_bucket = 3;

  struct root_words {
    pm<std::uint64_t> table;  // offset and, in the six low bits, the logarithm of the buckets
  };
  struct bucket {
    pm<std::uint64_t> lock;  // of the published code, which clears it at open; unused here
    pm<std::uint64_t> keys[records_per_bucket];
    pm<std::uint64_t> values[records_per_bucket];
    pm<std::uint64_t> next;  // offset
  };
  static_assert(sizeof(bucket) == line_bytes);
  struct place {
    bucket* in = nullptr;
    unsigned index = 0;
  };

  root_words& root() const { return around_.memory.template root<root_words>(); }
  unsigned bits() const { return static_cast<unsigned>(load(m_, root().table) % line_bytes); }
  std::uint64_t buckets() const { return std::uint64_t{1} << bits(); }
  bucket& at(std::uint64_t offset) const { return *around_.memory.template at<bucket>(offset); }
  bucket* array() const { return &at(align_down(load(m_, root().table), line_bytes)); }
  bucket* next(const bucket& b) const {
    std::uint64_t offset = load(m_, b.next);
    return offset == 0 ? nullptr : &at(offset);
  }
  static std::uint64_t bytes_of(unsigned bits) { return std::uint64_t{sizeof(bucket)} << bits; }
  bucket& home(std::uint64_t key) const { return array()[around_.hash(key) & (buckets() - 1)]; }
  place search(std::uint64_t key) const {
    for (bucket* b = &home(key); b != nullptr; b = next(*b))
      for (unsigned i = 0; i < records_per_bucket; ++i)
        if (load(m_, b->keys[i]) == key) return {b, i};
    return {};
  }

  bool fill(place p, std::uint64_t key, std::uint64_t value) {
    store(m_, p.in->values[p.index], value);
    (void)persist(m_, extent_of(p.in->values[p.index]), "p-clht.insert.value");
    // COMMIT: the key exists
    (void)publish(m_, p.in->keys[p.index], key, after_nothing("the value is durable"),
                  "p-clht.insert");
    return true;
  }
  bool extend(bucket& last, std::uint64_t key, std::uint64_t value) {
    bucket* made = new_bucket();
    if (made == nullptr) return false;
    store(m_, made->values[0], value);
    store(m_, made->keys[0], key);
    (void)persist(m_, extent_of(*made), "p-clht.insert.bucket");
    // COMMIT: the bucket and its record are there
    (void)publish(m_, last.next, around_.memory.offset_of(made),
                  after_nothing("the bucket is durable"), "p-clht.insert.link");
    ++added_, ++expansions_;
    return true;
  }
  void set(pm<std::uint64_t>& word, std::uint64_t value, site where) {
    durable before = fence(m_, flushed(), "p-clht.fence-before");
    // COMMIT: the key has this value, or is gone
    (void)publish(m_, word, value, after(std::move(before)), where);
  }
  void name(bucket* table, unsigned table_bits) {
    // COMMIT: the table is the table
    (void)publish(m_, root().table, around_.memory.offset_of(table) | table_bits,
                  after_nothing("the table is durable"), "p-clht.root");
  }

  bucket* new_buckets(unsigned table_bits) {
    std::uint64_t made = around_.memory.allocate(bytes_of(table_bits));
    if (made == 0) return nullptr;
    around_.memory.fill(made, bytes_of(table_bits), 0);
    return &at(made);
  }
  bucket* new_bucket() { return new_buckets(0); }

  /// Not durable yet. Returns false where there is no room.
  bool copy_all(bucket* to, unsigned to_bits, std::vector<bucket*>& extra) {
    bool done = true;
    scan([&](std::uint64_t key, std::uint64_t value) {
      bucket* b = &to[around_.hash(key) & low_bits(to_bits)];
      while (done) {
        for (unsigned i = 0; i < records_per_bucket; ++i) {
          if (load(m_, b->keys[i]) != 0) continue;
          store(m_, b->values[i], value);
          return store(m_, b->keys[i], key);
        }
        if (bucket* n = next(*b); n != nullptr) {
          b = n;
          continue;
        }
        bucket* made = new_bucket();
        if (made == nullptr) return void(done = false);
        extra.push_back(made);
        store(m_, b->next, around_.memory.offset_of(made));
      }
    });
    return done;
  }
  void release(bucket* table, unsigned table_bits, const std::vector<bucket*>& chained) {
    around_.memory.release(around_.memory.offset_of(table), bytes_of(table_bits));
    for (bucket* b : chained) around_.memory.release(around_.memory.offset_of(b), sizeof *b);
  }

  surroundings<M>& around_;
  M& m_;
  std::uint64_t added_ = 0;       // buckets in chains
  std::uint64_t expansions_ = 0;  // of them, since the array was made or opened
};

}  // namespace durahash::baselines
