// Slab lists on the interpreter, with the arrays of a batch.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "bench/baselines/gpu/slab_hash.hpp"
#include "durahash/gpu_memory.hpp"
#include "test/ptx/load.hpp"

namespace durahash::ptx {

template <class T>
T* shared_array(std::size_t count) {
  void* made = gpu::allocate_shared(std::max<std::size_t>(count, 1) * sizeof(T));
  if (made == nullptr) throw std::runtime_error("no memory");
  return static_cast<T*>(made);
}

class slab_rig {
 public:
  static constexpr unsigned blocks = 4, warps = blocks * baselines::slab_warps_per_block;

  slab_rig(const device_settings& how, std::uint32_t buckets, std::uint32_t capacity, bool logs,
           std::size_t most_operations) {
    device& d = device::the_one();
    if (!load_once(d)) throw std::runtime_error(why_not_loaded());
    d.forget_memory();
    d.restart(how);
    lists.buckets = buckets, lists.capacity = capacity, lists.logs = logs;
    const std::size_t words = std::size_t{capacity} * baselines::slab_lists::words_per_slab;
    lists.slabs = shared_array<std::uint64_t>(words);
    lists.log = shared_array<std::uint64_t>(2 * warps);
    std::fill_n(lists.slabs, words, baselines::slab_lists::nothing);
    std::fill_n(lists.log, 2 * warps, 0);
    lists.slabs_in_use = static_cast<std::uint32_t*>(gpu::allocate_on(0, sizeof(std::uint32_t)));
    (void)gpu::copy_on(0, lists.slabs_in_use, &buckets, sizeof buckets);
    keys = shared_array<std::uint32_t>(most_operations),
    values = shared_array<std::uint32_t>(most_operations);
    answers = shared_array<status>(most_operations);
  }

  void run(baselines::slab_operation what, std::size_t n) {
    if (!run_slab_lists(lists, what, blocks, n, keys, values, answers))
      throw std::runtime_error(device::the_one().failure());
  }
  /// With the arrays filled: `keys` and what they shall have.
  void run(baselines::slab_operation what, const std::vector<std::uint32_t>& of,
           std::uint32_t value) {
    for (std::size_t i = 0; i < of.size(); ++i)
      keys[i] = of[i], values[i] = value + static_cast<std::uint32_t>(i);
    run(what, of.size());
  }
  std::uint32_t slabs_in_use() const {
    std::uint32_t count = 0;
    (void)gpu::copy_on(0, &count, lists.slabs_in_use, sizeof count);
    return count;
  }

  baselines::slab_lists lists = {};
  std::uint32_t *keys, *values;
  status* answers;
};

/// Lists of longer keys. Records are written where `all` has them, and then added.
class slab_record_rig {
 public:
  slab_record_rig(const device_settings& how, std::uint32_t buckets, std::uint32_t capacity,
                  std::uint32_t key_words, std::uint32_t value_words, std::size_t most)
      : lists_(how, buckets, capacity, false, 0),
        all{lists_.lists, key_hash({0x5eed, 0x9e3779b97f4a7c15}), nullptr, key_words, value_words} {
    all.words = shared_array<std::uint64_t>(most * (key_words + value_words));
    keys = shared_array<std::uint64_t>(most * key_words);
    values = shared_array<std::uint64_t>(most * value_words);
    answers = shared_array<status>(most);
    slabs_in_use = buckets;
  }

  void add(std::uint32_t number) {
    if (!add_record(all, number, slabs_in_use)) throw std::runtime_error("the lists are full");
  }
  void find(std::size_t n) {
    if (!find_records(all, slab_rig::blocks, n, keys, values, answers))
      throw std::runtime_error(device::the_one().failure());
  }

 private:
  slab_rig lists_;

 public:
  baselines::slab_records all;
  std::uint64_t *keys, *values;
  status* answers;
  std::uint32_t slabs_in_use;
};

}  // namespace durahash::ptx
