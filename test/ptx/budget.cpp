#include "test/ptx/budget.hpp"

#include <stdexcept>

#include "bench/distribution.hpp"
#include "durahash/gpu_memory.hpp"
#include "durahash/gpu_table.hpp"
#include "durahash/map.hpp"
#include "test/ptx/lone_threads.hpp"
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
    sum.instructions += c.instructions, sum.lane_instructions += c.lane_instructions;
    sum.device_requests += c.device_requests, sum.device_sectors += c.device_sectors;
    sum.host_requests += c.host_requests, sum.host_sectors += c.host_sectors;
    sum.device_atomics += c.device_atomics, sum.host_atomics += c.host_atomics;
    sum.system_fences += c.system_fences, sum.system_releases += c.system_releases;
  }
  auto each = [count](std::uint64_t n) { return static_cast<double>(n) / count; };
  return {{"instructions", each(sum.instructions)},
          {"lane_instructions", each(sum.lane_instructions)},
          {"device_requests", each(sum.device_requests)},
          {"device_sectors", each(sum.device_sectors)},
          {"host_requests", each(sum.host_requests)},
          {"host_sectors", each(sum.host_sectors)},
          {"device_atomics", each(sum.device_atomics)},
          {"host_atomics", each(sum.host_atomics)},
          {"system_fences", each(sum.system_fences)},
          {"system_releases", each(sum.system_releases)}};
}

// Lanes together and one warp at a time: what is counted depends on nothing else.
constexpr device_settings alike{.seed = 1, .apart_percent = 0, .max_resident_warps = 1};

void start() {
  device& d = device::the_one();
  if (!load_once(d)) throw std::runtime_error(why_not_loaded());
  d.forget_memory();
  d.restart(alike);
}
template <class T>
T right(result<T> made) {
  if (!made) throw std::runtime_error(made.failure().message);
  return std::move(*made);
}
/// Of a pool that is empty: the same at every run.
void set_seeds(const std::string& path) {
  std::string bytes = test::read_file(path);
  superblock block = test::superblock_in(bytes);
  block.seed_flip = 0x5eed, block.seed_multiply = 0x9e3779b97f4a7c15;
  test::put_superblock(bytes, block);
  test::write_as_killed(path, bytes);
}
void expect_all(const status* answers, status right, const std::string& what) {
  if (std::count(answers, answers + operations, right) != static_cast<long>(operations))
    throw std::runtime_error(what + ": a wrong answer. " + device::the_one().failure());
}

class counted_map {
 public:
  counted_map(const shape& s, std::map<std::string, costs>& into) : shape_(s), into_(into) {
    start();
    options how{.engine = engine_kind::gphash, .capacity = 2 * operations};
    how.settings = s.settings;
    const std::string path = folder_.file("pool");
    right(map<std::uint64_t, std::uint64_t>::open(path, how));
    set_seeds(path);
    map_.emplace(right(gpu::map::open(path, how, {.place = s.place})));
    keys_ = array<std::uint64_t>(), values_ = array<std::uint64_t>(), answers_ = array<status>();
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
    constexpr std::uint64_t absent = 1u << 20;
    batch("insert", 0, [&] { return map_->insert_async(operations, keys_, values_, answers_); });
    batch("find hit", 0, find);
    batch("find miss", absent, find);
    if (shape_.settings.empty() && shape_.place == gpu::table_place::pool) {
      auto find_alone = [&] {
        constexpr unsigned blocks = 4;
        return find_by_lone_threads(*map_, blocks, operations, keys_, values_, answers_)
                   ? status::ok
                   : status::io_error;
      };
      batch("find hit by lone threads", 0, find_alone);
      expect_all(answers_, status::ok, "find by lone threads");
      batch("find miss by lone threads", absent, find_alone);
      expect_all(answers_, status::not_found, "find by lone threads");
    }
    batch("update", 0, [&] { return map_->update_async(operations, keys_, values_, answers_); });
    auto add = [&] { return map_->add_async(operations, keys_, values_, answers_); };
    batch("add to one key", 7, add, 0);
    batch("erase", 0, [&] { return map_->erase_async(operations, keys_, answers_); });
  }

 private:
  template <class T>
  T* array() {
    if (shape_.place != gpu::table_place::device_mirror) return shared_array<T>(operations);
    void* made = gpu::allocate_on(0, operations * sizeof(T));
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

// ---- Skewed searches

/// Numbers of records, as skewed as GPHash's paper has them.
std::vector<std::uint32_t> skewed_draws(std::size_t count) {
  const bench::zipfian_ranks ranks(operations, 0.99);
  const bench::permutation order(operations, 1);
  bench::random_source random(1);
  std::vector<std::uint32_t> drawn(count);
  for (std::uint32_t& one : drawn) one = static_cast<std::uint32_t>(order(ranks.rank(random)));
  return drawn;
}

/// Of present keys, with copies of so many of a hundred buckets; behind two loads of them.
void count_with_copies(unsigned percent, std::map<std::string, costs>& into) {
  start();
  test::scratch_folder folder;
  const std::string path = folder.file("pool");
  const options how{.engine = engine_kind::gphash, .capacity = 2 * operations};
  right(map<std::uint64_t, std::uint64_t>::open(path, how));
  set_seeds(path);
  gpu::map m =
      right(gpu::map::open(path, how, {.place = gpu::table_place::pool, .cache_percent = percent}));
  auto *keys = shared_array<std::uint64_t>(operations),
       *values = shared_array<std::uint64_t>(operations);
  auto* answers = shared_array<status>(operations);
  auto key_of = [](std::uint64_t number) { return number * 0x9e3779b97f4a7c15u; };
  for (std::size_t i = 0; i < operations; ++i) keys[i] = key_of(i), values[i] = i;
  if (m.insert(operations, keys, values, answers) != status::ok)
    throw std::runtime_error(device::the_one().failure());
  const std::vector<std::uint32_t> draws = skewed_draws(5 * operations);
  for (std::size_t batch = 0; batch < 5; ++batch) {
    if (batch == 2 || batch == 4) m.load_cache();
    for (std::size_t i = 0; i < operations; ++i) keys[i] = key_of(draws[batch * operations + i]);
    device::the_one().counted().clear();
    m.find_async(operations, keys, values, answers);
    if (m.commit() != status::ok) throw std::runtime_error(device::the_one().failure());
    expect_all(answers, status::ok, "find with copies");
  }
  into["find hit, zipf 0.99, pool, copies of " + std::to_string(percent) + " %"] =
      per_operation(device::the_one().counted(), operations);
}

// ---- Longer keys, and values of 128 bytes

constexpr unsigned value_words = 16;

/// The key of that number: its words are all different.
void set_key(std::uint64_t* key, std::size_t number, unsigned words) {
  for (unsigned w = 0; w < words; ++w) key[w] = (number * 32 + w + 1) * 0x9e3779b97f4a7c15u;
}

/// Writes and searches of gphash's rows: of keys in their slots, or of words in front of their
/// values.
void count_rows(unsigned key_words, bool in_slots, std::map<std::string, costs>& into) {
  start();
  test::scratch_folder folder;
  const std::string path = folder.file("pool");
  options how{.engine = engine_kind::gphash, .capacity = 2 * operations};
  if (in_slots) how.settings["key_bytes"] = 8 * key_words;
  right(gpu::table::open(path, how, {.place = gpu::table_place::pool}));
  set_seeds(path);
  gpu::table rows = right(gpu::table::open(path, how, {.place = gpu::table_place::pool}));
  auto* keys = shared_array<std::uint64_t>(operations * key_words);
  auto* values = shared_array<std::uint64_t>(operations * value_words);
  auto* answers = shared_array<status>(operations);
  const std::string name = "rows, keys of " + std::to_string(8 * key_words) + " bytes" +
                           (in_slots ? "" : " before their values");
  for (std::size_t i = 0; i < operations; ++i) set_key(keys + i * key_words, i, key_words);
  auto write = [&](const std::string& what, auto&& writes) {
    device::the_one().counted().clear();
    if (writes() != status::ok) throw std::runtime_error(name + ": " + device::the_one().failure());
    expect_all(answers, status::ok, what + name);
    into[what + name] = per_operation(device::the_one().counted(), operations);
  };
  write("insert, ",
        [&] { return rows.insert(operations, keys, values, 8 * value_words, answers); });
  write("update, ",
        [&] { return rows.update(operations, keys, values, 8 * value_words, answers); });
  for (const bool there : {true, false}) {
    const std::string what = there ? "find hit, " : "find miss, ";
    for (std::size_t i = 0; i < operations; ++i)
      set_key(keys + i * key_words, there ? i : i + operations, key_words);
    device::the_one().counted().clear();
    rows.find_async(operations, keys, values, 8 * value_words, answers);
    if (rows.wait() != status::ok) throw std::runtime_error(device::the_one().failure());
    expect_all(answers, there ? status::ok : status::not_found, what + name);
    into[what + name] = per_operation(device::the_one().counted(), operations);
  }
  for (std::size_t i = 0; i < operations; ++i) set_key(keys + i * key_words, i, key_words);
  write("erase, ", [&] { return rows.erase(operations, keys, answers); });
}

/// Skewed searches and updates of rows with u64 keys in front of their values, with copies of
/// buckets.
void count_rows_with_copies(unsigned percent, std::map<std::string, costs>& into) {
  start();
  test::scratch_folder folder;
  const std::string path = folder.file("pool");
  const options how{.engine = engine_kind::gphash, .capacity = 2 * operations};
  right(gpu::table::open(path, how, {.place = gpu::table_place::pool}));
  set_seeds(path);
  gpu::table rows = right(
      gpu::table::open(path, how, {.place = gpu::table_place::pool, .cache_percent = percent}));
  auto* keys = shared_array<std::uint64_t>(operations);
  auto* values = shared_array<std::uint64_t>(operations * value_words);
  auto* answers = shared_array<status>(operations);
  auto done = [&](status answer) {
    if (answer != status::ok) throw std::runtime_error(device::the_one().failure());
  };
  for (std::size_t i = 0; i < operations; ++i) set_key(keys + i, i, 1);
  done(rows.insert(operations, keys, values, 8 * value_words, answers));
  const std::vector<std::uint32_t> draws = skewed_draws(5 * operations);
  const std::string name = "zipf 0.99, rows, copies of " + std::to_string(percent) + " %";
  for (std::size_t batch = 0; batch < 5; ++batch) {
    if (batch == 2 || batch == 4) done(rows.load_cache());
    for (std::size_t i = 0; i < operations; ++i)
      set_key(keys + i, draws[batch * operations + i], 1);
    device::the_one().counted().clear();
    done(rows.find_async(operations, keys, values, 8 * value_words, answers));
    done(rows.wait());
    expect_all(answers, status::ok, "find, " + name);
    into["find hit, " + name] = per_operation(device::the_one().counted(), operations);
  }
  device::the_one().counted().clear();
  done(rows.update(operations, keys, values, 8 * value_words, answers));
  expect_all(answers, status::ok, "update, " + name);
  into["update, " + name] = per_operation(device::the_one().counted(), operations);
}

/// The same of slab lists with so many slabs to begin with.
void count_slab_records(unsigned key_words, std::uint32_t buckets,
                        std::map<std::string, costs>& into) {
  slab_record_rig rig(alike, buckets, 2 * buckets, key_words, value_words, operations);
  const std::string name =
      "slab lists, 80 % full, keys of " + std::to_string(8 * key_words) + " bytes";
  for (std::size_t i = 0; i < operations; ++i) {
    set_key(rig.all.record(static_cast<std::uint32_t>(i)), i, key_words);
    rig.add(static_cast<std::uint32_t>(i));
  }
  for (const bool there : {true, false}) {
    const std::string what = there ? "find hit, " : "find miss, ";
    for (std::size_t i = 0; i < operations; ++i)
      set_key(rig.keys + i * key_words, there ? i : i + operations, key_words);
    device::the_one().counted().clear();
    rig.find(operations);
    expect_all(rig.answers, there ? status::ok : status::not_found, what + name);
    into[what + name] = per_operation(device::the_one().counted(), operations);
  }
}

/// The same workload on slab lists with so many slabs to begin with.
void count_slab_lists(const std::string& name, std::uint32_t buckets, bool logs,
                      std::map<std::string, costs>& into) {
  using enum baselines::slab_operation;
  slab_rig rig(alike, buckets, 2 * buckets, logs, operations);
  auto batch = [&](const std::string& what, std::uint32_t first_key, auto operation) {
    for (std::size_t i = 0; i < operations; ++i)
      rig.keys[i] = (first_key + static_cast<std::uint32_t>(i)) * 0x9e3779b9u, rig.values[i] = 1;
    device::the_one().counted().clear();
    rig.run(operation, operations);
    expect_all(rig.answers, what == "find miss" ? status::not_found : status::ok, what);
    return &(into[what + ", " + name] = per_operation(device::the_one().counted(), operations));
  };
  costs& inserted = *batch("insert", 0, insert);
  inserted["load_factor"] = static_cast<double>(operations) / baselines::slab_lists::pairs /
                            static_cast<double>(rig.slabs_in_use());
  batch("find hit", 0, find);
  batch("find miss", 1u << 20, find);
  batch("update", 0, update);
  const std::vector<std::uint32_t> draws = skewed_draws(operations);
  for (std::size_t i = 0; i < operations; ++i) rig.keys[i] = draws[i] * 0x9e3779b9u;
  device::the_one().counted().clear();
  rig.run(find, operations);
  into["find hit, zipf 0.99, " + name] = per_operation(device::the_one().counted(), operations);
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
  for (unsigned percent : {0u, 20u}) {
    count_with_copies(percent, all);
    count_rows_with_copies(percent, all);
  }
  // As many slots as the maps have; and as full as GPHash's paper lets them become.
  constexpr std::uint32_t pairs = baselines::slab_lists::pairs, half_full = 2 * operations / pairs,
                          full = operations * 10 / 8 / pairs;
  count_slab_lists("slab lists, half full", half_full, true, all);
  count_slab_lists("slab lists, 80 % full", full, true, all);
  count_slab_lists("slab lists, 80 % full, no log", full, false, all);
  count_rows(1, false, all);
  for (unsigned key_words : {1u, 4u, 16u}) {
    count_rows(key_words, true, all);
    count_slab_records(key_words, full, all);
  }
  return all;
}

}  // namespace durahash::ptx
