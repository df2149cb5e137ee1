#include "test/ptx/budget.hpp"

#include <stdexcept>

#include "durahash/gpu_memory.hpp"
#include "durahash/map.hpp"
#include "gpu/map.hpp"
#include "gpu/table.hpp"
#include "test/ptx/slab_rig.hpp"
#include "test/store/patched_pool.hpp"
#include "test/store/scratch.hpp"

namespace durahash::ptx {
namespace {

constexpr std::size_t operations = 2'000;

struct shape {
  std::string name;
  std::map<std::string, std::uint64_t> settings;
  gpu::table_place place;
};

costs per_operation(const counts_by_kernel& all, double count) {
  counters sum;
  for (const auto& [name, c] : all) {
    sum.instructions += c.instructions;
    sum.device_requests += c.device_requests, sum.device_sectors += c.device_sectors;
    sum.host_requests += c.host_requests, sum.host_sectors += c.host_sectors;
    sum.device_atomics += c.device_atomics, sum.host_atomics += c.host_atomics;
    sum.system_fences += c.system_fences, sum.system_releases += c.system_releases;
  }
  auto each = [count](std::uint64_t n) { return static_cast<double>(n) / count; };
  return {
      {"instructions", each(sum.instructions)},      {"device_requests", each(sum.device_requests)},
      {"device_sectors", each(sum.device_sectors)},  {"host_requests", each(sum.host_requests)},
      {"host_sectors", each(sum.host_sectors)},      {"device_atomics", each(sum.device_atomics)},
      {"host_atomics", each(sum.host_atomics)},      {"system_fences", each(sum.system_fences)},
      {"system_releases", each(sum.system_releases)}};
}

class counted_map {
 public:
  counted_map(const shape& s, std::map<std::string, costs>& into) : shape_(s), into_(into) {
    start();
    make_pool();
    auto cuda = gpu::cuda_device(0);
    if (!cuda) throw std::runtime_error(cuda.failure().message);
    auto opened =
        gpu::open_on(std::move(*cuda), folder_.file("pool"),
                     {.capacity = 2 * operations, .settings = s.settings}, {.place = s.place});
    if (!opened) throw std::runtime_error(opened.failure().message);
    map_.emplace(std::move(*opened));
    keys_ = shared<std::uint64_t>(), values_ = shared<std::uint64_t>(), answers_ = shared<status>();
  }
  void count() {
    auto batch = [&](const std::string& what, std::uint64_t first_key, auto call,
                     std::uint64_t step = 1) {
      for (std::size_t i = 0; i < operations; ++i)
        keys_[i] = (first_key + i * step) * 0x9e3779b97f4a7c15u, values_[i] = i;
      device::the_one().counted().clear();
      if (call() != status::ok || map_->commit() != status::ok)
        throw std::runtime_error(what + ": " + device::the_one().failure());
      into_[what + ", " + shape_.name] = per_operation(device::the_one().counted(), operations);
    };
    auto find = [&] { return map_->find_async(operations, keys_, values_, answers_); };
    batch("insert", 0, [&] { return map_->insert_async(operations, keys_, values_, answers_); });
    batch("find hit", 0, find);
    batch("find miss", 1u << 20, find);
    batch("update", 0, [&] { return map_->update_async(operations, keys_, values_, answers_); });
    auto add = [&] { return map_->add_async(operations, keys_, values_, answers_); };
    batch("add to one key", 7, add, 0);
    batch("erase", 0, [&] { return map_->erase_async(operations, keys_, answers_); });
  }

 private:
  /// Lanes together and one warp at a time: what is counted depends on nothing else.
  static void start() {
    device& d = device::the_one();
    if (!load_once(d)) throw std::runtime_error(why_not_loaded());
    d.forget_memory();
    d.restart({.seed = 1, .apart_percent = 0, .max_resident_warps = 1});
  }
  /// An empty one, whose hashes are the same at every run.
  void make_pool() {
    std::string path = folder_.file("pool");
    options how{.engine = engine_kind::gphash, .capacity = 2 * operations};
    how.settings = shape_.settings;
    {
      auto made = map<std::uint64_t, std::uint64_t>::open(path, how);
      if (!made) throw std::runtime_error(made.failure().message);
    }
    std::string bytes = test::read_file(path);
    superblock block = test::superblock_in(bytes);
    block.seed_flip = 0x5eed, block.seed_multiply = 0x9e3779b97f4a7c15;
    test::put_superblock(bytes, block);
    test::write_as_killed(path, bytes);
  }
  template <class T>
  T* shared() {
    void* made = shape_.place == gpu::table_place::device_mirror
                     ? gpu::allocate_on(0, operations * sizeof(T))
                     : gpu::allocate_shared(operations * sizeof(T));
    if (made == nullptr) throw std::runtime_error("no memory");
    return static_cast<T*>(made);
  }

  const shape& shape_;
  std::map<std::string, costs>& into_;
  test::scratch_folder folder_;
  std::optional<gpu::map> map_;
  std::uint64_t *keys_ = nullptr, *values_ = nullptr;
  status* answers_ = nullptr;
};

/// The same workload on slab lists with so many slabs to begin with.
void count_slab_lists(const std::string& name, std::uint32_t buckets, bool logs,
                      std::map<std::string, costs>& into) {
  using enum baselines::slab_operation;
  slab_rig rig({.seed = 1, .apart_percent = 0, .max_resident_warps = 1}, buckets, 2 * buckets, logs,
               operations);
  auto batch = [&](const std::string& what, std::uint32_t first_key, auto operation) {
    for (std::size_t i = 0; i < operations; ++i)
      rig.keys[i] = (first_key + static_cast<std::uint32_t>(i)) * 0x9e3779b9u, rig.values[i] = 1;
    device::the_one().counted().clear();
    rig.run(operation, operations);
    const auto right = what == "find miss" ? status::not_found : status::ok;
    if (static_cast<std::size_t>(std::count(rig.answers, rig.answers + operations, right)) !=
        operations)
      throw std::runtime_error(what + ": a wrong answer");
    return &(into[what + ", " + name] = per_operation(device::the_one().counted(), operations));
  };
  costs& inserted = *batch("insert", 0, insert);
  inserted["load_factor"] = static_cast<double>(operations) / baselines::slab_lists::pairs /
                            static_cast<double>(rig.slabs_in_use());
  batch("find hit", 0, find);
  batch("find miss", 1u << 20, find);
  batch("update", 0, update);
  batch("erase", 0, erase);
}

}  // namespace

std::map<std::string, costs> count_budgets() {
  std::map<std::string, costs> all;
  for (const shape& s :
       {shape{"pool, levels2_hashes2_slots8", {}, gpu::table_place::pool},
        shape{"pool, levels4_hashes2_slots4",
              {{"levels", 4}, {"hashes", 2}, {"slots", 4}},
              gpu::table_place::pool},
        shape{"device mirror, levels2_hashes2_slots8", {}, gpu::table_place::device_mirror}})
    counted_map(s, all).count();
  // As many slots as the maps have; and as full as GPHash's paper lets them become.
  constexpr std::uint32_t pairs = baselines::slab_lists::pairs, half_full = 2 * operations / pairs,
                          full = operations * 10 / 8 / pairs;
  count_slab_lists("slab lists, half full", half_full, true, all);
  count_slab_lists("slab lists, 80 % full", full, true, all);
  count_slab_lists("slab lists, 80 % full, no log", full, false, all);
  return all;
}

}  // namespace durahash::ptx
