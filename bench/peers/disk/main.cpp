// One store on one disk, cell by cell; a line of JSON for each. scripts/bench_disk.py starts it.
//
//   durahash_disk_peers STORE MODE FOLDER words|bytes RECORDS SECONDS CELL...
//
// FOLDER is made, and removed with what is in it. RECORDS are loaded first, in groups of 10,000.
// A cell, each with new keys where it writes:
//   put:GROUP:THREADS   puts for SECONDS, at most 1,000,000, each group durable on return as the
//                       mode says
//   get:1:THREADS       gets of the loaded records
//   fill:GROUP:OPS      so many puts by one thread, and closes; the last cell
//   dsync|fdatasync|stream|random:BYTES:1   of the store `raw`: writes of so many bytes
#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>

#include "bench/clock.hpp"
#include "bench/histogram.hpp"
#include "bench/peers/disk/counters.hpp"
#include "bench/peers/disk/raw_disk.hpp"
#include "bench/peers/disk/store.hpp"
#include "bench/thread_group.hpp"

namespace durahash::peers {
namespace {

struct cell {
  std::string kind;
  std::uint64_t group = 1;    // of a raw write its bytes
  std::uint64_t threads = 1;  // of fill the operations
};

cell cell_of(const std::string& text) {
  std::size_t first = text.find(':'), second = text.find(':', first + 1);
  if (second == std::string::npos) fail("not a cell: " + text);
  return {text.substr(0, first), std::stoull(text.substr(first + 1)),
          std::stoull(text.substr(second + 1))};
}

struct outcome {
  std::uint64_t ops = 0;
  double seconds = 0;
  bench::histogram latencies;  // ticks a group
};

void print(const std::string& name, const outcome& found, const write_counts& before,
           const write_counts& after) {
  double ns = bench::ns_per_tick(), ops = static_cast<double>(found.ops);
  auto at = [&](double share) { return static_cast<double>(found.latencies.quantile(share)) * ns; };
  fmt::print(R"({{"cell": "{}", "ops": {}, "seconds": {:.6f}, "per_second": {:.1f}, )"
             R"("latency_ns": {{"p50": {:.0f}, "p99": {:.0f}, "p999": {:.0f}, "max": {:.0f}}}, )"
             R"("process_bytes_per_op": {:.1f}, "disk_bytes_per_op": {:.1f}}})"
             "\n",
             name, found.ops, found.seconds, ops / found.seconds, at(0.5), at(0.99), at(0.999),
             static_cast<double>(found.latencies.max()) * ns,
             static_cast<double>(after.process - before.process) / ops,
             static_cast<double>(after.disk - before.disk) / ops);
  std::fflush(stdout);
}

/// Runs `step(thread)`, which does some operations and says how many, on each thread until the time
/// is up or the thread has done `most`.
template <class Step>
outcome run_for(double seconds, std::uint64_t threads, std::uint64_t most, Step&& step) {
  std::vector<outcome> parts(threads);
  auto limit = static_cast<bench::ticks>(seconds * 1e9 / bench::ns_per_tick());
  bench::thread_group_result thread_group =
      bench::run_threads(static_cast<unsigned>(threads), [&](unsigned t) {
        outcome& mine = parts[t];
        bench::ticks begin = __rdtsc(), before = begin;
        while (before - begin < limit && mine.ops < most) {
          mine.ops += step(t);
          bench::ticks now = __rdtsc();
          mine.latencies.record(now - before);
          before = now;
        }
      });
  outcome all;
  all.seconds = thread_group.seconds;
  for (const outcome& one : parts) {
    all.ops += one.ops;
    all.latencies.merge(one.latencies);
  }
  return all;
}

constexpr std::uint64_t no_limit = ~std::uint64_t{0};
/// Of a cell: a fast store should not go on with a table much larger than the others'.
constexpr std::uint64_t max_puts = 1'000'000;

/// The n-th key of a stretch; keys of different stretches differ.
std::uint64_t key_of(std::uint64_t stretch, std::uint64_t n) {
  return bench::mix(stretch << 40 | n);
}

class run {
 public:
  run(store_request asked, std::uint64_t records, double seconds)
      : asked_(std::move(asked)), records_(records), seconds_(seconds), counter_(asked_.folder) {}

  void raw(const cell& c, const std::string& name) {
    auto kind = c.kind == "dsync"       ? raw_kind::dsync
                : c.kind == "fdatasync" ? raw_kind::fdatasync
                : c.kind == "stream"    ? raw_kind::stream
                                        : raw_kind::random;
    raw_disk disk(asked_.folder, kind, c.group);
    write_counts before = counter_.now();
    auto begin = std::chrono::steady_clock::now();
    outcome found = run_for(seconds_, 1, no_limit, [&](unsigned) { return disk.write(), 1; });
    disk.finish();
    found.seconds = bench::seconds_between(begin, std::chrono::steady_clock::now());
    print(name, found, before, counter_.now());
  }

  void open_and_load() {
    for (auto open : {open_durahash, open_sqlite, open_lmdb, open_rocksdb})
      if (!store_) store_ = open(asked_);
    if (!store_) fail("there is no store " + asked_.name);
    auto loader = store_->new_session();
    put(*loader, next_stretch_++, 0, records_, 10'000);
  }

  void measure(const cell& c, const std::string& name) {
    if (c.kind == "fill") counter_.sync();  // pages that are dirty already would count for nothing
    write_counts before = counter_.now();
    outcome found = c.kind == "put"    ? puts(c)
                    : c.kind == "get"  ? gets(c)
                    : c.kind == "fill" ? fill(c)
                                       : throw std::runtime_error("there is no cell " + name);
    if (c.kind == "fill") counter_.sync();
    print(name, found, before, counter_.now());
  }

 private:
  void put(session& s, std::uint64_t stretch, std::uint64_t from, std::uint64_t count,
           std::uint64_t group) {
    std::vector<std::uint64_t> keys;
    for (std::uint64_t end = from + count; from < end; from += keys.size()) {
      keys.clear();
      for (std::uint64_t i = from; i < std::min(end, from + group); ++i)
        keys.push_back(key_of(stretch, i));
      s.put(keys);
    }
  }

  std::vector<std::unique_ptr<session>> sessions(std::uint64_t threads) {
    std::vector<std::unique_ptr<session>> all;
    for (std::uint64_t t = 0; t < threads; ++t) all.push_back(store_->new_session());
    return all;
  }

  outcome puts(const cell& c) {
    auto all = sessions(c.threads);
    struct alignas(64) part {
      std::uint64_t done = 0;
      std::vector<std::uint64_t> keys;
    };
    std::vector<part> parts(c.threads);
    std::uint64_t stretch = next_stretch_;
    next_stretch_ += c.threads;
    for (part& p : parts) p.keys.resize(c.group);
    return run_for(seconds_, c.threads, max_puts / c.threads, [&](unsigned t) {
      part& mine = parts[t];
      for (std::uint64_t& key : mine.keys) key = key_of(stretch + t, mine.done++);
      all[t]->put(mine.keys);
      return c.group;
    });
  }

  outcome gets(const cell& c) {
    auto all = sessions(c.threads);
    std::vector<bench::random_source> random;
    for (std::uint64_t t = 0; t < c.threads; ++t) random.emplace_back(t);
    return run_for(seconds_, c.threads, no_limit, [&](unsigned t) {
      constexpr std::uint64_t some = 16;  // between two looks at the clock
      for (std::uint64_t i = 0; i < some; ++i)
        if (!all[t]->get(key_of(0, random[t].below(records_)))) fail("a record is not there");
      return some;
    });
  }

  outcome fill(const cell& c) {
    auto begin = std::chrono::steady_clock::now();
    outcome found;
    {
      auto all = sessions(1);
      std::uint64_t stretch = next_stretch_++, done = 0;
      found = run_for(1e4, 1, c.threads, [&](unsigned) {
        put(*all[0], stretch, done, c.group, c.group);
        done += c.group;
        return c.group;
      });
    }
    store_->close();
    found.seconds = bench::seconds_between(begin, std::chrono::steady_clock::now());
    return found;
  }

  store_request asked_;
  std::uint64_t records_;
  double seconds_;
  write_counter counter_;
  std::unique_ptr<store> store_;
  std::uint64_t next_stretch_ = 0;
};

int run_all(std::vector<std::string> words) {
  if (words.size() < 7) fail("STORE MODE FOLDER words|bytes RECORDS SECONDS CELL...");
  store_request asked{words[0], words[1], words[2], {}};
  if (words[3] == "bytes") asked.shape = {false, 16, 100};
  struct scratch {
    std::string folder;
    explicit scratch(std::string f) : folder(std::move(f)) {
      if (!std::filesystem::create_directory(folder)) fail(folder + " is there already");
    }
    ~scratch() {
      std::error_code ignored;
      std::filesystem::remove_all(folder, ignored);
    }
  } folder(asked.folder);
  run all(asked, std::stoull(words[4]), std::stod(words[5]));
  if (asked.name != "raw") all.open_and_load();
  for (std::size_t i = 6; i < words.size(); ++i) {
    cell c = cell_of(words[i]);
    if (asked.name == "raw") all.raw(c, words[i]);
    else all.measure(c, words[i]);
  }
  return 0;
}

}  // namespace
}  // namespace durahash::peers

int main(int count, char** words) try {
  return durahash::peers::run_all({words + 1, words + count});
} catch (const std::exception& why) {
  fmt::print(stderr, "durahash_disk_peers: {}\n", why.what());
  return 1;
}
