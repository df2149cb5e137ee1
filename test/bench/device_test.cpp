// The benchmark of a device, on threads in lockstep instead of one: every workload, and that a
// wrong answer is noticed.
#include <gtest/gtest.h>

#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "bench/device_pool.hpp"
#include "bench/device_rows.hpp"
#include "bench/report.hpp"
#include "bench/runner.hpp"
#include "test/bench/lockstep_gpu.hpp"

namespace durahash::bench {
namespace {

using nlohmann::json;
using word = std::uint64_t;

request small(std::shared_ptr<device> on, word batch = 100) {
  request asked;
  asked.engines = {engine_kind::gphash};
  asked.on = std::move(on);
  asked.keys = 1500;
  asked.batch = batch;
  asked.repeat = 1;
  for (const workload_traits& each : all_workloads()) asked.workloads.push_back(each.kind);
  return asked;
}
std::vector<engine_outcome> run(const request& asked) {
  return bench::run(asked, [](const std::string&, word, word) {});
}
/// What the run gave up with.
failure failure_of(const request& asked) {
  try {
    run(asked);
  } catch (const failure& why) {
    return why;
  }
  return {status::ok, "nothing failed"};
}

struct device_case {
  word batch;
  durability_level durability = durability_level::process;
  gpu::table_place place = gpu::table_place::automatic;
  const char* device_memory = "pool";
  unsigned cache_percent = 0;
  array_place arrays_at = array_place::host;
  record_shape shape = {};
};
class BenchDevice : public testing::TestWithParam<device_case> {};
INSTANTIATE_TEST_SUITE_P(
    Every, BenchDevice,
    testing::Values(
        device_case{1}, device_case{100}, device_case{4096},
        device_case{100, durability_level::power},
        device_case{100, durability_level::process, gpu::table_place::host_mirror, "host-mirror"},
        device_case{100, durability_level::power, gpu::table_place::device_mirror, "device-mirror"},
        device_case{100, durability_level::process, gpu::table_place::pool, "pool", 30},
        device_case{100, durability_level::process, gpu::table_place::device_mirror,
                    "device-mirror", 0, array_place::device},
        device_case{100,
                    durability_level::process,
                    gpu::table_place::pool,
                    "pool",
                    0,
                    array_place::host,
                    {data_kind::bytes, 8, 128}},
        device_case{100,
                    durability_level::process,
                    gpu::table_place::pool,
                    "pool",
                    30,
                    array_place::device,
                    {data_kind::bytes, 8, 128}},
        device_case{100,
                    durability_level::power,
                    gpu::table_place::device_mirror,
                    "device-mirror",
                    0,
                    array_place::device,
                    {data_kind::bytes, 32, 4}}));

TEST_P(BenchDevice, RunsEveryWorkloadWithEveryAnswerRight) {
  auto on = std::make_shared<threads_in_lockstep>();
  report all{small(on, GetParam().batch), this_machine(), {}, std::nullopt};
  all.asked.durability = GetParam().durability;
  all.asked.lending.place = GetParam().place;
  all.asked.lending.cache_percent = GetParam().cache_percent;
  all.asked.arrays_at = GetParam().arrays_at;
  all.asked.shape = GetParam().shape;
  all.asked.ops = 300;
  if (GetParam().batch == 1) all.asked.keys = 100, all.asked.ops = 20;  // a kernel for each
  all.engines = run(all.asked);
  EXPECT_EQ(on->apart != 0, GetParam().arrays_at == array_place::device);
  json shown = json_of(std::vector{all});
  EXPECT_EQ(shown["device"], "threads in lockstep");
  EXPECT_EQ(shown["durability"], name_of(GetParam().durability));
  EXPECT_EQ(shown["device_memory"], GetParam().device_memory);
  EXPECT_EQ(shown.contains("device_cache"), GetParam().cache_percent != 0);
  if (GetParam().cache_percent != 0) {
    EXPECT_EQ(shown["device_cache"]["percent"], GetParam().cache_percent);
    EXPECT_LE(shown["device_cache"]["hit_rate"], 1);
    EXPECT_NE(table_of(all).find("with copies of 30 % of the buckets (lfu)"), std::string::npos);
  }
  EXPECT_GT(shown["load_factor"]["final"], 0);
  std::set<std::string> names;
  for (const json& result : shown["results"]) {
    names.insert(result["workload"]);
    EXPECT_GT(result["seconds"], 0) << result["workload"];
    EXPECT_GT(result["latency_ns"]["p50"], 0) << result["workload"];
  }
  EXPECT_EQ(names.size(), all_workloads().size());
  EXPECT_NE(table_of(all).find("on threads in lockstep"), std::string::npos);
  EXPECT_EQ(on->arrays, 0) << "arrays that nobody gave back";
}

/// Opens pools in which a record is that the load puts there, too.
class with_a_record_too_many final : public threads_in_lockstep {
 public:
  explicit with_a_record_too_many(word key) : key_(key) {}
  result<gpu::map> open(const std::string& path, const options& how,
                        const gpu::device_options& on) override {
    auto made = threads_in_lockstep::open(path, how, on);
    status answer{};
    if (made) made->put(1, &key_, &key_, &answer);
    return made;
  }

 private:
  word key_;
};

TEST(BenchDeviceRun, ARunWithAWrongAnswerFails) {
  request asked = small(nullptr);
  asked.workloads = {workload_kind::insert};
  asked.on = std::make_shared<with_a_record_too_many>(key_space(asked.seed).key(77));
  failure why = failure_of(asked);
  EXPECT_EQ(why.code, status::damaged);
  EXPECT_NE(std::string(why.what()).find("1 of 1500 operations failed"), std::string::npos)
      << why.what();
}

/// The device of the second pool fails at once: in the first repetition, whose load is measured.
class failing final : public threads_in_lockstep {
 public:
  result<gpu::map> open(const std::string& path, const options& how,
                        const gpu::device_options& on) override {
    auto made = std::make_unique<test::lockstep_device>();
    made->fails = ++opened_ == 2;
    return gpu::open_on(std::move(made), path, how, on);
  }

 private:
  int opened_ = 0;
};

TEST(BenchDeviceRun, ADeviceThatFailsEndsTheRunInItsWords) {
  failure why = failure_of(small(std::make_shared<failing>()));
  EXPECT_EQ(why.code, status::io_error);
  EXPECT_STREQ(why.what(), "the device failed");
}

class without_memory final : public threads_in_lockstep {
  void* allocate(std::size_t, array_place) override { return nullptr; }
};

TEST(BenchDeviceRun, WithoutMemoryForABatchTheRunEnds) {
  failure why = failure_of(small(std::make_shared<without_memory>(), 4096));
  EXPECT_EQ(why.code, status::no_space);
  EXPECT_NE(std::string(why.what()).find("host and device share"), std::string::npos) << why.what();
}

/// Of client on a pool with these records.
template <class Client>
void expect_all_as_expected(Client& client, const std::array<word, 4>& present) {
  const std::array<word, 2> absent{5, 99};
  EXPECT_EQ(client.get_many(present), 4u);
  EXPECT_EQ(client.get_absent_many(absent), 2u);
  EXPECT_EQ(client.put_many(present, 8), 4u);
  EXPECT_EQ(client.update_many(present, 9), 4u);
  EXPECT_EQ(client.get_many(present), 4u);
  EXPECT_EQ(client.erase_many(present), 4u);
  EXPECT_EQ(client.get_absent_many(present), 4u);
  EXPECT_FALSE(client.surprise());
}

/// Client on a pool with the records 1 to 4, of generation 7.
class DeviceHands : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(client.insert_many(present, 7), 4u); }
  static device_pool open(const std::shared_ptr<device>& on) {
    request asked = small(on);
    return open_scratch<device_pool>(asked, engine_kind::gphash);
  }
  std::optional<status> surprise() const { return client.surprise(); }

  const std::array<word, 4> present{1, 2, 3, 4};
  const std::array<word, 3> half{3, 99, 4};
  std::shared_ptr<device> on = std::make_shared<threads_in_lockstep>();
  device_pool pool = open(on);
  device_client client{pool, record_shape{}, 4};
};

TEST_F(DeviceHands, CountWhatIsAsExpected) {
  expect_all_as_expected(client, present);
  EXPECT_EQ(client.get_many({}), 0u);
}

TEST_F(DeviceHands, NoticeARecordThatIsMissing) {
  EXPECT_EQ(client.get_many(half), 2u);
  EXPECT_EQ(surprise(), status::not_found);
  EXPECT_EQ(client.update_many(half, 8), 2u);
  EXPECT_EQ(client.erase_many(half), 2u);
}

TEST_F(DeviceHands, NoticeARecordThatShouldNotBeThere) {
  EXPECT_EQ(client.get_absent_many(half), 1u);
  EXPECT_EQ(surprise(), status::ok);
}

TEST_F(DeviceHands, NoticeAnInsertOfWhatIsThere) {
  EXPECT_EQ(client.insert_many(half, 8), 1u);
  EXPECT_EQ(surprise(), status::exists);
}

TEST_F(DeviceHands, NoticeAValueOfAnotherKey) {
  word key = 3, value = value_of(std::uint64_t{1} << 40, 7);
  status answer{};
  ASSERT_EQ(pool.map().put(1, &key, &value, &answer), status::ok);
  EXPECT_EQ(client.get_many(present), 3u);
  EXPECT_EQ(surprise(), status::mismatch);
}

TEST_F(DeviceHands, HaveAClockThatRunsWithTheirBatches) {
  ticks before = client.clock();
  EXPECT_EQ(client.get_many({}), 0u);
  EXPECT_EQ(client.clock(), before);
  client.get_many(present);
  EXPECT_GT(client.clock(), before);
}

/// Client on a pool of rows.
class RowClient : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(client.insert_many(present, 7), 4u); }
  static device_rows open(const record_shape& shape) {
    request asked = small(std::make_shared<threads_in_lockstep>());
    asked.shape = shape;
    return open_scratch<device_rows>(asked, engine_kind::gphash);
  }

  const std::array<word, 4> present{1, 2, 3, 4};
  const std::array<word, 3> half{3, 99, 4};
  const record_shape shape{data_kind::bytes, 16, 24};
  device_rows pool = open(shape);
  row_client client{pool, shape, 4};
};

TEST_F(RowClient, CountWhatIsAsExpected) { expect_all_as_expected(client, present); }

TEST_F(RowClient, NoticeWhatIsWrong) {
  EXPECT_EQ(client.get_many(half), 2u);
  EXPECT_EQ(client.surprise(), status::not_found);
  EXPECT_EQ(client.get_absent_many(half), 1u);
  EXPECT_EQ(client.insert_many(half, 8), 1u);
  EXPECT_EQ(client.erase_many(present), 4u);
  std::string key(16, 'k'), value(24, 'v');
  key.replace(0, 8, std::string("\3\0\0\0\0\0\0\0", 8));
  value.replace(0, 8, std::string("\1\0\0\1\0\0\0\0", 8));
  status answer{};
  ASSERT_EQ(pool.table().put(1, key.data(), value.data(), value.size(), &answer), status::ok);
  EXPECT_EQ(client.get_many({present.data() + 2, 1}), 0u) << "a value of another key";
  ASSERT_EQ(pool.table().put(1, key.data(), value.data(), 8, &answer), status::ok);
  EXPECT_EQ(client.get_many({present.data() + 2, 1}), 0u) << "a value of another length";
}

}  // namespace
}  // namespace durahash::bench
