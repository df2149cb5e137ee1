// One trace of operations leaves the same bytes, whether the processor does it or a device, one
// warp after the other.
#include "persist/format.hpp"
#include "test/gpu/map_rig.hpp"

namespace durahash::test {
namespace {

class GpuGolden : public GpuMap {
 protected:
  /// What of the pool's file an engine and its heap write.
  static std::string content_of(const std::string& file) {
    return read_file(file).substr(engine_area_offset);
  }
};

TEST_P(GpuGolden, PoolsAreTheSameBytesForHostAndDevice) {
  std::string on_host = path() + "-host";
  {
    auto settings = GetParam().settings;
    settings["stop_to_grow"] = 1;  // as a device does
    auto made = map<std::uint64_t, std::uint64_t>::open(
        path(), {.engine = engine_kind::gphash, .settings = settings});
    ASSERT_TRUE(made) << made.failure().message;
  }
  std::filesystem::copy_file(path(), on_host);  // the same seeds
  struct operation {
    bool erases;
    std::uint64_t key, value;
  };
  std::mt19937_64 random(20261122);
  std::vector<operation> trace(12'000);
  for (operation& each : trace) each = {random() % 4 == 0, random() % 2500, random()};
  {
    auto m = map<std::uint64_t, std::uint64_t>::open(on_host);
    ASSERT_TRUE(m) << m.failure().message;
    for (const operation& each : trace) {
      status done = each.erases ? m->erase(each.key) : m->put(each.key, each.value);
      ASSERT_TRUE(done == status::ok || (each.erases && done == status::not_found));
    }
    EXPECT_EQ(m->close(), status::ok);
  }
  {
    auto opened = open(1);
    ASSERT_TRUE(opened) << opened.failure().message;
    gpu::map& m = *opened;
    device_words key(*device, 1), value(*device, 1);
    shared_answers answer(*device, 1);
    for (const operation& each : trace) {
      key[0] = each.key, value[0] = each.value;
      status done = each.erases ? m.erase_async(1, key.data(), answer.data())
                                : m.put(1, key.data(), value.data(), answer.data());
      ASSERT_EQ(done, status::ok);
      ASSERT_EQ(m.commit(), status::ok);
      ASSERT_TRUE(answer[0] == status::ok || (each.erases && answer[0] == status::not_found));
    }
    ASSERT_EQ(m.close(), status::ok);
  }
  std::string host = content_of(on_host), there = content_of(path());
  EXPECT_GT(host.size(), 2000u * 16);
  ASSERT_EQ(host.size(), there.size());
  EXPECT_TRUE(host == there) << "they differ first "
                             << std::mismatch(host.begin(), host.end(), there.begin()).first -
                                    host.begin()
                             << " bytes behind " << engine_area_offset;
}

INSTANTIATE_TEST_SUITE_P(
    Every, GpuGolden,
    testing::ValuesIn(and_on_a_gpu({{"levels2_hashes2_slots8", {}},
                                    {"levels1_hashes2_slots16",
                                     {{"levels", 1}, {"hashes", 2}, {"slots", 16}}},
                                    {"levels4_hashes4_slots2_mirrored",
                                     {{"levels", 4}, {"hashes", 4}, {"slots", 2}},
                                     false,
                                     gpu::table_place::device_mirror}})),
    [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace durahash::test
