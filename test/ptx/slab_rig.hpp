// Slab lists on the interpreter, with the arrays of a batch.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "bench/baselines/gpu/slab_hash.hpp"
#include "durahash/gpu_memory.hpp"
#include "test/ptx/load.hpp"

namespace durahash::ptx {

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
    lists.slabs = shared<std::uint64_t>(words);
    lists.log = shared<std::uint64_t>(2 * warps);
    std::fill_n(lists.slabs, words, baselines::slab_lists::nothing);
    std::fill_n(lists.log, 2 * warps, 0);
    lists.slabs_in_use = static_cast<std::uint32_t*>(gpu::allocate_on(0, sizeof(std::uint32_t)));
    (void)gpu::copy_on(0, lists.slabs_in_use, &buckets, sizeof buckets);
    keys = shared<std::uint32_t>(most_operations), values = shared<std::uint32_t>(most_operations);
    answers = shared<status>(most_operations);
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

 private:
  template <class T>
  static T* shared(std::size_t count) {
    void* made = gpu::allocate_shared(count * sizeof(T));
    if (made == nullptr) throw std::runtime_error("no memory");
    return static_cast<T*>(made);
  }
};

}  // namespace durahash::ptx
