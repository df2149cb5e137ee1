// One pass over prepared operations: the loop that is timed.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "bench/clock.hpp"
#include "bench/operations.hpp"
#include "bench/timings.hpp"

namespace durahash::bench {

/// What a pass is timed by: the time of day, or the client' own clock where they have one.
template <class Client>
ticks clock_of(const Client& client) noexcept {
  if constexpr (requires { client.clock(); }) return client.clock();
  else return ordered_ticks();
}

/// Calls `step(first, count)` over [begin, end) in units of `unit` operations; step says how many
/// went as expected. With `latencies` each unit is timed: its time per operation, in ticks.
template <class Client, class Step>
[[gnu::noinline]] std::uint64_t run_units(const Client& client, std::uint64_t begin,
                                          std::uint64_t end, std::uint64_t unit, timings* latencies,
                                          Step&& step) {
  std::uint64_t right = 0;
  if (latencies == nullptr) {
    for (std::uint64_t i = begin; i < end; i += unit) right += step(i, std::min(unit, end - i));
    return right;
  }
  auto clock = [&client] { return clock_of(client); };
  for (std::uint64_t i = begin; i < end; i += unit) {
    std::uint64_t count = std::min(unit, end - i);
    ticks before = latencies->begin(clock);
    right += step(i, count);
    ticks now = clock();
    latencies->record((now - before) / count, count, now);
  }
  return right;
}

/// What a repetition measures: for callgrind, which is to count nothing else.
template <class Work>
[[gnu::noinline]] void measured_pass(Work&& work) {
  work();
}

/// One operation after the other.
template <class Client>
std::uint64_t run_singles(Client& client, const operations& todo, generation g, std::uint64_t begin,
                          std::uint64_t end, timings* latencies) {
  auto run = [&](auto&& one) {
    return run_units(client, begin, end, 1, latencies,
                     [&](std::uint64_t i, std::uint64_t) { return one(todo.keys[i]); });
  };
  auto read_modify_write = [&](std::uint64_t key) {
    return client.get(key) & client.update(key, g);
  };
  if (todo.is_mix())
    return run_units(client, begin, end, 1, latencies,
                     [&](std::uint64_t i, std::uint64_t) -> std::uint64_t {
                       switch (std::uint64_t key = todo.keys[i]; todo.kinds[i]) {
                         case operation_kind::get: return client.get(key);
                         case operation_kind::insert: return client.insert(key, g);
                         case operation_kind::update: return client.update(key, g);
                         case operation_kind::erase: return client.erase(key);
                         case operation_kind::read_modify_write: return read_modify_write(key);
                         default: return 0;  // no mix has another; it would be counted as wrong
                       }
                     });
  switch (todo.kind) {
    case operation_kind::get: return run([&](std::uint64_t key) { return client.get(key); });
    case operation_kind::get_absent:
      return run([&](std::uint64_t key) { return client.get_absent(key); });
    case operation_kind::insert:
      return run([&](std::uint64_t key) { return client.insert(key, g); });
    case operation_kind::put: return run([&](std::uint64_t key) { return client.put(key, g); });
    case operation_kind::update:
      return run([&](std::uint64_t key) { return client.update(key, g); });
    case operation_kind::erase: return run([&](std::uint64_t key) { return client.erase(key); });
    case operation_kind::read_modify_write: return run(read_modify_write);
  }
  return 0;
}

/// A batch of a mix is two calls: its reads as one get_many, its writes as one put_many. Reads come
/// first, because read-modify-write reads what it writes; inserts come before the reads that look
/// for them. Erases are a third call, of other keys.
template <class Client>
class mixed_batch {
 public:
  mixed_batch(Client& client, const operations& todo, generation g)
      : client_(client), todo_(todo), generation_(g) {}

  std::uint64_t operator()(std::uint64_t first, std::uint64_t count) {
    bool inserts = sort_out(first, count);
    std::uint64_t right = inserts ? write() + read() : read() + write();
    if (!erases_.empty()) right += client_.erase_many(erases_);
    std::uint64_t wrong = reads_.size() + writes_.size() + erases_.size() - right;
    return count - std::min(count, wrong);
  }

 private:
  bool sort_out(std::uint64_t first, std::uint64_t count) {
    bool inserts = false;
    reads_.clear();
    writes_.clear();
    erases_.clear();
    for (std::uint64_t i = first; i < first + count; ++i) {
      operation_kind kind = todo_.kinds[i];
      if (kind == operation_kind::erase) {
        erases_.push_back(todo_.keys[i]);
        continue;
      }
      if (kind == operation_kind::get || kind == operation_kind::read_modify_write)
        reads_.push_back(todo_.keys[i]);
      if (kind != operation_kind::get) writes_.push_back(todo_.keys[i]);
      inserts |= kind == operation_kind::insert;
    }
    return inserts;
  }
  std::uint64_t read() { return reads_.empty() ? 0 : client_.get_many(reads_); }
  std::uint64_t write() { return writes_.empty() ? 0 : client_.put_many(writes_, generation_); }

  Client& client_;
  const operations& todo_;
  generation generation_;
  std::vector<std::uint64_t> reads_, writes_, erases_;
};

/// In batches. insert and update are put_many for client that know no batches of them.
template <class Client>
std::uint64_t run_batches(Client& client, const operations& todo, generation g, std::uint64_t batch,
                          std::uint64_t begin, std::uint64_t end, timings* latencies) {
  std::span<const std::uint64_t> keys = todo.keys;
  auto run = [&](auto&& many) {
    return run_units(
        client, begin, end, batch, latencies,
        [&](std::uint64_t first, std::uint64_t count) { return many(keys.subspan(first, count)); });
  };
  if (todo.is_mix())
    return run_units(client, begin, end, batch, latencies, mixed_batch<Client>(client, todo, g));
  switch (todo.kind) {
    case operation_kind::get: return run([&](auto some) { return client.get_many(some); });
    case operation_kind::get_absent:
      return run([&](auto some) { return client.get_absent_many(some); });
    case operation_kind::erase: return run([&](auto some) { return client.erase_many(some); });
    case operation_kind::insert:
      if constexpr (requires { client.insert_many(keys, g); })
        return run([&](auto some) { return client.insert_many(some, g); });
      break;
    case operation_kind::update:
      if constexpr (requires { client.update_many(keys, g); })
        return run([&](auto some) { return client.update_many(some, g); });
      break;
    default: break;
  }
  return run([&](auto some) { return client.put_many(some, g); });
}

}  // namespace durahash::bench
