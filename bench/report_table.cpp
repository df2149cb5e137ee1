#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "bench/clock.hpp"
#include "bench/embedding_tables.hpp"
#include "bench/report.hpp"
#include "bench/rmat_graph.hpp"

namespace durahash::bench {
namespace {

using lines = fmt::memory_buffer;

template <class... Args>
void add(lines& text, fmt::format_string<Args...> form, Args&&... args) {
  fmt::format_to(std::back_inserter(text), form, std::forward<Args>(args)...);
}

std::string grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<std::size_t>(at), 1, ',');
  return digits;
}

/// 123 ns, 4.5 us, 67 ms: never more than 7 columns.
std::string duration(double ns) {
  if (ns < 1e3) return fmt::format("{:.0f} ns", ns);
  if (ns < 1e6) return fmt::format("{:.3g} us", ns / 1e3);
  return ns < 1e9 ? fmt::format("{:.3g} ms", ns / 1e6) : fmt::format("{:.3g} s", ns / 1e9);
}

std::string records_of(const record_shape& shape) {
  if (shape.kind == data_kind::u64) return "u64 to u64";
  return fmt::format("{} to {} bytes", shape.key_bytes, shape.value_bytes);
}

void add_machine(lines& text, const report& all) {
  const machine_facts& machine = all.machine;
  add(text, "{} · {} cores · {} · huge pages {} · commit {}\n", machine.cpu, machine.cores,
      machine.kernel, machine.huge_pages, machine.commit);
}

void add_limits(lines& text, const limits_report& limits) {
  add(text, "\nThe speed of light: one thread, {} MiB on 4 KiB pages, {}, median of {} rounds\n",
      limits.working_set_bytes >> 20, limits.flush_instruction, limits.rounds);
  for (const limit& row : limits.rows) add(text, "  {:<52} {:>7.1f} ns\n", row.help, row.ns);
}

void add_heading(lines& text, const report& all, const engine_outcome& engine) {
  const request& asked = all.asked;
  add(text,
      "\n{} on {}, durability {} · {} records, {} · {} thread{} · {} · seed {} · {} repetition{}, "
      "medians\n",
      name_of(engine.engine), name_of(engine.medium), name_of(engine.durability),
      grouped(asked.keys), records_of(asked.shape), asked.threads, asked.threads == 1 ? "" : "s",
      asked.batch > 1 ? fmt::format("batches of {}", asked.batch) : "single operations", asked.seed,
      asked.repeat, asked.repeat == 1 ? "" : "s");
  if (engine.device)
    add(text, "on {}, device memory: {}{}\n", device_of(asked), name_of(engine.device->place),
        asked.arrays_at == array_place::host ? "" : ", batches in its memory");
  if (engine.device && engine.device->cache_hit_rate)
    add(text, "with copies of {} % of the buckets ({}), which had {:.3f} of what finds looked at\n",
        asked.lending.cache_percent, name_of(asked.lending.policy), *engine.device->cache_hit_rate);
  for (const auto& [name, value] : asked.settings) add(text, "with {}={}\n", name, value);
}

// The columns that have nothing to say in this run are left out.
struct columns {
  bool latency, media, limit, instructions;
};

void add_titles(lines& text, const columns& shown) {
  add(text, "  {:<20} {:<9} {:>11} {:>8} {:>13} {:>7}", "workload", "keys", "operations", "Mops/s",
      "(min-max)", "ns/op");
  if (shown.limit) add(text, " {:>7}", "x limit");
  if (shown.latency) add(text, " {:>7} {:>7} {:>7} {:>7}", "p50", "p99", "p99.9", "max");
  if (shown.media)
    add(text, " {:>8} {:>8} {:>8} {:>8}", "flushes", "fences", "blocks r", "blocks w");
  if (shown.instructions) add(text, " {:>8}", "instr/op");
  add(text, "  {:>7}\n", "faults");
}

/// The last window is a part of one.
void add_series(lines& text, const report& all, const workload_outcome& result) {
  const window_figures *slowest = &result.series.front(), *stall = slowest;
  for (std::size_t w = 0; w < result.series.size(); ++w) {
    const window_figures& one = result.series[w];
    if (w + 1 < result.series.size() && one.ops < slowest->ops) slowest = &one;
    if (one.longest_ns > stall->longest_ns) stall = &one;
  }
  auto at = [&](const window_figures* one) {
    return (one - result.series.data()) * static_cast<std::ptrdiff_t>(all.asked.window_ms);
  };
  add(text,
      "    {} windows of {} ms: slowest {:.2f} Mops/s at {} ms, longest operation {} at {} ms\n",
      result.series.size(), all.asked.window_ms,
      static_cast<double>(slowest->ops) / all.asked.window_ms / 1e3, at(slowest),
      duration(stall->longest_ns), at(stall));
}

void add_result(lines& text, const report& all, const engine_outcome& engine,
                const workload_outcome& result, const columns& shown) {
  auto [fastest, slowest] = std::minmax_element(result.seconds.begin(), result.seconds.end());
  std::string spread =
      fmt::format("({:.2f}-{:.2f})", result.mops_of(*slowest), result.mops_of(*fastest));
  std::string name = std::string(traits_of(result.workload).name) + (result.cold ? " (cold)" : "");
  add(text, "  {:<20} {:<9} {:>11} {:>8.2f} {:>13} {:>7.1f}", name, name_of(result.distribution),
      grouped(result.ops), result.mops(), spread, 1e3 / result.mops());
  if (shown.limit) add(text, " {:>7.2f}", times_the_limit(all, engine, result).value_or(0));
  if (shown.latency && result.latency) {
    const latency_figures& l = *result.latency;
    add(text, " {:>7} {:>7} {:>7} {:>7}", duration(l.p50), duration(l.p99), duration(l.p999),
        duration(l.max));
  } else if (shown.latency) {
    add(text, " {:>7} {:>7} {:>7} {:>7}", "", "", "", "");
  }
  if (shown.media)
    add(text, " {:>8.3f} {:>8.3f} {:>8.3f} {:>8.3f}", result.media->flushes, result.media->fences,
        result.media->read_blocks, result.media->write_blocks);
  if (shown.instructions && result.instructions_per_op)
    add(text, " {:>8.1f}", *result.instructions_per_op);
  else if (shown.instructions) add(text, " {:>8}", "");
  add(text, "  {:>7.4f}\n", result.page_faults_per_op);
  if (!result.series.empty()) add_series(text, all, result);
}

void add_growth(lines& text, const growth& loaded) {
  add(text, "  load factor {:.3f} at the end of the load", loaded.load_factor_final);
  if (loaded.load_factor_peak) add(text, ", {:.3f} at most", *loaded.load_factor_peak);
  add(text, " · {:.1f} live bytes per record", loaded.bytes_per_key);
  if (loaded.bytes_per_key_over_last_doubling)
    add(text, ", {:.1f} averaged over the last doubling", *loaded.bytes_per_key_over_last_doubling);
  add(text, " · {:.1f} bytes of pool per record\n", loaded.file_bytes_per_key);
}

std::string durations(const std::optional<latency_figures>& latency) {
  if (!latency) return fmt::format("{:>24}", "none");
  return fmt::format("{:>7} {:>7} {:>8}", duration(latency->p50), duration(latency->p999),
                     duration(latency->max));
}

void add_disk(lines& text, const engine_outcome& engine, const columns& shown) {
  add(text, "\n  {:<20} {:>8} {:>9} {:>10} {:>9} {:>7} {:>6}", "on the disk", "lines/op",
      "log B/op", "pages B/op", "ops/group", "checkp.", "stalls");
  if (shown.latency) add(text, "  p50, p99.9, max apart, then beside checkpoints");
  add(text, "\n");
  for (const workload_outcome& result : engine.results) {
    if (!result.disk) continue;
    const disk_figures& d = *result.disk;
    add(text, "  {:<20} {:>8.2f} {:>9.1f} {:>10.1f} {:>9.1f} {:>7.1f} {:>6.1f}",
        traits_of(result.workload).name, d.log_lines, d.log_bytes, d.checkpoint_bytes,
        d.ops_per_group, d.checkpoints, d.log_stalls);
    if (shown.latency) add(text, " {} {}", durations(d.apart), durations(d.beside_checkpoints));
    add(text, "\n");
  }
}

void add_reopening(lines& text, const engine_outcome& engine) {
  if (!engine.reopened) return;
  const reopening& r = *engine.reopened;
  add(text, "  opened after kill -9 in {}", duration(r.seconds * 1e9));
  if (r.lines != 0)
    add(text, " with {} lines of log, {:.1f} M lines/s", grouped(r.lines),
        r.lines_per_second() / 1e6);
  add(text, "; after close in {}\n", duration(r.clean_seconds * 1e9));
}

// What the workloads ask for is the same for every engine.
void add_popularity(lines& text, const std::vector<workload_outcome>& results) {
  bool any = std::any_of(results.begin(), results.end(),
                         [](const auto& result) { return result.asked_for; });
  if (!any) return;
  add(text, "\nKeys asked for\n  {:<20} {:<9} {:>11} {:>14} {:>13} {:>8}\n", "workload", "keys",
      "operations", "different keys", "unique ratio", "top 1 %");
  for (const workload_outcome& result : results) {
    if (!result.asked_for) continue;
    const popularity& found = *result.asked_for;
    add(text, "  {:<20} {:<9} {:>11} {:>14} {:>13.4f} {:>6.1f} %\n",
        traits_of(result.workload).name, name_of(result.distribution), grouped(found.operations),
        grouped(found.different_keys), found.unique_ratio(), found.top_1_percent_share() * 100);
  }
  add(text,
      "unique ratio: different keys per operation; top 1 %: operations on the most popular 1 % of "
      "these keys.\n");
}

std::string exponents_of(const embedding_tables& tables) {
  std::string list;
  for (std::size_t t = 0; t < tables.tables().size(); ++t)
    list += fmt::format("{}{:g}", t % 13 == 0 ? "\n  " : " ", tables.tables()[t].exponent);
  return list;
}

void add_traces(lines& text, const request& asked) {
  auto runs = [&](workload_kind kind) {
    return std::find(asked.workloads.begin(), asked.workloads.end(), kind) != asked.workloads.end();
  };
  if (runs(workload_kind::dlrm)) {
    embedding_tables tables(asked.keys, asked.seed);
    add(text,
        "dlrm: {} tables with {} rows in all; zipf exponents, drawn by the seed, an "
        "assumption:{}\n",
        tables.tables().size(), grouped(tables.rows()), exponents_of(tables));
  }
  if (runs(workload_kind::pagerank)) {
    rmat_graph graph(asked.keys, asked.seed);
    std::uint64_t iteration = graph.edges() + graph.vertices();
    add(text,
        "pagerank: R-MAT of scale {}, {} vertices, {} edges; {} operations are {:.4g} "
        "iterations.\n",
        graph.scale(), grouped(graph.vertices()), grouped(graph.edges()),
        grouped(ops_of(asked, workload_kind::pagerank)),
        static_cast<double>(ops_of(asked, workload_kind::pagerank)) /
            static_cast<double>(iteration));
  }
}

/// Whether any result has instructions counted.
bool has_instructions(const report& all, bool by_callgrind_alone) {
  for (const engine_outcome& engine : all.engines)
    for (const workload_outcome& result : engine.results)
      if (result.instructions_per_op && (result.by_callgrind || !by_callgrind_alone)) return true;
  return false;
}

void add_notes(lines& text, const report& all, const columns& shown) {
  const request& asked = all.asked;
  if (shown.latency)
    add(text,
        "\nLatencies: from a repetition of its own in which every {} is timed; the clock itself "
        "takes {:.0f} ns of "
        "each.\n",
        asked.batch > 1 ? fmt::format("batch of {}", asked.batch) : std::string("operation"),
        clock_ns());
  if (shown.latency && asked.arrivals_per_second != 0)
    add(text,
        "Operations arrive at random, {} a second in all. A latency counts from the arrival, with "
        "what it waits in a queue.\n",
        grouped(static_cast<std::uint64_t>(asked.arrivals_per_second)));
  if (shown.latency && asked.batch > 1)
    add(text, "They are the time of a batch divided by its size.\n");
  if (asked.on)
    add(text,
        "\nTimes are of batches alone: each from its call until its answers are final, with commit "
        "and growth. Keys, "
        "values and\nanswers are in pinned host memory, filled before and checked after.\n");
  add(text, "faults: page faults per operation that the measured threads suffered themselves.\n");
  if (has_instructions(all, true))
    add(text,
        "instr/op: counted by callgrind in runs of their own, of at most 200,000 records and one "
        "thread.\n");
  if (!shown.limit) return;
  limit_names names = limits_of(all.engines.front().durability, asked.batch);
  add(text, "x limit: times the speed of light ({} for a read, {} for a write), per thread.\n",
      names.read, names.write);
}

}  // namespace

std::optional<double> times_the_limit(const report& all, const engine_outcome& engine,
                                      const workload_outcome& result) {
  if (!all.limits) return std::nullopt;
  double least = limit_ns(*all.limits, result.workload, engine.durability, all.asked.batch);
  return 1e3 / result.mops() * all.asked.threads / least;
}

std::string table_of(const report& all) {
  lines text;
  add_machine(text, all);
  if (all.limits) add_limits(text, *all.limits);
  if (all.engines.empty()) return to_string(text);
  columns shown{all.asked.latency, all.asked.medium == medium_kind::emulated,
                all.limits.has_value(), has_instructions(all, false)};
  for (const engine_outcome& engine : all.engines) {
    add_heading(text, all, engine);
    add_titles(text, shown);
    for (const workload_outcome& result : engine.results)
      add_result(text, all, engine, result, shown);
    add_growth(text, engine.loaded);
    if (all.asked.medium == medium_kind::disk) add_disk(text, engine, shown);
    add_reopening(text, engine);
  }
  add_popularity(text, all.engines.front().results);
  add_traces(text, all.asked);
  add_notes(text, all, shown);
  return to_string(text);
}

std::string sweep_of(const std::vector<report>& all) {
  lines text;
  add(text, "\nMops/s\n  {:<8} {:>11} {:>7} {:>6}", "engine", "records", "threads", "batch");
  for (const workload_outcome& result : all.front().engines.front().results)
    add(text, " {:>13}", traits_of(result.workload).name);
  add(text, " {:>12}\n", "bytes/record");
  for (const report& one : all)
    for (const engine_outcome& engine : one.engines) {
      add(text, "  {:<8} {:>11} {:>7} {:>6}", name_of(engine.engine), grouped(one.asked.keys),
          one.asked.threads, one.asked.batch);
      for (const workload_outcome& result : engine.results) add(text, " {:>13.2f}", result.mops());
      add(text, " {:>12.1f}\n", engine.loaded.bytes_per_key);
    }
  return to_string(text);
}

}  // namespace durahash::bench
