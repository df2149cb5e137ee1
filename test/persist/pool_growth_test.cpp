// Growth of a pool beside those who need space. The system may take its time for it, as
// posix_fallocate does: who finds space does not wait for that.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <atomic>
#include <condition_variable>
#include <future>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "media/mapping.hpp"
#include "media/process_medium.hpp"
#include "persist/pool.hpp"
#include "test/store/scratch.hpp"

namespace durahash::test {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t most = std::uint64_t{1} << 30;

/// Memory that gets longer while a gate is open; who comes to a closed one waits.
class gated_mapping final : public mapping {
 public:
  gated_mapping() {
    void* at = ::mmap(nullptr, most, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    check(at != MAP_FAILED, "addresses for a test");
    base_ = static_cast<std::byte*>(at);
    reserved_bytes_ = max_bytes_ = most;
  }
  ~gated_mapping() override { ::munmap(base_, most); }
  status appear() override { return status::ok; }
  status write_to_disk(std::uint64_t, std::uint64_t) override { return status::ok; }

  void close() {
    std::scoped_lock lock(lock_);
    open_ = false;
  }
  void open() {
    std::scoped_lock lock(lock_);
    open_ = true;
    changed_.notify_all();
  }
  /// Until somebody waits at the gate.
  bool await_growth() {
    std::unique_lock lock(lock_);
    return changed_.wait_for(lock, 120s, [&] { return waiting_ > 0; });
  }
  void refuse(status answer) { answer_ = answer; }

 protected:
  status extend(std::uint64_t, std::uint64_t) override {
    std::unique_lock lock(lock_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return open_; });
    --waiting_;
    return answer_;
  }
  void release(std::uint64_t, std::uint64_t) override {}

 private:
  std::mutex lock_;
  std::condition_variable changed_;
  bool open_ = true;
  int waiting_ = 0;
  std::atomic<status> answer_{status::ok};
};

struct growth_rig {
  gated_mapping* map;
  std::unique_ptr<pool<process_medium>> p;

  growth_rig() {
    auto made = std::make_unique<gated_mapping>();
    map = made.get();
    superblock block = new_superblock(engine_kind::turbo, data_kind::u64, data_kind::u64,
                                      durability_level::process, {}, page_bytes);
    p = std::move(
        *pool<process_medium>::create(std::move(made), std::make_unique<process_medium>(), block));
  }
  ~growth_rig() { map->open(); }

  /// Takes space until growth has begun that nobody needs yet, and waits at the gate.
  void until_growth_ahead(std::set<std::uint64_t>& taken) {
    while (p->end() < (32 << 20)) taken.insert(*p->allocate(extent, page_bytes));
    map->close();
    const std::uint64_t end = p->end();
    while (p->free_bytes() > end / 32) taken.insert(*p->allocate(extent, page_bytes));
    ASSERT_TRUE(map->await_growth()) << "no growth has begun";
  }
  static constexpr std::uint64_t extent = 16 << 10;
};

TEST(PoolGrowth, WhoFindsSpaceDoesNotWaitForTheSystemThatMakesMore) {
  growth_rig r;
  std::set<std::uint64_t> taken;
  r.until_growth_ahead(taken);
  auto beside = std::async(std::launch::async, [&] {
    const std::uint64_t offset = *r.p->allocate(growth_rig::extent, page_bytes);
    r.p->free(offset, growth_rig::extent);
    return r.p->free_bytes();
  });
  const bool waited = beside.wait_for(60s) != std::future_status::ready;
  r.map->open();
  EXPECT_FALSE(waited) << "it waits for whoever makes the file longer";
  EXPECT_GT(beside.get(), 0u);
}

TEST(PoolGrowth, WhoFindsNoneWaitsForIt) {
  growth_rig r;
  std::set<std::uint64_t> taken;
  r.until_growth_ahead(taken);
  const std::uint64_t end = r.p->end();
  while (r.p->free_bytes() >= growth_rig::extent)
    taken.insert(*r.p->allocate(growth_rig::extent, page_bytes));
  auto beside =
      std::async(std::launch::async, [&] { return r.p->allocate(growth_rig::extent, page_bytes); });
  EXPECT_EQ(beside.wait_for(200ms), std::future_status::timeout) << "there is none";
  r.map->open();
  const auto offset = beside.get();
  ASSERT_TRUE(offset);
  EXPECT_GT(*offset + growth_rig::extent, end) << "what is new begins in what was free at the end";
  EXPECT_TRUE(taken.insert(*offset).second) << "it has two owners";
}

TEST(PoolGrowth, GrowthThatIsRefusedLeavesThePoolAsItIs) {
  growth_rig r;
  std::set<std::uint64_t> taken;
  r.until_growth_ahead(taken);
  r.map->refuse(status::no_space);
  r.map->open();
  const std::uint64_t end = r.p->end();
  while (r.p->free_bytes() >= growth_rig::extent)
    taken.insert(*r.p->allocate(growth_rig::extent, page_bytes));
  EXPECT_FALSE(r.p->allocate(growth_rig::extent, page_bytes));
  EXPECT_EQ(r.p->end(), end);
  r.p->free(*taken.begin(), growth_rig::extent);
  EXPECT_EQ(r.p->allocate(growth_rig::extent, page_bytes), *taken.begin());
  r.map->refuse(status::ok);
  EXPECT_TRUE(r.p->allocate(growth_rig::extent, page_bytes));
  EXPECT_GT(r.p->end(), end);
}

TEST(PoolGrowth, ThreadsThatTakeAndGiveBackBesideGrowthAndShrinkingShareNothing) {
  growth_rig r;
  constexpr int threads = 4, rounds = 2'000;
  std::atomic<std::uint64_t> taken_twice{0}, taken{0};
  std::vector<std::atomic<std::uint8_t>> owners(most / page_bytes);
  std::atomic<int> at_work{threads};
  std::vector<std::thread> workers;
  for (int n = 0; n < threads; ++n)
    workers.emplace_back([&, n] {
      std::vector<std::uint64_t> mine;
      for (int i = 0; i < rounds; ++i) {
        const auto offset = r.p->allocate(growth_rig::extent, page_bytes);
        if (!offset) continue;
        taken_twice += owners.at(*offset / page_bytes).exchange(1);
        mine.push_back(*offset);
        ++taken;
        if (i % 3 != n % 3) continue;
        owners.at(mine.front() / page_bytes) = 0;
        r.p->free(mine.front(), growth_rig::extent);
        mine.erase(mine.begin());
        --taken;
      }
      --at_work;
    });
  while (at_work > 0) {
    EXPECT_EQ(r.p->give_back_tail(), status::ok);
    std::this_thread::yield();
  }
  for (std::thread& t : workers) t.join();
  EXPECT_EQ(taken_twice, 0u);
  std::uint64_t owned = 0;
  for (const auto& o : owners) owned += o;
  EXPECT_EQ(owned, taken);
}

/// Pages that are made present ahead, in the background, while the pool gives back its tail.
TEST(PoolGrowth, NoPageIsMadePresentBehindThePoolsEnd) {
  constexpr std::uint64_t tail = 24 << 20;
  scratch_folder folder;
  background ours;
  const auto all_have_had_a_turn = [&] {  // owners take turns: what waited before is done then
    for (int n = 0; n < 2; ++n) {
      std::promise<void> done;
      ASSERT_TRUE(ours.submit([&](const background&) { done.set_value(); }));
      done.get_future().wait();
    }
  };
  const std::string path = folder.file("pool");
  auto map =
      mapping::open({.path = path, .create = true, .address_space_bytes = most, .max_bytes = most});
  ASSERT_TRUE(map);
  ASSERT_EQ((*map)->appear(), status::ok);
  auto p = pool<process_medium>::create(
      std::move(*map), std::make_unique<process_medium>(),
      new_superblock(engine_kind::turbo, data_kind::u64, data_kind::u64, durability_level::process,
                     {}, page_bytes));
  ASSERT_TRUE(p);
  ASSERT_TRUE((*p)->may_change());
  for (int round = 0; round < 40; ++round) {
    ASSERT_EQ((*p)->reserve(tail), status::ok);
    std::this_thread::sleep_for(round % 8 * 200us);
    ASSERT_EQ((*p)->give_back_tail(), status::ok);
    all_have_had_a_turn();
    struct stat facts {};
    ASSERT_EQ(::stat(path.c_str(), &facts), 0);
    EXPECT_LE(static_cast<std::uint64_t>(facts.st_blocks) * 512, (*p)->end()) << round;
  }
}

}  // namespace
}  // namespace durahash::test
