#include "cut_run.hpp"

#include <gtest/gtest.h>

#include <array>
#include <stdexcept>
#include <thread>

namespace durahash::test {
namespace {

/// Which steps a state may show: all that had ended, and, of the one under way, each change or
/// none. Nothing, or what is wrong.
std::string judge_strict(const std::vector<step>& steps, const pool_state& found,
                         std::uint64_t moment) {
  pool_state must;
  const step* under_way = nullptr;
  for (const step& s : steps)
    if (s.ended <= moment) apply_to(must, s);
    else if (under_way == nullptr && s.began < moment) under_way = &s;
  std::map<std::uint64_t, std::optional<std::string>> may;
  if (under_way != nullptr)
    for (const auto& [key, value] : under_way->changes) may[key] = value;
  for (const auto& [key, value] : must) {
    if (auto at = found.find(key); at == found.end()) {
      if (!may.contains(key) || may[key]) return "key " + std::to_string(key) + " is lost";
    } else if (at->second != value && (!may.contains(key) || may[key] != at->second)) {
      return "key " + std::to_string(key) + " has a wrong value";
    }
  }
  for (const auto& [key, value] : found)
    if (!must.contains(key) && (!may.contains(key) || may[key] != value))
      return "key " + std::to_string(key) + " should not be there";
  return {};
}

using content = std::optional<std::string>;

content in(const pool_state& state, std::uint64_t key) {
  auto at = state.find(key);
  return at == state.end() ? content() : content(at->second);
}

/// The first steps, as many as were synced or more, and of the next one each change or none: a
/// batch is no transaction, and has no order.
std::string judge_buffered(const std::vector<step>& steps, const pool_state& found,
                           std::size_t min_steps) {
  pool_state state;
  std::map<std::uint64_t, content> differing;  // what was found in place of the state's
  for (const auto& [key, value] : found) differing[key] = value;
  for (std::size_t n = 0;; ++n) {
    auto explains = [&](const auto& change) { return change.second == in(found, change.first); };
    std::size_t explained = 0;
    if (n < steps.size())
      for (const auto& change : steps[n].changes)
        explained += differing.contains(change.first) && explains(change);
    if (n >= min_steps && explained >= differing.size()) return {};
    if (n == steps.size()) return "the state is that of no moment since the last sync";
    apply_to(state, steps[n]);
    for (const auto& change : steps[n].changes)
      if (in(state, change.first) == in(found, change.first)) differing.erase(change.first);
      else differing[change.first] = in(found, change.first);
  }
}

void work(table& pool, const disk_setup& with, const disk_recorder& disk, std::uint64_t thread,
          std::uint64_t versions, random_stream draw, history& done) {
  done.syncs.emplace_back(disk.now(), 0);
  for (std::uint64_t version = 1; version <= versions; ++version) {
    std::uint64_t began = disk.now();
    step s = do_step(pool, with, thread * keys_each, keys_each, version, draw);
    s.began = began, s.ended = disk.now();
    done.steps.push_back(std::move(s));
    if (!draw.one_in(100)) continue;
    EXPECT_EQ(pool.sync(), status::ok);
    done.syncs.emplace_back(disk.now(), done.steps.size());
  }
}

}  // namespace

recorded_run::recorded_run(const std::string& path, const disk_setup& how, std::uint64_t threads,
                           std::uint64_t versions, random_stream& draw)
    : with(how), disk({path, path + "-log"}), done(threads) {
  live(path, versions, draw);
}

recorded_run::recorded_run(const recorded_run& before, std::uint64_t killed_at,
                           const std::string& path, std::uint64_t versions, random_stream& draw)
    : with(before.with), disk(before.disk, killed_at), done(1) {
  live(path, versions, draw);
}

void recorded_run::live(const std::string& path, std::uint64_t versions, random_stream& draw) {
  // the record does not even need whole sectors: the other one stays as it was
  disk.tear(log_record_offset, log_record_offset + page_bytes);
  opened_at = disk.now();
  {
    auto pool = table::open(path, with.how());
    if (!pool) throw std::runtime_error(pool.failure().message);
    first = disk.now();
    std::vector<std::thread> all;
    for (std::uint64_t t = 0; t < done.size(); ++t)
      all.emplace_back([&, t, own = random_stream(draw.next())] {
        work(*pool, with, disk, t, versions, own, done[t]);
      });
    for (auto& t : all) t.join();
    for (const auto& [name, figure] : pool->stats().figures)
      if (name == "checkpoints") checkpoints = figure;
      else if (name == "log_growths") growths = figure;
  }
  last = disk.now();
  disk.stop();
}

void recorded_run::restore(std::uint64_t moment, random_stream& draw) const {
  auto unwaited =
      std::array{disk_recorder::unwaited::drawn, disk_recorder::unwaited::drawn,
                 disk_recorder::unwaited::all_old, disk_recorder::unwaited::all_new}[draw.below(4)];
  put_back(disk.after_cut(moment, unwaited, draw));
}

void recorded_run::restore_killed(std::uint64_t moment) const {
  put_back(disk.after_cut(moment, std::vector<bool>(disk.unwaited_at(moment), true)));
}

void recorded_run::restore(std::uint64_t moment, const std::vector<bool>& is_new) const {
  put_back(disk.after_cut(moment, is_new));
}

/// Over itself: another file would be refused as a copy.
void recorded_run::put_back(const std::map<std::string, std::string>& files) {
  for (const auto& [name, bytes] : files) write_file(name, bytes);
}

std::string recorded_run::judge(table& pool, std::uint64_t moment) const {
  std::uint64_t records = 0;
  for (std::uint64_t t = 0; t < done.size(); ++t) {
    pool_state found = state_of(pool, t * keys_each, keys_each);
    records += found.size();
    std::size_t synced = 0;
    for (auto [when, count] : done[t].syncs)
      if (when <= moment) synced = count;
    std::string complaint = with.durability == durability_level::power
                                ? judge_strict(done[t].steps, found, moment)
                                : judge_buffered(done[t].steps, found, synced);
    if (!complaint.empty()) return "thread " + std::to_string(t) + ": " + complaint;
  }
  check_report report = pool.check();
  if (!report.ok) return report.violations.front();
  return report.records == records ? "" : "check counts other records";
}

}  // namespace durahash::test
