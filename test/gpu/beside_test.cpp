// Readers of other handles, as in other processes or in other threads of this one, beside a device
// that has the pool: they read between its batches, and wait while one is under way.
#include <gtest/gtest.h>

#include <cstring>
#include <future>
#include <random>
#include <thread>

#include "durahash/map.hpp"
#include "durahash/table.hpp"
#include "gpu/map.hpp"
#include "gpu/row_batches.hpp"
#include "gpu/table.hpp"
#include "test/gpu/lockstep_device.hpp"
#include "test/store/scratch.hpp"

namespace durahash::test {
namespace {

using word_map = map<std::uint64_t, std::uint64_t>;

constexpr std::size_t keys_of_a_batch = 64;
constexpr std::uint64_t turns = 60;

struct beside_case {
  std::string name;
  gpu::table_place place;
  bool on_gpu = false;
};
const beside_case every_case[] = {{"pool", gpu::table_place::pool},
                                  {"host_mirror", gpu::table_place::host_mirror},
                                  {"device_mirror", gpu::table_place::device_mirror},
                                  {"pool_gpu", gpu::table_place::pool, true},
                                  {"device_mirror_gpu", gpu::table_place::device_mirror, true}};

class GpuBeside : public testing::TestWithParam<beside_case> {
 protected:
  void SetUp() override {
    if (!GetParam().on_gpu) return;
    if (auto found = gpu::cuda_device(0); !found) {
      if (must_have_a_gpu()) FAIL() << found.failure().message;
      GTEST_SKIP() << "no GPU: " << found.failure().message;
    }
  }
  std::unique_ptr<gpu::device> device() {
    if (GetParam().on_gpu) return std::move(*gpu::cuda_device(0));
    return std::make_unique<lockstep_device>();
  }
  template <class T>
  static T* shared(gpu::device& d, std::size_t count) {
    return static_cast<T*>(d.allocate(count * sizeof(T)));
  }
  std::string path() const { return folder_.file("pool"); }

  /// Writes turn after turn, each a value larger by one for every key; the reader sees of each key
  /// what was acknowledged before it began, or what was under way. read(key) tells a value.
  template <class Write, class Read>
  void write_beside_a_reader(Write&& write, Read&& read) {
    std::atomic<std::uint64_t> acknowledged{0}, begun{0};
    std::atomic<bool> done{false};
    std::atomic<std::uint64_t> reads{0};
    std::thread reader([&] {
      std::mt19937_64 random(3);
      while (!done || reads == 0) {
        const std::uint64_t before = acknowledged;
        const std::uint64_t key = random() % keys_of_a_batch;
        const std::optional<std::uint64_t> value = read(key);
        if (!value) continue;  // it waited for too long
        EXPECT_GE(*value, before);
        EXPECT_LE(*value, begun.load());
        ++reads;
      }
    });
    for (std::uint64_t turn = 1; turn <= turns; ++turn) {
      begun = turn;
      EXPECT_EQ(write(turn), status::ok);
      acknowledged = turn;
      if (turn % 8 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    done = true;
    reader.join();
    EXPECT_GT(reads, 0u);
  }

 private:
  scratch_folder folder_;
};
INSTANTIATE_TEST_SUITE_P(Every, GpuBeside, testing::ValuesIn(every_case),
                         [](const auto& each) { return each.param.name; });

TEST_P(GpuBeside, WordsAreReadBetweenBatches) {
  auto made = device();
  auto* keys = shared<std::uint64_t>(*made, keys_of_a_batch);
  auto* values = shared<std::uint64_t>(*made, keys_of_a_batch);
  auto* answers = shared<status>(*made, keys_of_a_batch);
  auto pool = gpu::open_on(std::move(made), path(), {}, {.place = GetParam().place});
  ASSERT_TRUE(pool) << pool.failure().message;
  const auto beside = word_map::open(path(), {.mode = open_mode::read_beside});
  ASSERT_TRUE(beside) << beside.failure().message;
  write_beside_a_reader(
      [&](std::uint64_t turn) {
        for (std::size_t i = 0; i < keys_of_a_batch; ++i) keys[i] = i, values[i] = turn;
        if (turn % 2 == 0) return pool->put(keys_of_a_batch, keys, values, answers);
        const status taken = pool->put_async(keys_of_a_batch, keys, values, answers);
        return taken == status::ok ? pool->commit() : taken;
      },
      [&](std::uint64_t key) -> std::optional<std::uint64_t> {
        std::uint64_t value = 0;
        const status answer = beside->get(key, value);
        EXPECT_TRUE(answer == status::ok || answer == status::not_found || answer == status::busy)
            << message(answer);
        return answer == status::busy ? std::nullopt : std::optional(value);
      });
  EXPECT_EQ(pool->close(), status::ok);
}

TEST_P(GpuBeside, RowsAreReadBetweenBatches) {
  constexpr std::size_t words = 16;
  auto pool = gpu::open_rows_on(device(), path(), {}, {.place = GetParam().place});
  ASSERT_TRUE(pool) << pool.failure().message;
  const auto beside = table::open(path(), {.mode = open_mode::read_beside});
  ASSERT_TRUE(beside) << beside.failure().message;
  std::vector<std::uint64_t> keys(keys_of_a_batch), rows(keys_of_a_batch * words);
  std::vector<status> answers(keys_of_a_batch);
  static_assert(keys_of_a_batch >= gpu::row_batches::least);
  for (std::size_t i = 0; i < keys_of_a_batch; ++i) keys[i] = i;
  write_beside_a_reader(
      [&](std::uint64_t turn) {
        std::fill(rows.begin(), rows.end(), turn);
        return pool->put(keys_of_a_batch, keys.data(), rows.data(), words * 8, answers.data());
      },
      [&](std::uint64_t key) -> std::optional<std::uint64_t> {
        std::string row;
        const status answer = beside->get({reinterpret_cast<const char*>(&key), sizeof key}, row);
        EXPECT_TRUE(answer == status::ok || answer == status::not_found || answer == status::busy)
            << message(answer);
        if (answer == status::busy) return std::nullopt;
        if (answer == status::not_found) return std::uint64_t{0};
        std::vector<std::uint64_t> read(words);
        EXPECT_EQ(row.size(), words * 8);
        std::memcpy(read.data(), row.data(), words * 8);
        for (std::uint64_t word : read) EXPECT_EQ(word, read[0]) << "a torn row";
        return read[0];
      });
  EXPECT_EQ(pool->close(), status::ok);
}

/// Kernels of a batch that nobody has waited for may write at any time.
TEST(GpuBesideInLockstep, WaitsForAWriteThatIsNotCommitted) {
  scratch_folder folder;
  auto made = std::make_unique<lockstep_device>();
  made->lazy = true;
  auto pool =
      gpu::open_on(std::move(made), folder.file("pool"), {}, {.place = gpu::table_place::pool});
  ASSERT_TRUE(pool) << pool.failure().message;
  const auto beside = word_map::open(folder.file("pool"), {.mode = open_mode::read_beside});
  ASSERT_TRUE(beside) << beside.failure().message;
  std::uint64_t key = 5, value = 50, found = 0;
  status answer = status::damaged;
  int first = 0, second = 0;  // names of streams
  EXPECT_EQ(beside->get(5, found), status::not_found);
  ASSERT_EQ(pool->put_async(1, &key, &value, &answer, &first), status::ok);
  EXPECT_EQ(beside->get(5, found), status::busy);
  auto reader = std::async(std::launch::async, [&] {
    std::uint64_t read = 0;
    return beside->get(5, read) == status::ok ? read : 0;
  });
  // another stream's commit does not end it
  ASSERT_EQ(pool->commit(&second), status::ok);
  EXPECT_EQ(reader.wait_for(std::chrono::milliseconds(200)), std::future_status::timeout);
  ASSERT_EQ(pool->commit(&first), status::ok);
  EXPECT_EQ(reader.get(), 50u);
  EXPECT_EQ(beside->get(5, found), status::ok);
  // and from there on each time
  value = 51;
  ASSERT_EQ(pool->update_async(1, &key, &value, &answer, &second), status::ok);
  EXPECT_EQ(beside->get(5, found), status::busy);
  EXPECT_EQ(pool->size(), 1u);  // waits for all
  EXPECT_EQ(beside->get(5, found), status::ok);
  EXPECT_EQ(found, 51u);
  EXPECT_EQ(pool->close(), status::ok);
}

/// A kernel of the program's own may write from the moment on in which it gets a handle.
TEST(GpuBesideInLockstep, WaitsForWhoHasAHandle) {
  scratch_folder folder;
  auto pool = gpu::open_on(std::make_unique<lockstep_device>(), folder.file("pool"), {},
                           {.place = gpu::table_place::pool});
  ASSERT_TRUE(pool) << pool.failure().message;
  const auto beside = word_map::open(folder.file("pool"), {.mode = open_mode::read_beside});
  ASSERT_TRUE(beside) << beside.failure().message;
  std::uint64_t found = 0;
  EXPECT_EQ(beside->get(5, found), status::not_found);
  gpu::device_view view;
  pool->view(view);
  EXPECT_EQ(beside->get(5, found), status::busy);
  EXPECT_EQ(pool->commit(), status::ok);
  EXPECT_EQ(beside->get(5, found), status::busy);
  EXPECT_EQ(pool->sync(), status::ok);  // the handle is not good any more
  EXPECT_EQ(beside->get(5, found), status::not_found);
}

}  // namespace
}  // namespace durahash::test
