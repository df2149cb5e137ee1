// Hash tables in memory, in one process and in turns; a line of JSON. scripts/bench_tables.py
// starts it.
//
//   durahash_table_peers KEYS ROUNDS THREADS SEED TABLE...   ROUNDS 0: 15, or what KEYS allow
//
// KEYS records, or as many of them as fill slices, are loaded into every table. Then each phase
// does ROUNDS slices of 131,072 operations with each table, in another order of tables in every
// round; so do the slices of the load. A slice counts in nanoseconds of processor time for each
// operation, so that what else runs on the machine counts by the caches alone. Of several threads
// each does a slice of its own, and their rates are added. In the same rounds each table also gives
// a slice to one thread alone ("PHASE, alone"): what threads gain is told by one run.
//
//   durahash_table_peers --list      the tables that were built, and what each is
#include <fmt/format.h>
#include <time.h>

#include <atomic>
#include <barrier>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <thread>

#include "bench/distribution.hpp"
#include "bench/peers/tables/table.hpp"

namespace durahash::peers {

std::vector<entry> all_tables() {
  std::vector<entry> all;
  auto add = [&](std::vector<entry> some) {
    for (entry& e : some) all.push_back(std::move(e));
  };
  add(speed_of_light());
  add(durahash_tables());
#ifdef PEER_P_CLHT
  add(recipe_p_clht());
#endif
#ifdef PEER_CCEH
  add(authors_cceh_copying());
  add(authors_cceh());
#endif
#ifdef PEER_TURBOHASH
  add(authors_turbohash());
#endif
#ifdef PEER_BOOST
  add(boost_flat_map());
#endif
#ifdef PEER_UNORDERED_DENSE
  add(unordered_dense());
#endif
  return all;
}

namespace {

constexpr std::uint64_t slice = 131'072;

double thread_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

/// Threads that begin each slice together.
class crew {
 public:
  explicit crew(unsigned threads, const std::vector<any_table*>& tables)
      : part_(threads), start_(threads), end_(threads) {
    for (any_table* t : tables) t->enter();
    for (unsigned n = 1; n < threads; ++n) {
      std::atomic<bool> entered{false};
      others_.emplace_back([this, n, &tables, &entered] {
        for (any_table* t : tables) t->enter();
        entered = true;
        entered.notify_one();
        for (;;) {
          start_.arrive_and_wait();
          if (on_ == nullptr) return;
          measure(n);
          end_.arrive_and_wait();
        }
      });
      entered.wait(false);  // one enters after the other
    }
  }
  ~crew() {
    on_ = nullptr;
    start_.arrive_and_wait();
  }
  crew(const crew&) = delete;
  crew& operator=(const crew&) = delete;

  struct outcome {
    double ns;  // of an operation, as if one thread had done all
    std::uint64_t done;
  };
  /// A slice for each thread; of fewer keys, for the first ones.
  outcome run(any_table& on, operation what, words keys, bench::generation g) {
    on_ = &on, what_ = what, keys_ = keys, generation_ = g;
    start_.arrive_and_wait();
    measure(0);
    end_.arrive_and_wait();
    double rate = 0;
    std::uint64_t done = 0;
    for (const part& p : part_) rate += p.operations / p.ns, done += p.done;
    return {1 / rate, done};
  }

 private:
  struct part {
    double operations = 0, ns = 1;
    std::uint64_t done = 0;
  };
  void measure(unsigned n) {
    part_[n] = {};
    if (n * slice < keys_.size()) measure(n, keys_.subspan(n * slice, slice));
  }
  void measure(unsigned n, words mine) {
    const double from = thread_ns();
    const std::uint64_t done = on_->run(what_, mine, generation_);
    part_[n] = {static_cast<double>(mine.size()), thread_ns() - from, done};
  }

  std::vector<part> part_;
  std::barrier<> start_, end_;
  any_table* on_ = nullptr;
  operation what_{};
  words keys_;
  bench::generation generation_ = 0;
  std::vector<std::jthread> others_;
};

struct table {
  std::string name;
  entry::kind is;
  std::unique_ptr<any_table> of;
  std::map<std::string, std::vector<double>> ns;  // of each slice, by phase
};

/// All phases, each on all tables that have it.
class comparison {
 public:
  /// Operations of a table's turn: by all threads, and by one alone.
  static std::uint64_t turn_of(unsigned threads) {
    return threads == 1 ? slice : (threads + 1) * slice;
  }

  comparison(std::vector<table>& tables, std::uint64_t keys, std::uint64_t rounds, unsigned threads,
             std::uint64_t seed)
      : tables_(tables),
        records_(keys - keys % turn_of(threads)),
        rounds_(rounds),
        seed_(seed),
        space_(seed),
        random_(seed),
        turn_(turn_of(threads)),
        crew_(threads, pointers(tables)) {}

  void run() {
    const bench::zipfian_ranks hot(records_, 0.99);
    const bench::permutation scattered(records_, seed_);
    auto any = [&](std::uint64_t) { return random_.below(records_); };
    auto popular = [&](std::uint64_t) { return scattered(hot.rank(random_)); };
    auto absent = [](std::uint64_t n) { return bench::key_space::absent + n; };
    auto fresh = [&](std::uint64_t n) { return bench::key_space::fresh + fresh_ + n; };
    // No record twice: what is erased is taken from the front, and from behind.
    auto once = [&](std::uint64_t n) { return scattered(erased_ + n); };
    const std::uint64_t all = turn_, none = 0;

    phase("load", operation::insert, records_ / turn_, all, [](std::uint64_t n) { return n; });
    phase("present", operation::get, rounds_, all, any);
    phase("absent", operation::get, rounds_, none, absent);
    phase("ycsb-c", operation::get, rounds_, all, popular);
    phase("get-many present", operation::get_many, rounds_, all, any);
    phase("get-many absent", operation::get_many, rounds_, none, absent);
    phase("update", operation::update, rounds_, all, any);
    phase("ycsb-a", operation::half_updates, rounds_, all, popular);
    phase("put-many present", operation::put_many, rounds_, all, any);
    phase("erase", operation::erase, rounds_, all, once);
    erased_ += rounds_ * turn_;
    steady_ = true;
    phase("insert steady", operation::insert, rounds_, all, fresh);
    fresh_ += rounds_ * turn_;
    phase("erase again", operation::erase, rounds_, all, once);
    erased_ += rounds_ * turn_;
    phase("put-many new", operation::put_many, rounds_, all, fresh);
  }

 private:
  static std::vector<any_table*> pointers(const std::vector<table>& tables) {
    std::vector<any_table*> all;
    for (const table& t : tables) all.push_back(t.of.get());
    return all;
  }

  /// `index_of` says which key the n-th operation of the phase has; `right` of a slice must find
  /// what they should.
  template <class Index>
  void phase(const std::string& name, operation what, std::uint64_t slices, std::uint64_t right,
             Index&& index_of) {
    std::vector<std::uint64_t> keys(turn_);
    std::vector<std::size_t> order(tables_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (std::uint64_t s = 0; s < slices; ++s) {
      for (std::uint64_t n = 0; n < turn_; ++n) keys[n] = space_.key(index_of(s * turn_ + n));
      if (what == operation::update || what == operation::half_updates ||
          what == operation::put_many)
        ++generation_;
      for (std::size_t n = order.size(); n > 1; --n)
        std::swap(order[n - 1], order[random_.below(n)]);
      for (std::size_t n : order) {
        table& t = tables_[n];
        // insertions without growth need room that erasures made
        if (!t.of->has(what) || (steady_ && !t.of->has(operation::erase))) continue;
        std::uint64_t done = 0;
        auto give = [&](words some, const std::string& told_as) {
          if (some.empty()) return;
          const crew::outcome was = crew_.run(*t.of, what, some, generation_);
          t.ns[told_as].push_back(was.ns), done += was.done;
        };
        const words all = keys, together = all.first(turn_ == slice ? slice : turn_ - slice);
        const bool alone_first = random_.below(2) == 0;
        if (!alone_first) give(together, name);
        give(all.subspan(together.size()), name + ", alone");
        if (alone_first) give(together, name);
        if (t.is != entry::limit && done != right)
          throw std::runtime_error(fmt::format("{}, {}: {} of {} operations found what they should",
                                               t.name, name, done, right));
      }
    }
    if (slices != 0) fmt::print(stderr, "{} ", name), std::fflush(stderr);
  }

  std::vector<table>& tables_;
  std::uint64_t records_, rounds_, seed_;
  bench::key_space space_;
  bench::random_source random_;
  std::uint64_t turn_;
  crew crew_;
  bench::generation generation_ = 0;
  std::uint64_t fresh_ = 0, erased_ = 0;
  bool steady_ = false;
};

int list() {
  constexpr const char* kinds[] = {"ours", "durable", "volatile", "limit"};
  for (const entry& e : all_tables()) fmt::print("{} {}\n", e.name, kinds[e.is]);
  return 0;
}

int compare(char** argument, int count) {
  const std::uint64_t keys = std::stoull(argument[0]), asked = std::stoull(argument[1]);
  const unsigned threads = static_cast<unsigned>(std::stoul(argument[2]));
  const std::uint64_t seed = std::stoull(argument[3]);
  // two phases take records away
  const std::uint64_t most_rounds = threads == 0 ? 0 : keys / comparison::turn_of(threads) / 2;
  const std::uint64_t rounds = asked != 0 ? asked : std::min<std::uint64_t>(15, most_rounds);
  if (rounds == 0 || rounds > most_rounds)
    throw std::runtime_error("too few keys for so many rounds and threads");
  std::vector<table> tables;
  const std::vector<entry> known = all_tables();
  for (int i = 4; i < count; ++i) {
    const std::string name = argument[i];
    auto e = std::ranges::find(known, name, &entry::name);
    if (e == known.end()) throw std::runtime_error("no table " + name + " was built");
    tables.push_back({name, e->is, e->make(name), {}});
  }
  comparison(tables, keys, rounds, threads, seed).run();
  nlohmann::json all;
  for (const table& t : tables) all[t.name] = t.ns;
  fmt::print("{}\n", all.dump());
  std::fflush(stdout);
  return 0;
}

}  // namespace
}  // namespace durahash::peers

int main(int argc, char** argv) {
  using namespace durahash::peers;
  if (argc == 2 && std::string_view(argv[1]) == "--list") return list();
  if (argc < 6) return fmt::print(stderr, "see the head of this program's source\n"), 2;
  try {
    return compare(argv + 1, argc - 1);
  } catch (const std::exception& why) {
    return fmt::print(stderr, "{}\n", why.what()), 1;
  }
}
