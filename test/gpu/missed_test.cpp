// Lists of what finds have missed: the keys that are not there, each once, and no others.
#include <numeric>

#include "test/gpu/map_rig.hpp"
#include "test/gpu/rows_rig.hpp"

namespace durahash::test {
namespace {

using shared_numbers = shared_array<std::uint32_t>;

/// What a list says, in order; its room beyond that must be as it was.
std::vector<std::uint32_t> listed(const shared_numbers& indices, std::uint64_t count) {
  EXPECT_LE(count, indices.size());
  for (std::size_t i = count; i < indices.size(); ++i) EXPECT_EQ(indices[i], 777u);
  std::vector<std::uint32_t> all(indices.begin(), indices.begin() + static_cast<long>(count));
  std::sort(all.begin(), all.end());
  return all;
}

TEST_P(GpuMap, FindsListWhatTheyMiss) {
  auto made = open();
  ASSERT_TRUE(made) << made.failure().message;
  constexpr std::size_t n = 1003;  // no whole number of warps
  device_words keys(*device, n), values(*device, n), count(*device, 1);
  shared_answers answers(*device, n);
  shared_numbers indices(*device, n);
  for (std::size_t i = 0; i < n; ++i) keys[i] = i;
  ASSERT_EQ(made->put(n, keys.data(), keys.data(), answers.data()), status::ok);
  auto find = [&](std::uint32_t* into) {
    count[0] = 99;  // what was there before does not count
    std::fill(indices.begin(), indices.end(), 777u);
    ASSERT_EQ(made->find_async(n, keys.data(), values.data(), answers.data(), nullptr,
                               {into, count.data()}),
              status::ok);
    ASSERT_EQ(made->commit(), status::ok);
  };
  ASSERT_NO_FATAL_FAILURE(find(indices.data()));
  EXPECT_EQ(listed(indices, count[0]), std::vector<std::uint32_t>()) << "of keys that are there";
  std::vector<std::uint32_t> wanted;
  for (std::uint32_t i = 0; i < n; ++i)
    if (i % 7 == 3 || i > 990) keys[i] = 1'000'000 + i % 50, wanted.push_back(i);
  ASSERT_NO_FATAL_FAILURE(find(indices.data()));
  EXPECT_EQ(listed(indices, count[0]), wanted);
  for (std::uint32_t i : wanted) EXPECT_EQ(answers[i], status::not_found);
  ASSERT_NO_FATAL_FAILURE(find(nullptr));
  EXPECT_EQ(count[0], wanted.size()) << "counted without a list";
  for (std::size_t i = 0; i < n; ++i) keys[i] = 2'000'000 + i;
  ASSERT_NO_FATAL_FAILURE(find(indices.data()));
  wanted.resize(n);
  std::iota(wanted.begin(), wanted.end(), 0u);
  EXPECT_EQ(listed(indices, count[0]), wanted);
}

TEST_P(GpuMap, AListWithoutACountIsRefused) {
  auto made = open();
  ASSERT_TRUE(made) << made.failure().message;
  device_words keys(*device, 1);
  shared_answers answers(*device, 1);
  shared_numbers indices(*device, 1);
  answers[0] = status::damaged;
  EXPECT_EQ(
      made->find_async(1, keys.data(), nullptr, answers.data(), nullptr, {indices.data(), nullptr}),
      status::invalid_argument);
  ASSERT_EQ(made->commit(), status::ok);
  EXPECT_EQ(answers[0], status::damaged) << "it was done";
}

class GpuMissedRows : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(, GpuMissedRows, testing::Bool(), [](const auto& each) {
  return std::string(each.param ? "rows_gpu" : "rows");
});

TEST_P(GpuMissedRows, AreListed) {
  scratch_folder folder;
  std::unique_ptr<gpu::device> made_device = std::make_unique<lockstep_device>();
  if (GetParam()) {
    auto found = gpu::cuda_device(0);
    if (!found && must_have_a_gpu()) FAIL() << found.failure().message;
    if (!found) GTEST_SKIP() << "no GPU: " << found.failure().message;
    made_device = std::move(*found);
  }
  gpu::device& d = *made_device;
  auto t = gpu::open_rows_on(std::move(made_device), folder.file("a"), {}, {});
  ASSERT_TRUE(t) << t.failure().message;
  constexpr std::size_t n = 301;
  device_words keys(d, n), rows(d, 2 * n), count(d, 1);
  shared_answers answers(d, n);
  shared_numbers indices(d, n);
  for (std::size_t i = 0; i < n; ++i) keys[i] = i * i;
  ASSERT_EQ(t->put(n / 2, keys.data(), rows.data(), 16, answers.data()), status::ok);
  ASSERT_EQ(t->put(1, keys.data(), rows.data(), 8, answers.data()), status::ok);
  std::fill(indices.begin(), indices.end(), 777u);
  count[0] = 99;
  ASSERT_EQ(t->find_async(n, keys.data(), rows.data(), 16, answers.data(), nullptr, nullptr,
                          {indices.data(), count.data()}),
            status::ok);
  ASSERT_EQ(t->wait(), status::ok);
  std::vector<std::uint32_t> wanted(n - n / 2);
  std::iota(wanted.begin(), wanted.end(), static_cast<std::uint32_t>(n / 2));
  EXPECT_EQ(listed(indices, count[0]), wanted);
  EXPECT_EQ(answers[0], status::mismatch) << "of another length, and there: not listed";
}

}  // namespace
}  // namespace durahash::test
