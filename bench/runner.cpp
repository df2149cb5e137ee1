#include "bench/runner.hpp"

#include <algorithm>
#include <memory>

#include "bench/pool_run.hpp"
#include "bench/reopening.hpp"
#include "durahash/emulated.hpp"

namespace durahash::bench {
namespace {

/// What the timed repetitions of one workload add up to, and the latencies of the last one.
struct tally {
  workload_outcome outcome;
  std::uint64_t ops = 0;
  std::uint64_t page_faults = 0;
  std::optional<std::uint64_t> instructions = 0;
  media_counts media;
  disk_counts disk;

  void add(const pass_result& pass) {
    outcome.ops = pass.ops;
    outcome.seconds.push_back(pass.seconds);
    ops += pass.ops;
    page_faults += pass.page_faults;
    if (!pass.instructions) instructions.reset();
    if (instructions) *instructions += *pass.instructions;
    media.flushes += pass.media.flushes;
    media.fences += pass.media.fences;
    media.media_read_blocks += pass.media.media_read_blocks;
    media.media_write_blocks += pass.media.media_write_blocks;
    disk.add({}, pass.disk);
  }

  static latency_figures figures_of(const histogram& latencies) {
    double ns = ns_per_tick();
    auto at = [&](double share) { return static_cast<double>(latencies.quantile(share)) * ns; };
    latency_figures found{
        at(0.5), at(0.99), at(0.999), static_cast<double>(latencies.max()) * ns, {}};
    for (auto [at_most, count] : latencies.steps())
      found.steps.push_back({static_cast<double>(at_most) * ns, count});
    return found;
  }

  void add_latencies(const pass_result& pass, medium_kind medium) {
    outcome.latency = figures_of(pass.latencies.all());
    for (const window_counts& one : pass.latencies.windows())
      outcome.series.push_back({one.ops, static_cast<double>(one.longest) * ns_per_tick()});
    if (medium != medium_kind::disk) return;
    outcome.disk.emplace();
    auto measured = [](const histogram& h) {
      return h.count() == 0 ? std::nullopt : std::optional(figures_of(h));
    };
    outcome.disk->beside_checkpoints = measured(pass.latencies.beside());
    outcome.disk->apart = measured(pass.latencies.apart());
  }

  workload_outcome finish(medium_kind medium) {
    auto per_op = [&](std::uint64_t n) {
      return static_cast<double>(n) / static_cast<double>(ops);
    };
    outcome.page_faults_per_op = per_op(page_faults);
    if (instructions) outcome.instructions_per_op = per_op(*instructions);
    if (medium == medium_kind::disk) finish_disk();
    if (medium == medium_kind::emulated)
      outcome.media =
          media_figures{per_op(media.flushes), per_op(media.fences),
                        per_op(media.media_read_blocks), per_op(media.media_write_blocks)};
    return outcome;
  }

 private:
  void finish_disk() {
    if (!outcome.disk) outcome.disk.emplace();
    disk_figures& figures = *outcome.disk;
    auto over = [](std::uint64_t n, auto of) {
      return of == 0 ? 0 : static_cast<double>(n) / static_cast<double>(of);
    };
    figures.log_lines = over(disk.log_lines, ops);
    figures.log_bytes = over(disk.log_bytes, ops);
    figures.checkpoint_bytes = over(disk.checkpoint_bytes, ops);
    figures.ops_per_group = over(ops, disk.log_groups);
    figures.checkpoints = over(disk.checkpoints, outcome.seconds.size());
    figures.log_stalls = over(disk.log_stalls, outcome.seconds.size());
  }
};

/// All repetitions of one engine.
template <class Table>
class engine_run {
 public:
  engine_run(const request& asked, engine_kind engine) : asked_(asked), engine_(engine) {
    for (workload_kind workload : asked.workloads)
      tallies_.push_back({described(workload), 0, 0, 0, {}, {}});
    assign_pools();
  }
  engine_run(const engine_run&) = delete;

  /// The first load: only to warm the memory, unless the cold one is asked for.
  void warm_up() {
    pool_run<Table> pool(asked_, engine_);
    workload_kind first = asked_.workloads.front();
    if (!asked_.cold || !is_load(first)) return pool.load_quietly();
    cold_.outcome = described(first);
    cold_.outcome.cold = true;
    cold_.add(pool.perform(first, false));
  }

  void repeat() {
    for (const pool_plan& plan : plans_) {
      pool_run<Table> pool(asked_, engine_);
      if (!plan.loads()) prepare(pool, plan, load::quiet);
      for (tally* sum : plan.tallies) {
        sum->add(pool.perform(sum->outcome.workload, false));
        if (is_load(sum->outcome.workload)) look(pool);
      }
      device_ = pool.device();
    }
  }

  void repeat_for_latencies() {
    for (const pool_plan& plan : plans_) {
      pool_run<Table> pool(asked_, engine_);
      if (!plan.loads()) prepare(pool, plan, load::watched);
      for (tally* sum : plan.tallies) {
        workload_kind workload = sum->outcome.workload;
        sum->add_latencies(is_load(workload) && !is_timeline()
                               ? pool.perform_watched_load(workload, loaded_)
                               : pool.perform(workload, true),
                           asked_.medium);
      }
    }
  }

  void reopen() {
    if constexpr (!std::is_same_v<Table, device_pool> && !std::is_same_v<Table, device_rows>)
      reopened_ = reopenings_of<Table>(asked_, engine_);
  }

  engine_outcome finish() {
    engine_outcome all{engine_, facts_.durability, facts_.medium, device_, loaded_, {}, reopened_};
    medium_kind medium = asked_.medium;
    if (!cold_.outcome.seconds.empty()) all.results.push_back(cold_.finish(medium));
    for (tally& sum : tallies_) all.results.push_back(sum.finish(medium));
    return all;
  }

 private:
  /// What happens to one pool. The workloads share the first one, but for a second load, and those
  /// that want a table to themselves.
  struct pool_plan {
    std::vector<tally*> tallies;
    bool loads() const { return is_load(tallies.front()->outcome.workload); }
    bool reserves() const {
      return tallies.front()->outcome.workload == workload_kind::insert_steady;
    }
  };

  void assign_pools() {
    std::vector<pool_plan> apart;
    pool_plan shared;
    for (tally& sum : tallies_) {
      workload_kind workload = sum.outcome.workload;
      bool alone = is_apart(workload) || (is_load(workload) && !shared.tallies.empty());
      if (alone) apart.push_back({{&sum}});
      else shared.tallies.push_back(&sum);
    }
    if (!shared.tallies.empty()) plans_.push_back(std::move(shared));
    for (pool_plan& plan : apart) plans_.push_back(std::move(plan));
  }

  /// A load that goes on without pauses: an arrival waits for nobody.
  bool is_timeline() const { return asked_.arrivals_per_second != 0 || asked_.window_ms != 0; }

  workload_outcome described(workload_kind workload) const {
    workload_outcome outcome;
    outcome.workload = workload;
    outcome.distribution = distribution_of(asked_, workload);
    return outcome;
  }

  enum class load { quiet, watched };

  void prepare(pool_run<Table>& pool, const pool_plan& plan, load how) {
    if (plan.reserves()) {
      pool.reserve(asked_.keys + ops_of(asked_, plan.tallies.front()->outcome.workload));
      pool.load_quietly();
      if (!is_looked_at_) look(pool);  // no table without room is asked for
      return;
    }
    if (how == load::watched) pool.perform_watched_load(workload_kind::load, loaded_);
    else pool.load_quietly();
    look(pool);
  }

  void look(pool_run<Table>& pool) {
    is_looked_at_ = true;
    facts_ = pool.look(loaded_);
    device_ = pool.device();
  }

  const request& asked_;
  engine_kind engine_;
  std::vector<tally> tallies_;
  std::vector<pool_plan> plans_;  // point into tallies_
  tally cold_;
  growth loaded_;
  bool is_looked_at_ = false;
  pool_info facts_;
  std::optional<reopening> reopened_;
  std::optional<device_facts> device_;
};

/// The same for every engine and repetition, hence counted once, and not while a pool is open.
void count_keys(const request& asked, std::vector<engine_outcome>& outcomes) {
  for (workload_kind workload : asked.workloads) {
    drawing what = drawing_of(asked, workload);
    if (what.distribution == distribution_kind::distinct) continue;
    popularity found = popularity_of(draw_all(what));
    for (engine_outcome& engine : outcomes)
      for (workload_outcome& result : engine.results)
        if (result.workload == workload) result.asked_for = found;
  }
}

template <class Table>
std::vector<engine_outcome> run_all(const request& asked, const narrator& tell) {
  if (asked.workloads.empty()) return {};
  std::vector<std::unique_ptr<engine_run<Table>>> runs;
  for (engine_kind engine : asked.engines)
    runs.push_back(std::make_unique<engine_run<Table>>(asked, engine));

  std::uint64_t rounds = 1 + asked.repeat + (asked.latency ? 1 : 0) + (asked.reopen ? 1 : 0),
                steps = rounds * runs.size() + 1, step = 0;
  auto turn = [&](const std::string& doing, auto&& act) {
    for (std::size_t i = 0; i < runs.size(); ++i) {
      tell(fmt::format("{}: {}", name_of(asked.engines[i]), doing), step++, steps);
      act(*runs[i]);
    }
  };
  turn(asked.cold ? "first load, into cold memory" : "warming the memory",
       [](auto& one) { one.warm_up(); });
  for (unsigned r = 1; r <= asked.repeat; ++r)
    turn(fmt::format("repetition {} of {}", r, asked.repeat), [](auto& one) { one.repeat(); });
  if (asked.latency) turn("timing every operation", [](auto& one) { one.repeat_for_latencies(); });
  if (asked.reopen) turn("killed, and opened again", [](auto& one) { one.reopen(); });

  std::vector<engine_outcome> outcomes;
  for (auto& one : runs) outcomes.push_back(one->finish());
  tell("counting how often each key is asked for", step, steps);
  count_keys(asked, outcomes);
  return outcomes;
}

}  // namespace

double workload_outcome::median_seconds() const {
  std::vector<double> sorted = seconds;
  std::sort(sorted.begin(), sorted.end());
  std::size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

std::vector<engine_outcome> run(const request& asked, const narrator& tell) {
  use_emulated_medium();
  if (asked.on)
    return asked.shape.kind == data_kind::u64 ? run_all<device_pool>(asked, tell)
                                              : run_all<device_rows>(asked, tell);
  return asked.shape.kind == data_kind::u64 ? run_all<word_map>(asked, tell)
                                            : run_all<table>(asked, tell);
}

}  // namespace durahash::bench
