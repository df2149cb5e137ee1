#include <nlohmann/json.hpp>

#include "bench/clock.hpp"
#include "bench/report.hpp"

namespace durahash::bench {
namespace {

using json = nlohmann::ordered_json;

template <class T>
json or_null(const std::optional<T>& value) {
  return value ? json(*value) : json(nullptr);
}

json machine_json(const machine_facts& machine) {
  return {{"cpu", machine.cpu},
          {"cores", machine.cores},
          {"kernel", machine.kernel},
          {"commit", machine.commit},
          {"huge_pages", machine.huge_pages}};
}

json latency_json(const std::optional<latency_figures>& latency) {
  if (!latency) return nullptr;
  return {
      {"p50", latency->p50}, {"p99", latency->p99}, {"p999", latency->p999}, {"max", latency->max}};
}

json latency_steps_json(const std::optional<latency_figures>& latency) {
  if (!latency) return nullptr;
  json steps = json::array();
  for (auto [at_most, count] : latency->steps) steps.push_back({at_most, count});
  return steps;
}

json disk_json(const std::optional<disk_figures>& disk) {
  if (!disk) return nullptr;
  return {{"log_lines_per_op", disk->log_lines},
          {"log_bytes_per_op", disk->log_bytes},
          {"checkpoint_bytes_per_op", disk->checkpoint_bytes},
          {"ops_per_log_group", disk->ops_per_group},
          {"checkpoints", disk->checkpoints},
          {"log_stalls", disk->log_stalls},
          {"latency_ns_beside_checkpoints", latency_json(disk->beside_checkpoints)},
          {"latency_ns_apart", latency_json(disk->apart)}};
}

json reopening_json(const std::optional<reopening>& reopened) {
  if (!reopened) return nullptr;
  return {{"lines_replayed", reopened->lines},
          {"seconds_after_kill", reopened->seconds},
          {"lines_per_second", reopened->lines_per_second()},
          {"seconds_after_close", reopened->clean_seconds}};
}

std::string latency_of(const request& asked) {
  return asked.batch > 1
             ? "batch of " + std::to_string(asked.batch) + ", its time divided by its size"
             : "operation";
}

/// How many operations ended in each window, and the longest of them.
json series_json(const report& all, const std::vector<window_figures>& series) {
  if (all.asked.window_ms == 0) return nullptr;
  json windows = json::array();
  for (std::size_t w = 0; w < series.size(); ++w)
    windows.push_back({{"at_ms", w * all.asked.window_ms},
                       {"ops", series[w].ops},
                       {"longest_ns", series[w].longest_ns}});
  return windows;
}

json result_json(const report& all, const engine_outcome& engine, const workload_outcome& result) {
  auto media = [&](double media_figures::*figure) {
    return result.media ? json((*result.media).*figure) : json(nullptr);
  };
  auto asked_for = [&](double (popularity::*figure)() const noexcept) {
    return result.asked_for ? json(((*result.asked_for).*figure)()) : json(nullptr);
  };
  std::vector<double> mops_of_each;
  for (double seconds : result.seconds) mops_of_each.push_back(result.mops_of(seconds));
  return {{"workload", traits_of(result.workload).name},
          {"distribution", name_of(result.distribution)},
          {"memory", result.cold ? "cold" : "warm"},
          {"ops", result.ops},
          {"unique_ratio", asked_for(&popularity::unique_ratio)},
          {"top_1_percent_share", asked_for(&popularity::top_1_percent_share)},
          {"seconds", result.median_seconds()},
          {"mops", result.mops()},
          {"mops_of_each_repetition", mops_of_each},
          {"latency_ns", latency_json(result.latency)},
          {"latency_of", latency_of(all.asked)},
          {"latency_steps", latency_steps_json(result.latency)},
          {"series", series_json(all, result.series)},
          {"flushes_per_op", media(&media_figures::flushes)},
          {"fences_per_op", media(&media_figures::fences)},
          {"media_read_blocks_per_op", media(&media_figures::read_blocks)},
          {"media_write_blocks_per_op", media(&media_figures::write_blocks)},
          {"disk", disk_json(result.disk)},
          {"page_faults_per_op", result.page_faults_per_op},
          {"instructions_per_op", or_null(result.instructions_per_op)},
          {"instructions_by", !result.instructions_per_op ? json()
                              : result.by_callgrind       ? json("callgrind")
                                                          : json("processor")},
          {"times_the_limit", or_null(times_the_limit(all, engine, result))}};
}

json limits_json(const std::optional<limits_report>& limits) {
  if (!limits) return nullptr;
  json rows = json::array();
  for (const limit& row : limits->rows)
    rows.push_back({{"name", row.name}, {"what", row.help}, {"ns", row.ns}});
  return {{"working_set_bytes", limits->working_set_bytes},
          {"rounds", limits->rounds},
          {"flush_instruction", limits->flush_instruction},
          {"rows", rows}};
}

json shared_part(const report& all) {
  const request& asked = all.asked;
  return {{"machine", machine_json(all.machine)},
          {"device", device_of(asked)},
          {"medium", name_of(asked.medium)},
          {"keys", asked.keys},
          {"threads", asked.threads},
          {"batch", asked.batch},
          {"seed", asked.seed},
          {"theta", asked.theta},
          {"repetitions", asked.repeat},
          {"arrivals_per_second", asked.arrivals_per_second},
          {"window_ms", asked.window_ms},
          {"key", name_of(asked.shape.kind)},
          {"key_bytes", asked.shape.key_bytes},
          {"value_bytes", asked.shape.value_bytes},
          {"settings", asked.settings},
          {"clock_ns", clock_ns()},
          {"limits", limits_json(all.limits)}};
}

json engine_json(const report& all, const engine_outcome& engine) {
  json one = shared_part(all);
  one["engine"] = name_of(engine.engine);
  one["device_memory"] = engine.device ? json(name_of(engine.device->place)) : json(nullptr);
  if (engine.device)
    one["device_arrays"] = all.asked.arrays_at == array_place::host ? "host" : "device";
  if (engine.device && engine.device->cache_hit_rate)
    one["device_cache"] = {{"percent", all.asked.lending.cache_percent},
                           {"policy", name_of(all.asked.lending.policy)},
                           {"hit_rate", *engine.device->cache_hit_rate}};
  one["durability"] = name_of(engine.durability);
  one["results"] = json::array();
  for (const workload_outcome& result : engine.results)
    one["results"].push_back(result_json(all, engine, result));
  const growth& loaded = engine.loaded;
  one["load_factor"] = {{"final", loaded.load_factor_final},
                        {"peak", or_null(loaded.load_factor_peak)}};
  one["bytes_per_key"] = loaded.bytes_per_key;
  one["bytes_per_key_over_last_doubling"] = or_null(loaded.bytes_per_key_over_last_doubling);
  one["file_bytes_per_key"] = loaded.file_bytes_per_key;
  one["reopening"] = reopening_json(engine.reopened);
  return one;
}

}  // namespace

nlohmann::ordered_json json_of(const std::vector<report>& all) {
  json every = json::array();
  for (const report& one : all) {
    if (one.engines.empty()) every.push_back(shared_part(one));
    for (const engine_outcome& engine : one.engines) every.push_back(engine_json(one, engine));
  }
  return every.size() == 1 ? every.front() : every;
}

}  // namespace durahash::bench
