// TurboHash as its authors published it (SYSTOR'23, turbo_hash_pmem.h): shards of 256-byte buckets,
// which are probed one after the other up to the first that is not full. The engine `turbo` has the
// same layout, and holes of this code closed.
//
// Insert   tag, key and value, then the meta word: valid, deleted, number. Of the bucket only the
//          meta word's line is written back.
// Update   the same, in the bucket's empty slot.
// Erase    the slot's deleted bit, in the meta word.
// Growth   a shard is laid out anew at twice its size; its descriptor has two places and a version.
#pragma once

#include <bit>
#include <optional>
#include <vector>

#include "bench/baselines/design.hpp"

namespace durahash::baselines {

struct turbo_form {
  unsigned slots;          // of a bucket; one of them stays empty, for updates
  unsigned scope;          // buckets that a search looks at
  unsigned least_shards;   // a power of two
  unsigned first_buckets;  // of a shard, at most, to begin with
};

template <class M, turbo_form Form>
class turbo_published {
 public:
  enum hole_index {
    slot_not_flushed,
    descriptor_in_two_lines,
    laid_out_of_reach,
    read_before_durable
  };

  explicit turbo_published(surroundings<M>& around) : around_(around), m_(around.memory.medium()) {}

  static bool takes(std::uint64_t) { return true; }

  bool create(std::uint64_t capacity) {
    const std::uint64_t wanted = (capacity + Form.slots - 1) / Form.slots;  // buckets
    const std::uint64_t count = std::max<std::uint64_t>(
        Form.least_shards, std::bit_ceil((wanted + Form.first_buckets - 1) / Form.first_buckets));
    const std::uint64_t buckets = std::bit_ceil((wanted + count - 1) / count);
    const std::uint64_t made = around_.memory.allocate(directory_bytes(count));
    if (made == 0) return false;
    store(m_, root().shards, count);
    store(m_, root().directory, made);
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t array = around_.memory.allocate(buckets * sizeof(bucket));
      if (array == 0) return false;
      around_.memory.fill(array, buckets * sizeof(bucket), 0);
      (void)persist(m_, extent{at(array), buckets * sizeof(bucket)},
                    "turbo-published.create.array");
      pm<std::uint64_t>* d = descriptor(i);
      store(m_, d[0], with_size(1, 1, buckets));
      store(m_, d[1], array);
      store(m_, d[2], 0);
      (void)persist(m_, extent_of(d[0]), "turbo-published.create.descriptor");
      shards_.push_back({array, buckets});
    }
    (void)persist(m_, extent_of(root()), "turbo-published.create.root");
    return true;
  }

  error recover() {
    if (around_.mends(read_before_durable)) around_.memory.settle();
    const std::uint64_t count = load(m_, root().shards);
    if (count == 0 || count > max_shards ||
        !around_.memory.reach(load(m_, root().directory), directory_bytes(count)))
      return unrecoverable("the directory lies outside of the memory");
    shards_.clear();
    for (std::uint64_t i = 0; i < count; ++i) {
      pm<std::uint64_t>* d = descriptor(i);
      const std::uint64_t version = load(m_, d[0]) & 0xff;
      if (version != 1 && version != 2) return unrecoverable("a descriptor has no version");
      const unsigned bits = load(m_, d[0]) >> (8 * version) & 0xff;
      shards_.push_back({load(m_, d[version]), std::uint64_t{1} << (bits % 32)});
      if (!around_.memory.reach(shards_[i].array, shards_[i].buckets * sizeof(bucket)))
        return unrecoverable("a descriptor names an array outside of the memory");
    }
    return recovered();
  }

  bool find(std::uint64_t key, std::uint64_t& value) {
    const place p = search(key);
    if (p.in != nullptr) value = load(m_, p.in->slots[p.slot].value);
    return p.in != nullptr;
  }

  bool add(std::uint64_t key, std::uint64_t value) {
    const place p = place_for(key);
    if (p.in != nullptr) fill(p, key, value, 0);
    return p.in != nullptr;
  }

  status change(std::uint64_t key, std::uint64_t value) {
    const place old = search(key);
    if (old.in == nullptr) return status::not_found;
    fill({old.in, lowest(~valid(*old.in))}, key, value, 1u << old.slot);
    return status::ok;
  }

  bool remove(std::uint64_t key) {
    const place p = search(key);
    if (p.in == nullptr) return false;
    const std::uint64_t meta = load(m_, p.in->meta);
    // COMMIT: the key is gone
    (void)publish(m_, p.in->meta, (meta | std::uint64_t{1} << (16 + p.slot)) + one_change,
                  after_nothing("one word"), "turbo-published.erase");
    return true;
  }

  // crash before the version: the descriptor names the old array, and the new one is free.
  // crash after it: the new array, which is durable.
  bool grow(std::uint64_t key) {
    const std::uint64_t number = shard_of(key);
    const array_place old = shards_[number];
    // Where a record finds no room the published code ends the program.
    for (std::uint64_t buckets = 2 * old.buckets; buckets <= max_growth * old.buckets;
         buckets *= 2) {
      const std::uint64_t made = around_.memory.allocate(buckets * sizeof(bucket));
      if (made == 0) return false;
      if (const auto image = laid_out(old, buckets)) {
        store_bytes(m_, at(made), image->data(), buckets * sizeof(bucket));
        (void)persist(m_, extent{at(made), buckets * sizeof(bucket)}, "turbo-published.grow.array");
        name(number, {made, buckets});
        around_.memory.release(old.array, old.buckets * sizeof(bucket));
        return true;
      }
      around_.memory.release(made, buckets * sizeof(bucket));
    }
    return false;
  }

  template <class Visit>
  void scan(const Visit& visit) {
    for (const array_place& s : shards_)
      for_each_record(
          s, [&](const record& r, std::uint64_t) { visit(load(m_, r.key), load(m_, r.value)); });
  }
  /// Buckets that a search for an absent key looks at, over all homes: the mean and the most.
  void add_figures(std::vector<std::pair<std::string, double>>& to) const {
    std::uint64_t homes = 0, sum = 0, most = 0;
    for (const array_place& s : shards_)
      for (std::uint64_t home = 0; home < s.buckets; ++home) {
        std::uint64_t length = 0;
        on_path(s, home, [&](bucket& b) { return ++length, is_full(valid(b)); });
        ++homes, sum += length, most = std::max(most, length);
      }
    to.emplace_back("negative_probe_mean", static_cast<double>(sum) / static_cast<double>(homes));
    to.emplace_back("negative_probe_max", static_cast<double>(most));
  }
  std::uint64_t slots() const {
    std::uint64_t sum = 0;
    for (const array_place& s : shards_) sum += s.buckets * Form.slots;
    return sum;
  }

 private:
  static constexpr unsigned usable = Form.slots - 1;
  static constexpr unsigned all_slots = (1u << Form.slots) - 1;
  static constexpr std::uint64_t one_change = std::uint64_t{1} << 32;
  static constexpr std::uint64_t max_shards = std::uint64_t{1} << 32, max_growth = 1 << 10;

  struct root_words {
    pm<std::uint64_t> shards, directory;
  };
  struct bucket {
    pm<std::uint64_t> meta;  // valid and deleted, 16 bits each, and a number of 32
    pm<std::uint64_t> unused;
    pm<std::uint64_t> tags[2];  // a byte for each slot
    record slots[Form.slots];
  };
  static_assert(sizeof(bucket) % line_bytes == 0 && Form.slots <= 14);
  struct array_place {
    std::uint64_t array, buckets;
  };
  struct place {
    bucket* in = nullptr;
    unsigned slot = 0;
  };
  /// What a new array will be.
  using words = std::vector<std::uint64_t>;
  static constexpr std::uint64_t words_per_bucket = sizeof(bucket) / 8;

  root_words& root() const { return around_.memory.template root<root_words>(); }
  bucket* at(std::uint64_t array) const { return around_.memory.template at<bucket>(array); }

  // ---- the directory: a descriptor is a version, two sizes and two places

  /// As published descriptors have 24 bytes, so that two of eight lie in two lines.
  std::uint64_t descriptor_words() const { return around_.mends(descriptor_in_two_lines) ? 4 : 3; }
  std::uint64_t directory_bytes(std::uint64_t count) const {
    return align_up(count * descriptor_words() * 8, line_bytes);
  }
  pm<std::uint64_t>* descriptor(std::uint64_t shard) const {
    return around_.memory.template at<pm<std::uint64_t>>(load(m_, root().directory)) +
           shard * descriptor_words();
  }
  static std::uint64_t with_size(std::uint64_t word, std::uint64_t version, std::uint64_t buckets) {
    const unsigned shift = static_cast<unsigned>(8 * version);
    return (word & ~(std::uint64_t{0xff} << shift)) | std::uint64_t{log2_ceiling(buckets)} << shift;
  }
  /// Of the descriptor the line is written back that it begins in.
  void name(std::uint64_t shard, const array_place& made) {
    pm<std::uint64_t>* d = descriptor(shard);
    const std::uint64_t version = 3 - (load(m_, d[0]) & 0xff);
    store(m_, d[version], made.array);
    store(m_, d[0], with_size(load(m_, d[0]), version, made.buckets));
    (void)persist(m_, extent_of(d[0]), "turbo-published.grow.descriptor");
    // COMMIT: the shard is the new array
    (void)publish(m_, d[0], (load(m_, d[0]) & ~std::uint64_t{0xff}) | version,
                  after_nothing("as published"), "turbo-published.grow.version");
    shards_[shard] = made;
  }

  // ---- search

  static unsigned lowest(unsigned bits) { return static_cast<unsigned>(std::countr_zero(bits)); }
  unsigned valid(const bucket& b) const { return load(m_, b.meta) & all_slots; }
  unsigned deleted(const bucket& b) const { return load(m_, b.meta) >> 16 & all_slots; }
  /// A search goes on behind it.
  static bool is_full(unsigned valid) { return std::popcount(valid) >= int{usable}; }

  std::uint64_t shard_of(std::uint64_t key) const {
    return around_.hash(key) >> 32 & (shards_.size() - 1);
  }
  std::uint8_t tag_of(std::uint64_t key) const {
    return static_cast<std::uint8_t>(around_.hash(key) >> 16);
  }
  /// Without that of its shard's size.
  std::uint64_t home_of(std::uint64_t key) const { return around_.hash(key, 1); }
  std::uint8_t tag(const bucket& b, unsigned slot) const {
    return static_cast<std::uint8_t>(load(m_, b.tags[slot / 8]) >> (8 * (slot % 8)));
  }

  /// The buckets of a path, until one of them says that it is the last.
  template <class Each>
  void on_path(const array_place& s, std::uint64_t home, const Each& each) const {
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(Form.scope, s.buckets); ++i)
      if (!each(at(s.array)[(home + i) & (s.buckets - 1)])) return;
  }
  place search(std::uint64_t key) const {
    place found;
    on_path(shards_[shard_of(key)], home_of(key), [&](bucket& b) {
      const unsigned live = valid(b) & ~deleted(b);
      for (unsigned left = live; left != 0; left &= left - 1) {
        const unsigned slot = lowest(left);
        if (tag(b, slot) == tag_of(key) && load(m_, b.slots[slot].key) == key)
          return found = {&b, slot}, false;
      }
      return is_full(valid(b));
    });
    return found;
  }
  /// A deleted slot of the path; the last of its buckets that has one, as published. Else an empty
  /// one of the bucket that ends it.
  place place_for(std::uint64_t key) const {
    place chosen;
    on_path(shards_[shard_of(key)], home_of(key), [&](bucket& b) {
      if (deleted(b) != 0) chosen = {&b, lowest(deleted(b))};
      if (is_full(valid(b))) return true;
      if (chosen.in == nullptr) chosen = {&b, lowest(~valid(b))};
      return false;
    });
    return chosen;
  }

  // ---- change

  // crash before the meta word's store: the slot is empty or deleted as before. After: the record
  //   is there, and the old version is not; but for the slot's line (hole slot-not-flushed).
  void fill(const place& p, std::uint64_t key, std::uint64_t value, unsigned old) {
    bucket& b = *p.in;
    record& r = b.slots[p.slot];
    const unsigned shift = 8 * (p.slot % 8);
    pm<std::uint64_t>& tags = b.tags[p.slot / 8];
    store(m_, tags,
          (load(m_, tags) & ~(std::uint64_t{0xff} << shift)) | std::uint64_t{tag_of(key)} << shift);
    store(m_, r.key, key);
    store(m_, r.value, value);
    if (around_.mends(slot_not_flushed))
      (void)persist(m_, extent_of(r), "turbo-published.write.slot");
    const unsigned bit = 1u << p.slot;
    const std::uint64_t meta = (load(m_, b.meta) | bit) & ~(std::uint64_t{bit} << 16);
    // COMMIT: the key has this value
    (void)publish(m_, b.meta, (meta ^ old) + one_change, after_nothing("as published"),
                  "turbo-published.write");
  }

  // ---- growth

  template <class Each>
  void for_each_record(const array_place& s, const Each& each) const {
    for (std::uint64_t i = 0; i < s.buckets; ++i) {
      bucket& b = at(s.array)[i];
      for (unsigned left = valid(b) & ~deleted(b); left != 0; left &= left - 1)
        each(b.slots[lowest(left)], tag(b, lowest(left)));
    }
  }
  /// The records in new buckets, each of which is filled from its first slot. Nothing where one of
  /// them finds no room. As published that is looked for one bucket further than searches go.
  std::optional<words> laid_out(const array_place& from, std::uint64_t buckets) {
    const std::uint64_t reach = Form.scope + !around_.mends(laid_out_of_reach);
    words image(buckets * words_per_bucket);
    std::vector<unsigned> filled(buckets);
    std::uint64_t moved = 0;
    bool fits = true;
    for_each_record(from, [&](const record& r, std::uint64_t tag) {
      std::uint64_t i = home_of(load(m_, r.key)), distance = 0;
      while (distance < reach && filled[i & (buckets - 1)] == usable) ++i, ++distance;
      if (distance == reach) return void(fits = false);
      i &= buckets - 1;
      const unsigned slot = filled[i]++;
      std::uint64_t* b = image.data() + i * words_per_bucket;
      b[0] |= std::uint64_t{1} << slot;
      b[2 + slot / 8] |= tag << (8 * (slot % 8));
      b[4 + 2 * slot] = load(m_, r.key);
      b[4 + 2 * slot + 1] = load(m_, r.value);
      ++moved;
    });
    if (!fits) return std::nullopt;
    around_.records_moved += moved;
    return image;
  }

  surroundings<M>& around_;
  M& m_;
  std::vector<array_place> shards_;  // what the descriptors say
};

/// As published: 14 slots, searches of 15 buckets; as measured: shards of 16 buckets.
template <class M>
class turbo_as_published : public turbo_published<M, turbo_form{14, 15, 8, 16}> {
  using turbo_published<M, turbo_form{14, 15, 8, 16}>::turbo_published;
};

/// For the explorer: buckets of two lines.
template <class M>
class small_turbo : public turbo_published<M, turbo_form{6, 2, 4, 1}> {
  using turbo_published<M, turbo_form{6, 2, 4, 1}>::turbo_published;
};
/// For the explorer: a record for each bucket, so that they lie far from home.
template <class M>
class crowded_turbo : public turbo_published<M, turbo_form{2, 2, 1, 4}> {
  using turbo_published<M, turbo_form{2, 2, 1, 4}>::turbo_published;
};

}  // namespace durahash::baselines
