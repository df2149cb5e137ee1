// One pool's life in a benchmark: made, loaded, worked on, closed.
#pragma once

#include <fmt/format.h>

#include <type_traits>
#include <vector>

#include "bench/checkpoint_watch.hpp"
#include "bench/client.hpp"
#include "bench/device_pool.hpp"
#include "bench/device_rows.hpp"
#include "bench/disk_counts.hpp"
#include "bench/outcome.hpp"
#include "bench/pass.hpp"
#include "bench/scratch_pool.hpp"
#include "bench/thread_group.hpp"

namespace durahash::bench {

/// What one pass of one workload measured.
struct pass_result {
  std::uint64_t ops = 0;
  double seconds = 0;
  std::uint64_t page_faults = 0;
  std::optional<std::uint64_t> instructions;
  media_counts media;  // differences
  disk_counts disk;    // likewise
  timings latencies;   // ticks per operation; empty unless asked for
};

template <class Table>
struct client_of;
template <>
struct client_of<word_map> : std::type_identity<word_client> {};
template <>
struct client_of<table> : std::type_identity<bytes_client> {};
template <>
struct client_of<device_pool> : std::type_identity<device_client> {};
template <>
struct client_of<device_rows> : std::type_identity<row_client> {};

template <class Table>
class pool_run {
 public:
  using client = typename client_of<Table>::type;

  pool_run(const request& asked, engine_kind engine, pool_names names = pool_names::lost_at_once)
      : asked_(asked), pool_(open_scratch<Table>(asked, engine, names)) {}

  /// Draws the operations of `workload` and performs them.
  pass_result perform(workload_kind workload, bool timed_each) {
    std::vector<operations> todo = draw_all(drawing_of(asked_, workload));
    disk_counts before = counts_of_disk();
    pass_result result = pass(todo, asked_.batch, timed_each, 0, 1, !timed_each);
    result.disk.add(before, counts_of_disk());
    settle(workload, todo);
    return result;
  }

  /// A load with every operation timed, which pauses at equal distances to look at the pool.
  pass_result perform_watched_load(workload_kind workload, growth& seen) {
    constexpr unsigned pauses = 64;
    std::vector<operations> todo = draw_all(drawing_of(asked_, workload));
    pass_result all;
    double bytes_per_key_sum = 0, peak = 0;
    for (unsigned i = 0; i < pauses; ++i) {
      pass_result part = pass(todo, asked_.batch, true, i, pauses);
      all.ops += part.ops;
      all.latencies.merge(part.latencies);
      pool_info facts = pool_.info();
      peak = std::max(peak, facts.load_factor);
      if (i >= pauses / 2) bytes_per_key_sum += bytes_per_key(facts.live_bytes, facts);
    }
    seen.load_factor_peak = peak;
    seen.bytes_per_key_over_last_doubling = bytes_per_key_sum / (pauses / 2);
    return all;
  }

  /// Fills the pool, in batches and without measuring.
  void load_quietly() {
    std::vector<operations> todo = draw_all(drawing_of(asked_, workload_kind::load));
    pass(todo, quiet_batch, false, 0, 1);
  }

  void reserve(std::uint64_t records) {
    if (status s = pool_.reserve(records); s != status::ok)
      throw failure(s, std::string(message(s)));
  }

  std::optional<device_facts> device() {
    if constexpr (on_device) return pool_.facts();
    return std::nullopt;
  }

  pool_info look(growth& seen) {
    pool_info facts = pool_.info();
    if (facts.records != asked_.keys)
      throw failure(status::damaged,
                    fmt::format("after loading {} records the pool says that it has {}",
                                asked_.keys, facts.records));
    seen.load_factor_final = facts.load_factor;
    seen.bytes_per_key = bytes_per_key(facts.live_bytes, facts);
    seen.file_bytes_per_key = bytes_per_key(facts.file_bytes, facts);
    return facts;
  }

 private:
  static constexpr bool on_device = std::is_base_of_v<timed_batches, client>;
  static constexpr std::uint64_t quiet_batch = on_device ? std::uint64_t{1} << 16 : 64;

  static double bytes_per_key(std::uint64_t bytes, const pool_info& facts) {
    return facts.records == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(facts.records);
  }

  /// Performs part `part` of `parts` of each thread's operations. `measured`: what is reported.
  pass_result pass(const std::vector<operations>& todo, std::uint64_t batch, bool timed_each,
                   unsigned part, unsigned parts, bool measured = false) {
    pass_result result;
    std::optional<checkpoint_watch> watch;
    if (timed_each && asked_.medium == medium_kind::disk) watch.emplace(pool_);
    std::vector<timings> latencies(timed_each ? asked_.threads : 0,
                                   timings(watch ? watch->under_way() : nullptr));
    if (timed_each) set_times(latencies);
    std::vector<std::uint64_t> right(asked_.threads);
    std::vector<client> clients;
    for (unsigned t = 0; t < asked_.threads; ++t) clients.emplace_back(pool_, asked_.shape, batch);
    generation g = ++generation_;
    media_counts first = counts(), before = counts();
    // stats() reads the table, and that is counted too
    media_counts cost_of_counting = difference(first, before);
    thread_group_result thread_group = run_threads(asked_.threads, [&](unsigned t) {
      std::uint64_t begin = share_begin(todo[t].keys.size(), parts, part),
                    end = share_begin(todo[t].keys.size(), parts, part + 1);
      timings* mine = timed_each ? &latencies[t] : nullptr;
      auto work = [&] {
        if constexpr (!on_device)
          if (batch == 1)
            return void(right[t] = run_singles(clients[t], todo[t], g, begin, end, mine));
        right[t] = run_batches(clients[t], todo[t], g, batch, begin, end, mine);
      };
      if (measured) measured_pass(work);
      else work();
    });
    result.media = difference(cost_of_counting, difference(before, counts()));
    result.seconds = thread_group.seconds;
    if constexpr (on_device)
      result.seconds = static_cast<double>(clients[0].clock()) * ns_per_tick() / 1e9;
    result.page_faults = thread_group.page_faults;
    result.instructions = thread_group.instructions;
    std::uint64_t met = 0;
    for (unsigned t = 0; t < asked_.threads; ++t) {
      if (timed_each) result.latencies.merge(latencies[t]);
      result.ops += share_of(todo[t].keys.size(), parts, part);
      met += right[t];
    }
    if (met != result.ops) refuse(result.ops - met, result.ops, clients);
    return result;
  }

  void set_times(std::vector<timings>& of_threads) const {
    const ticks origin = ordered_ticks();
    const double second = 1e9 / ns_per_tick();  // ticks
    for (std::size_t t = 0; t < of_threads.size(); ++t) {
      if (asked_.window_ms != 0)
        of_threads[t].keep_windows(static_cast<ticks>(asked_.window_ms * second / 1e3), origin);
      if (asked_.arrivals_per_second != 0)
        of_threads[t].let_arrive(asked_.threads * second / asked_.arrivals_per_second,
                                 mix(asked_.seed) + t, origin);
    }
  }

  [[noreturn]] static void refuse(std::uint64_t wrong, std::uint64_t ops,
                                  const std::vector<client>& clients) {
    status first = status::damaged;
    for (const client& one : clients) first = one.surprise().value_or(first);
    std::string why = first == status::ok         ? "a key that was never inserted was found"
                      : first == status::mismatch ? "the value was never written to that key"
                                                  : std::string(message(first));
    throw failure(
        first == status::no_space ? first : status::damaged,
        fmt::format("{} of {} operations failed, the first because: {}", wrong, ops, why));
  }

  /// Puts back what was erased and takes out what was inserted, so that the next workload finds the
  /// records of the load.
  void settle(workload_kind workload, std::vector<operations>& todo) {
    if (is_apart(workload)) return;  // nothing comes after it
    operation_kind undo =
        workload == workload_kind::erase ? operation_kind::put : operation_kind::erase;
    if (workload != workload_kind::erase && workload != workload_kind::ycsb_d) return;
    for (operations& one : todo) {
      if (one.is_mix()) keep_inserts(one);
      one.kind = undo;
    }
    pass(todo, quiet_batch, false, 0, 1);
  }

  static void keep_inserts(operations& mix) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < mix.keys.size(); ++i)
      if (mix.kinds[i] == operation_kind::insert) mix.keys[kept++] = mix.keys[i];
    mix.keys.resize(kept);
    mix.kinds.clear();
  }

  // Elsewhere there is nothing to count, and stats() reads the whole table.
  media_counts counts() {
    if constexpr (!on_device)
      if (asked_.medium == medium_kind::emulated) return pool_.stats().media;
    return {};
  }

  disk_counts counts_of_disk() {
    if constexpr (!on_device)
      if (asked_.medium == medium_kind::disk) return disk_counts::of(pool_.stats());
    return {};
  }

  static media_counts difference(const media_counts& from, const media_counts& to) {
    return {to.flushes - from.flushes, to.fences - from.fences,
            to.media_read_blocks - from.media_read_blocks,
            to.media_write_blocks - from.media_write_blocks};
  }

  const request& asked_;
  Table pool_;
  generation generation_ = 0;
};

}  // namespace durahash::bench
