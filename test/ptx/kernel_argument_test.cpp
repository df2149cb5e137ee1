// Ordinary mistakes of a caller: they are refused with a status, and nothing is lost by them.
#include <gtest/gtest.h>

#include <vector>

#include "durahash/gpu_memory.hpp"
#include "gpu/map.hpp"
#include "gpu/table.hpp"
#include "test/ptx/load.hpp"
#include "test/store/scratch.hpp"

namespace durahash::ptx {
namespace {

void restart(const device_settings& s) {
  device& d = device::the_one();
  ASSERT_TRUE(load_once(d)) << why_not_loaded();
  d.forget_memory();
  d.restart(s);
}

TEST(PtxArguments, ArraysThatTheDeviceDoesNotReachAreRefused) {
  for (gpu::table_place place : {gpu::table_place::pool, gpu::table_place::device_mirror}) {
    restart({.seed = 5});
    test::scratch_folder folder;
    auto cuda = gpu::cuda_device(0);
    ASSERT_TRUE(cuda) << cuda.failure().message;
    auto made = gpu::open_on(std::move(*cuda), folder.file("pool"), {}, {.place = place});
    ASSERT_TRUE(made) << made.failure().message;
    constexpr std::size_t n = 64;
    auto* keys = static_cast<std::uint64_t*>(gpu::allocate_shared(n * 8));
    auto* values = static_cast<std::uint64_t*>(gpu::allocate_shared(n * 8));
    auto* answers = static_cast<status*>(gpu::allocate_shared(n));
    for (std::size_t i = 0; i < n; ++i) keys[i] = i, values[i] = i * i;
    std::vector<std::uint64_t> pageable(n, 7);
    std::vector<status> pageable_answers(n, status::damaged);
    auto* no_answers = pageable_answers.data();
    auto refused = status::invalid_argument;
    EXPECT_EQ(made->put(n, pageable.data(), values, answers), refused);
    EXPECT_EQ(made->put(n, keys, pageable.data(), answers), refused);
    EXPECT_EQ(made->put(n, keys, values, no_answers), refused);
    EXPECT_EQ(made->put(n + 1, keys, values, answers), refused)
        << "one more than there is room for";
    EXPECT_EQ(made->put_async(n, keys, nullptr, answers), refused);
    EXPECT_EQ(made->erase_async(n, keys, no_answers), refused);
    EXPECT_EQ(made->find_async(n, keys, values, no_answers), refused);
    std::vector<std::uint32_t> indices(n);
    EXPECT_EQ(made->find_async(n, keys, values, answers, nullptr, {indices.data(), values}),
              refused);
    EXPECT_EQ(made->find_async(n, keys, values, answers, nullptr, {nullptr, pageable.data()}),
              refused);
    gpu::map::export_cursor at;
    std::size_t exported = 0;
    EXPECT_EQ(made->export_batch(at, n, pageable.data(), values, exported), refused);
    EXPECT_EQ(made->export_batch(at, n, keys, pageable.data(), exported), refused);
    EXPECT_EQ(made->export_batch(at, n, nullptr, values, exported), refused);
    EXPECT_EQ(pageable_answers, std::vector<status>(n, status::damaged));
    EXPECT_EQ(pageable, std::vector<std::uint64_t>(n, 7));
    EXPECT_EQ(made->put(n, keys, values, answers), status::ok) << device::the_one().failure();
    EXPECT_EQ(made->find_async(n, keys, nullptr, answers), status::ok);
    EXPECT_EQ(made->commit(), status::ok);
    EXPECT_EQ(answers[n - 1], status::ok);
    EXPECT_EQ(made->size(), n);
  }
}

TEST(PtxArguments, RowsThatTheDeviceDoesNotReachAreRefused) {
  restart({.seed = 5});
  test::scratch_folder folder;
  auto cuda = gpu::cuda_device(0);
  ASSERT_TRUE(cuda) << cuda.failure().message;
  auto made = gpu::open_rows_on(std::move(*cuda), folder.file("pool"), {}, {});
  ASSERT_TRUE(made) << made.failure().message;
  std::vector<std::uint64_t> key(1, 9), row(2, 11);
  std::vector<status> answer(1);
  EXPECT_EQ(made->put(1, key.data(), row.data(), 16, answer.data()), status::ok) << "by the host";
  auto* shared = static_cast<std::uint64_t*>(gpu::allocate_shared(64));
  shared[0] = 9;
  auto* shared_answer = reinterpret_cast<status*>(shared + 4);
  EXPECT_EQ(made->find_async(1, key.data(), shared + 1, 16, shared_answer),
            status::invalid_argument);
  EXPECT_EQ(made->find_async(1, shared, row.data(), 16, shared_answer), status::invalid_argument);
  EXPECT_EQ(made->find_async(1, shared, shared + 1, 16, shared_answer, nullptr, nullptr,
                             {nullptr, row.data()}),
            status::invalid_argument);
  EXPECT_EQ(made->find_async(1, shared, shared + 1, 16, shared_answer), status::ok);
  EXPECT_EQ(made->wait(), status::ok);
  EXPECT_EQ(shared[1], 11u);
}

TEST(PtxArguments, ADeviceThatTheKernelsAreNotCompiledForIsRefused) {
  restart({.seed = 5, .capability = 75});
  auto cuda = gpu::cuda_device(0);
  ASSERT_FALSE(cuda);
  EXPECT_EQ(cuda.failure().code, status::unusable);
  EXPECT_NE(cuda.failure().message.find("compute capability 7.5"), std::string::npos)
      << cuda.failure().message;
  restart({});
  EXPECT_TRUE(gpu::cuda_device(0));
}

}  // namespace
}  // namespace durahash::ptx
