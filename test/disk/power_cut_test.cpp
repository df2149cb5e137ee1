// A loss of power at any moment of a run, on a disk of which each sector that nobody waited for is
// old or new.
#include <gtest/gtest.h>

#include <filesystem>

#include "disk_pool.hpp"
#include "disk_recorder.hpp"

namespace durahash::test {
namespace {

class PowerCut : public testing::TestWithParam<disk_setup> {};
INSTANTIATE_TEST_SUITE_P(All, PowerCut, testing::ValuesIn(disk_setups()), disk_setup_name());

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

/// The first steps, as many as were synced or more, and of the next one each change or none: a batch
/// is no transaction, and has no order.
std::string judge_buffered(const std::vector<step>& steps, const pool_state& found,
                           std::size_t least_steps) {
  pool_state state;
  std::map<std::uint64_t, content> differing;  // what was found in place of the state's
  for (const auto& [key, value] : found) differing[key] = value;
  for (std::size_t n = 0;; ++n) {
    auto explains = [&](const auto& change) {
      return change.second == in(found, change.first);
    };
    std::size_t explained = 0;
    if (n < steps.size())
      for (const auto& change : steps[n].changes)
        explained += differing.contains(change.first) && explains(change);
    if (n >= least_steps && explained >= differing.size()) return {};
    if (n == steps.size()) return "the state is that of no moment since the last sync";
    apply_to(state, steps[n]);
    for (const auto& change : steps[n].changes)
      if (in(state, change.first) == in(found, change.first)) differing.erase(change.first);
      else differing[change.first] = in(found, change.first);
  }
}

TEST_P(PowerCut, LeavesWhatWasAcknowledged) {
  const disk_setup with = GetParam();
  const bool strict = with.durability == durability_level::power;
  random_stream draw(stream_seed("PowerCut." + with.name()));
  scratch_folder folder(disk_folder());
  std::string path = folder.file("pool.dh");
  constexpr std::uint64_t keys = 700;
  {
    auto pool = table::open(path, with.how());
    ASSERT_TRUE(pool) << pool.failure().message;
  }
  std::vector<step> steps;
  std::vector<std::pair<std::uint64_t, std::size_t>> syncs;  // moment, steps
  disk_recorder recorder({path, path + "-log"});
  {
    auto pool = table::open(path, with.how());
    ASSERT_TRUE(pool) << pool.failure().message;
    syncs.emplace_back(recorder.now(), 0);
    for (std::uint64_t version = 1; version <= (strict ? 500u : 3000u); ++version) {
      std::uint64_t began = recorder.now();
      step s = do_step(*pool, with, keys, version, draw);
      s.began = began, s.ended = recorder.now();
      steps.push_back(std::move(s));
      if (draw.one_in(100)) {
        ASSERT_EQ(pool->sync(), status::ok);
        syncs.emplace_back(recorder.now(), steps.size());
      }
    }
    for (const auto& [name, figure] : pool->stats().figures)
      if (name == "checkpoints" && with.value == data_kind::bytes) {
        EXPECT_GT(figure, 0) << "the log has not gone round";
      }
  }
  std::uint64_t last = recorder.now();
  recorder.stop();

  std::uint64_t first = syncs.front().first, cuts = long_run() ? 400 : 25;
  for (std::uint64_t i = 0; i < cuts; ++i) {
    std::uint64_t moment = i == 0 ? last : first + draw.below(last - first + 1);
    auto unwaited = std::array{disk_recorder::unwaited::drawn, disk_recorder::unwaited::drawn,
                               disk_recorder::unwaited::all_old,
                               disk_recorder::unwaited::all_new}[draw.below(4)];
    for (const auto& [name, bytes] : recorder.after_cut(moment, unwaited, draw)) {
      // over itself: another file would be refused as a copy
      std::filesystem::resize_file(name, 0);
      write_file(name, bytes);
    }
    SCOPED_TRACE("cut at " + std::to_string(moment) + " of " + std::to_string(last));
    auto pool = table::open(path, with.how());
    ASSERT_TRUE(pool) << pool.failure().message;
    pool_state found = state_of(*pool, keys);
    std::size_t synced = 0;
    for (auto [when, count] : syncs)
      if (when <= moment) synced = count;
    EXPECT_EQ(strict ? judge_strict(steps, found, moment) : judge_buffered(steps, found, synced),
              "");
    check_report report = pool->check();
    EXPECT_TRUE(report.ok) << (report.violations.empty() ? "" : report.violations.front());
    EXPECT_EQ(report.records, found.size());
    // and it goes on
    for (std::uint64_t version = 10'000; version < 10'050; ++version)
      apply_to(found, do_step(*pool, with, keys, version, draw));
    ASSERT_EQ(pool->close(), status::ok);
    auto again = table::open(path, with.how());
    ASSERT_TRUE(again) << again.failure().message;
    EXPECT_TRUE(again->info().clean);
    EXPECT_EQ(state_of(*again, keys), found);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace durahash::test
