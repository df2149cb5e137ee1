#include "bench/reproduce/subject.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>

#include "bench/baselines/registry.hpp"
#include "bench/client.hpp"
#include "bench/clock.hpp"
#include "bench/scratch_pool.hpp"
#include "durahash/emulated.hpp"

namespace durahash::reproduce {
namespace {

bench::request request_of(const setup& made) {
  bench::request asked;
  asked.path = bench::default_path();
  asked.medium = made.medium;
  asked.durability = made.durability;
  asked.settings = made.settings;
  asked.shape = made.shape;
  asked.flush_latency_ns = made.flush_ns;
  asked.block_latency_ns = made.block_ns;
  asked.read_latency_ns = made.read_ns;
  return asked;
}

options options_of(const setup& made) {
  options how = bench::options_of(request_of(made), made.engine);
  how.capacity = made.capacity;
  return how;
}

template <class Table>
Table opened(const std::string& path, const options& how) {
  auto pool = Table::open(path, how);
  if (!pool) throw bench::failure(pool.failure().code, pool.failure().message);
  return std::move(*pool);
}

template <class Table, class Client>
class pool_subject final : public subject {
 public:
  pool_subject(const setup& made, Table pool)
      : table_(std::move(pool)), client_(table_, made.shape, 1) {}

  bool insert(std::uint64_t key) override { return client_.insert(key, 0) == 1; }
  bool update(std::uint64_t key, bench::generation g) override {
    return client_.update(key, g) == 1;
  }
  bool get(std::uint64_t key) override { return client_.get(key) == 1; }
  bool get_absent(std::uint64_t key) override { return client_.get_absent(key) == 1; }
  bool erase(std::uint64_t key) override { return client_.erase(key) == 1; }

  media_counts counts() override { return table_.stats().media; }
  double figure(const std::string& name) override {
    for (const auto& [has, value] : table_.stats().figures)
      if (has == name) return value;
    throw bench::failure(status::invalid_argument, "there is no figure " + name);
  }
  pool_info info() override { return table_.info(); }
  void reserve(std::uint64_t records) override { expect(table_.reserve(records)); }
  void compact() override { expect(table_.compact()); }

 private:
  static void expect(status s) {
    if (s != status::ok) throw bench::failure(s, std::string(message(s)));
  }

  Table table_;
  Client client_;
};

class baseline_subject final : public subject {
 public:
  baseline_subject(const setup& made, std::uint64_t seed)
      : what_(*baselines::baseline_of(made.baseline)) {
    const bool emulated = made.medium == medium_kind::emulated;
    wanted_.medium = emulated                                     ? made.medium
                     : made.durability == durability_level::power ? medium_kind::pmem
                                                                  : medium_kind::memory;
    wanted_.seed = seed;
    if (auto holes = made.settings.find("mended"); holes != made.settings.end())
      wanted_.mended = static_cast<std::uint32_t>(holes->second);
    wanted_.added = {made.flush_ns, made.block_ns, made.read_ns};
    make_with(made.capacity != 0 ? made.capacity : smallest);
  }

  bool insert(std::uint64_t key) override {
    return table_->insert(key, bench::value_of(key, 0)) == status::ok;
  }
  bool update(std::uint64_t key, bench::generation g) override {
    return table_->update(key, bench::value_of(key, g)) == status::ok;
  }
  bool get(std::uint64_t key) override {
    std::uint64_t value = 0;
    return table_->get(key, value) == status::ok && bench::value_belongs(key, value);
  }
  bool get_absent(std::uint64_t key) override {
    std::uint64_t value = 0;
    return table_->get(key, value) == status::not_found;
  }
  bool erase(std::uint64_t key) override { return table_->erase(key) == status::ok; }

  media_counts counts() override { return table_->counts(); }
  double figure(const std::string& name) override {
    for (const auto& [has, value] : table_->figures())
      if (has == name) return value;
    throw bench::failure(status::invalid_argument, "there is no figure " + name);
  }
  pool_info info() override {
    pool_info facts;
    facts.records = table_->size();
    facts.slots = table_->slots();
    facts.load_factor = table_->load_factor();
    facts.live_bytes = table_->bytes();
    return facts;
  }
  void reserve(std::uint64_t records) override {
    if (table_->size() == 0) return make_with(2 * records);
    throw bench::failure(status::invalid_argument, "a baseline gets its room when it is made");
  }
  void compact() override {
    throw bench::failure(status::invalid_argument, "a baseline is never compacted");
  }

 private:
  static constexpr std::uint64_t smallest = 256;  // slots

  void make_with(std::uint64_t capacity) {
    wanted_.capacity = capacity;
    auto made = what_.make(wanted_);
    if (!made) throw bench::failure(made.failure().code, made.failure().message);
    table_ = std::move(*made);
  }

  const baselines::baseline& what_;
  baselines::request wanted_;
  std::unique_ptr<baselines::table> table_;
};

template <class Table, class Client>
std::unique_ptr<subject> make_of(const setup& made) {
  Table pool = opened<Table>(bench::default_path(), options_of(made));
  bench::remove_scratch(request_of(made));
  return std::make_unique<pool_subject<Table, Client>>(made, std::move(pool));
}

/// Loads the pool, and dies with it open.
[[noreturn]] void load_and_die(const setup& made, const std::string& path, std::uint64_t seed,
                               std::uint64_t records) try {
  repeat_pool_seeds(seed);
  auto pool = opened<bench::word_map>(path, options_of(made));
  const bench::key_space keys(seed);
  for (std::uint64_t i = 0; i < records; ++i)
    if (pool.insert(keys.key(i), i) != status::ok) ::_exit(1);
  ::kill(::getpid(), SIGKILL);
  ::_exit(1);
} catch (...) {
  ::_exit(1);
}

double one_reopening(const setup& made, std::uint64_t seed, std::uint64_t records) {
  struct remover {
    bench::request asked;
    ~remover() { bench::remove_scratch(asked); }
  } at_end{request_of(made)};
  const pid_t child = ::fork();
  if (child == 0) load_and_die(made, at_end.asked.path, seed, records);
  int ended = 0;
  if (child < 0 || ::waitpid(child, &ended, 0) != child || !WIFSIGNALED(ended))
    throw bench::failure(status::unusable,
                         "the process that was to be killed could not load its pool");
  options how = options_of(made);
  how.mode = open_mode::open_existing;
  const auto began = std::chrono::steady_clock::now();
  auto pool = opened<bench::word_map>(at_end.asked.path, how);
  const bool there = pool.contains(bench::key_space(seed).key(0));
  const double seconds = bench::seconds_between(began, std::chrono::steady_clock::now());
  if (!there || pool.size() != records)
    throw bench::failure(status::damaged, "records are lost after a kill");
  return seconds;
}

}  // namespace

setup setup::with(const std::string& name, std::uint64_t value) const {
  setup other = *this;
  other.settings[name] = value;
  return other;
}
setup setup::on(medium_kind kind) const {
  setup other = *this;
  other.medium = kind;
  return other;
}
setup setup::for_records(std::uint64_t records) const {
  setup other = *this;
  other.capacity = records;
  return other;
}
setup setup::with_bytes(std::size_t key_bytes, std::size_t value_bytes) const {
  setup other = *this;
  other.shape = {data_kind::bytes, key_bytes, value_bytes};
  return other;
}
setup setup::with_latencies(std::uint32_t flush, std::uint32_t block, std::uint32_t read) const {
  setup other = on(medium_kind::emulated);
  other.flush_ns = flush, other.block_ns = block, other.read_ns = read;
  return other;
}

std::string setup::text() const {
  std::string all(baseline.empty() ? name_of(engine) : baseline);
  for (const auto& [name, value] : settings) all += fmt::format(", {} {}", name, value);
  if (capacity != 0) all += fmt::format(", capacity {}", capacity);
  if (shape.kind == data_kind::bytes)
    all += fmt::format(", keys of {} bytes and values of {}", shape.key_bytes, shape.value_bytes);
  if (medium != medium_kind::memory) all += fmt::format(", medium {}", name_of(medium));
  if (flush_ns + block_ns + read_ns != 0)
    all += fmt::format(", a flush {} ns, a block written {} ns, read {} ns longer", flush_ns,
                       block_ns, read_ns);
  if (durability != durability_level::power) all += fmt::format(", level {}", name_of(durability));
  return all;
}

setup baseline_named(std::string_view name) {
  setup made;
  made.baseline = name;
  return made;
}

std::unique_ptr<subject> make(const setup& made, std::uint64_t seed) {
  if (!made.baseline.empty()) return std::make_unique<baseline_subject>(made, seed);
  repeat_pool_seeds(seed);
  return made.shape.kind == data_kind::u64 ? make_of<bench::word_map, bench::word_client>(made)
                                           : make_of<table, bench::bytes_client>(made);
}

double seconds_to_reopen(const setup& made, std::uint64_t seed, std::uint64_t records) {
  setup in_file = made.on(medium_kind::file);
  in_file.durability = durability_level::process;
  std::vector<double> seconds;
  for (int run = 0; run < 3; ++run) seconds.push_back(one_reopening(in_file, seed, records));
  std::sort(seconds.begin(), seconds.end());
  return seconds[1];
}

}  // namespace durahash::reproduce
