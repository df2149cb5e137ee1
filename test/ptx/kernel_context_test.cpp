// Which devices get a context: those that were asked for, and no others.
#include <gtest/gtest.h>

#include <thread>

#include "durahash/gpu_memory.hpp"
#include "durahash/gpu_table.hpp"
#include "test/ptx/contexts.hpp"
#include "test/ptx/load.hpp"
#include "test/store/scratch.hpp"

namespace durahash::ptx {
namespace {

using numbers = std::set<int>;

/// In a thread that has called nothing yet, on a machine of two devices.
template <class Does>
void in_a_new_thread(Does&& does) {
  device& d = device::the_one();
  ASSERT_TRUE(load_once(d)) << why_not_loaded();
  d.forget_memory();
  d.restart({.seed = 5});
  contexts::all().restart(2);
  std::thread(does).join();
  EXPECT_EQ(d.failure(), "");
  contexts::all().restart(1);
}

/// All that waits, grows, pins, allocates and loads.
void use_a_map(const std::string& path, const gpu::device_options& on) {
  auto m = gpu::map::open(path, {}, on);
  ASSERT_TRUE(m) << m.failure().message;
  constexpr std::size_t n = 600;
  auto* keys = static_cast<std::uint64_t*>(gpu::allocate_shared(n * 8, on.number));
  auto* values = static_cast<std::uint64_t*>(gpu::allocate_on(on.number, n * 8));
  auto* answers = static_cast<status*>(gpu::allocate_shared(n, on.number));
  ASSERT_TRUE(keys != nullptr && values != nullptr && answers != nullptr);
  for (std::size_t i = 0; i < n; ++i) keys[i] = i;
  ASSERT_EQ(gpu::copy_on(on.number, values, keys, n * 8), status::ok);
  EXPECT_EQ(m->put(n, keys, values, answers), status::ok);
  EXPECT_EQ(m->load_cache(), status::ok);
  EXPECT_EQ(m->find_async(n, keys, values, answers), status::ok);
  EXPECT_EQ(m->commit(), status::ok);
  gpu::map::export_cursor at;
  std::size_t exported = 0;
  EXPECT_EQ(m->export_batch(at, n, keys, values, exported), status::ok);
  EXPECT_EQ(m->size(), n);
  EXPECT_EQ(m->clear(), status::ok);
  EXPECT_EQ(m->compact(), status::ok);
  EXPECT_EQ(m->close(), status::ok);
  gpu::free_shared(keys, on.number);
  gpu::free_on(on.number, values);
  gpu::free_shared(answers, on.number);
}

TEST(PtxContexts, AMapOfTheSecondDeviceLeavesTheFirstAlone) {
  for (gpu::table_place place :
       {gpu::table_place::pool, gpu::table_place::host_mirror, gpu::table_place::device_mirror}) {
    in_a_new_thread([place] {
      test::scratch_folder folder;
      unsigned percent = place == gpu::table_place::device_mirror ? 0 : 30;
      use_a_map(folder.file("a"), {.number = 1, .place = place, .cache_percent = percent});
      EXPECT_EQ(contexts::all().made(), numbers{1});
      EXPECT_EQ(contexts::all().used(), numbers{1});
      EXPECT_EQ(contexts::all().current(), 0) << "the thread's device has changed";
    });
  }
}

TEST(PtxContexts, RowsOfTheSecondDeviceLeaveTheFirstAlone) {
  in_a_new_thread([] {
    test::scratch_folder folder;
    auto name = gpu::device_name(1);
    EXPECT_TRUE(name) << name.failure().message;
    auto t = gpu::table::open(folder.file("a"), {},
                              {.number = 1, .place = gpu::table_place::device_mirror});
    ASSERT_TRUE(t) << t.failure().message;
    auto* keys = static_cast<std::uint64_t*>(gpu::allocate_shared(64, 1));
    auto* answers = reinterpret_cast<status*>(keys + 4);
    keys[0] = 7;
    for (keys[1] = 0; keys[1] < 3; ++keys[1])
      EXPECT_EQ(t->put(1, keys, keys + 1, 8, answers), status::ok);
    EXPECT_EQ(t->find_async(1, keys, keys + 2, 8, answers), status::ok);
    EXPECT_EQ(t->wait(), status::ok);
    EXPECT_EQ(keys[2], 2u);
    EXPECT_EQ(t->close(), status::ok);
    gpu::free_shared(keys, 1);
    EXPECT_EQ(contexts::all().made(), numbers{1});
    EXPECT_EQ(contexts::all().used(), numbers{1});
  });
}

/// What the thread had before is what it has behind.
TEST(PtxContexts, AThreadKeepsItsDevice) {
  in_a_new_thread([] {
    contexts::all().set(0);
    test::scratch_folder folder;
    use_a_map(folder.file("a"), {.number = 1});
    EXPECT_EQ(contexts::all().current(), 0);
    EXPECT_EQ(contexts::all().used(), numbers{1});
  });
}

TEST(PtxContexts, ADeviceThatIsNotThereIsRefusedAndMakesNone) {
  in_a_new_thread([] {
    test::scratch_folder folder;
    for (int number : {2, -1}) {
      auto m = gpu::map::open(folder.file("a"), {}, {.number = number});
      ASSERT_FALSE(m);
      EXPECT_EQ(m.failure().code, status::invalid_argument);
      EXPECT_EQ(gpu::allocate_shared(64, number), nullptr);
      EXPECT_EQ(gpu::allocate_on(number, 64), nullptr);
    }
    EXPECT_EQ(contexts::all().made(), numbers{});
  });
}

}  // namespace
}  // namespace durahash::ptx
