#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "bench/clock.hpp"
#include "bench/reproduce/laboratory.hpp"
#include "bench/thread_group.hpp"

namespace durahash::reproduce {
namespace {

using clock = std::chrono::steady_clock;

double median(std::vector<double> all) {
  std::sort(all.begin(), all.end());
  return all[all.size() / 2];
}

std::string texts_of(const std::vector<setup>& tables) {
  std::string all;
  for (const setup& one : tables) all += one.text() + "; ";
  return all;
}

/// Works on part `part` of `parts` of `count` operations, in threads.
template <class One>
double ns_per_operation(unsigned threads, std::uint64_t count, One&& one) {
  const auto group = bench::run_threads(threads, [&](unsigned thread) {
    for (std::uint64_t i = bench::share_begin(count, threads, thread),
                       end = bench::share_begin(count, threads, thread + 1);
         i < end; ++i)
      one(i);
  });
  return group.seconds * 1e9 / static_cast<double>(count);
}

const char* name_of(operation what) {
  constexpr const char* names[] = {"insert", "get", "get of an absent key", "update", "erase"};
  return names[static_cast<unsigned>(what)];
}

}  // namespace

contest laboratory::compare(const std::vector<setup>& made, operation what) {
  return compare_with_threads(made, what, 1);
}

contest laboratory::compare_with_threads(const std::vector<setup>& made, operation what,
                                         unsigned threads) {
  const std::string name = fmt::format("{} {} {}", texts_of(made), name_of(what), threads);
  if (auto found = contests_.find(name); found != contests_.end()) return found->second;

  constexpr unsigned turns = 11;
  const unsigned loads = runs(3);
  std::vector<std::vector<double>> loading(made.size());
  std::vector<std::unique_ptr<subject>> tables(made.size());
  for (unsigned load = 0; load < loads; ++load) {
    std::vector<double> sums(made.size());
    for (std::size_t t = 0; t < made.size(); ++t) tables[t] = make(made[t], seed_);
    for (unsigned turn = 0; turn < turns; ++turn)
      for (std::size_t t = 0; t < made.size(); ++t) {
        const std::uint64_t begin = bench::share_begin(keys_, turns, turn),
                            end = bench::share_begin(keys_, turns, turn + 1);
        // Growing costs more in some turns than in others: the sum counts.
        sums[t] += static_cast<double>(end - begin) / static_cast<double>(keys_) *
                   ns_per_operation(threads, end - begin, [&](std::uint64_t i) {
                     expect_right(tables[t]->insert(key(begin + i)), "insert");
                   });
      }
    for (std::size_t t = 0; t < made.size(); ++t) loading[t].push_back(sums[t]);
  }

  // The tables are there: all operations are measured at once.
  const std::uint64_t some = std::max<std::uint64_t>(keys_ / 16, 1);
  for (operation now :
       {operation::insert, operation::hit, operation::miss, operation::update, operation::erase}) {
    contest result;
    std::vector<std::vector<double>> ns(made.size());
    if (now == operation::insert) ns = loading;
    else
      for (unsigned turn = 0; turn < turns; ++turn)
        for (std::size_t t = 0; t < made.size(); ++t) {
          subject& table = *tables[t];
          const std::uint64_t first = turn * some;
          ns[t].push_back(ns_per_operation(threads, some, [&](std::uint64_t i) {
            const std::uint64_t present = key(bench::mix(first + i) % keys_);
            switch (now) {
              case operation::hit: return expect_right(table.get(present), "get");
              case operation::miss:
                return expect_right(table.get_absent(absent(first + i)), "get of an absent key");
              case operation::update: return expect_right(table.update(present, 1), "update");
              default: return expect_right(table.erase(key(first + i)), "erase");
            }
          }));
        }
    for (std::size_t t = 0; t < made.size(); ++t) {
      result.names.push_back(made[t].text());
      result.ns.push_back(median(ns[t]));
    }
    contests_[fmt::format("{} {} {}", texts_of(made), name_of(now), threads)] = result;
  }
  return contests_.at(name);
}

contest laboratory::compare_mixes(const std::vector<setup>& made, unsigned percent_writes,
                                  operation write, double theta) {
  return kept(contests_,
              fmt::format("{} {} % {} {}", texts_of(made), percent_writes, name_of(write), theta),
              [&] {
                constexpr unsigned turns = 11;
                const std::uint64_t some = std::max<std::uint64_t>(keys_ / 16, 1);
                const bench::zipfian_ranks ranks(keys_, theta);
                bench::random_source random(seed_, percent_writes);
                // Drawn before the clock starts.
                struct step {
                  std::uint64_t key;
                  bool writes;
                };
                std::vector<step> todo(some);
                contest result;
                std::vector<std::vector<double>> ns(made.size());
                std::vector<std::unique_ptr<subject>> tables;
                for (const setup& one : made) {
                  tables.push_back(make(one, seed_));
                  for (std::uint64_t i = 0; i < keys_; ++i)
                    expect_right(tables.back()->insert(key(i)), "insert");
                }
                std::uint64_t fresh = 0;
                for (unsigned turn = 0; turn < turns; ++turn) {
                  for (step& one : todo) {
                    one.writes = random.below(100) < percent_writes;
                    one.key = one.writes && write == operation::insert
                                  ? key(bench::key_space::fresh + fresh++)
                                  : key(bench::mix(ranks.rank(random)) % keys_);
                  }
                  for (std::size_t t = 0; t < made.size(); ++t)
                    ns[t].push_back(ns_per_operation(1, some, [&](std::uint64_t i) {
                      const step& one = todo[i];
                      if (!one.writes) expect_right(tables[t]->get(one.key), "get");
                      else if (write == operation::insert)
                        expect_right(tables[t]->insert(one.key), "insert");
                      else expect_right(tables[t]->update(one.key, 1), "update");
                    }));
                }
                for (std::size_t t = 0; t < made.size(); ++t) {
                  result.names.push_back(made[t].text());
                  result.ns.push_back(median(ns[t]));
                }
                return result;
              });
}

double laboratory::longest_insertion(const setup& made, std::uint64_t records) {
  auto table = make(made, seed_);
  bench::ticks longest = 0;
  for (std::uint64_t i = 0; i < records; ++i) {
    const bench::ticks begin = bench::ordered_ticks();
    expect_right(table->insert(key(i)), "insert");
    longest = std::max(longest, bench::ordered_ticks() - begin);
  }
  return static_cast<double>(longest) * bench::ns_per_tick();
}

arrivals laboratory::load_with_arrivals(const setup& made, double per_second) {
  return kept(arrivals_, fmt::format("{} {}", made.text(), per_second), [&] {
    arrivals seen;
    seen.per_second = per_second;
    auto table = make(made, seed_);
    bench::random_source random(seed_, 0x706f'6973'736f'6e);
    const double mean_gap = 1e9 / per_second / bench::ns_per_tick();  // ticks
    double due = 0;
    const bench::ticks begin = bench::ordered_ticks();
    for (std::uint64_t i = 0; i < keys_; ++i) {
      due += -std::log(1 - random.unit()) * mean_gap;
      const auto arrival = begin + static_cast<bench::ticks>(due);
      while (bench::ordered_ticks() < arrival) {}
      expect_right(table->insert(key(i)), "insert");
      // Behind its arrival, not behind its start: who waits in a queue waits.
      seen.ns.record(static_cast<std::uint64_t>(
          static_cast<double>(bench::ordered_ticks() - arrival) * bench::ns_per_tick()));
    }
    return seen;
  });
}

}  // namespace durahash::reproduce
