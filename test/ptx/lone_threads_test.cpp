// Searches by threads alone, which gphash's kernels are compared with: right against a model, in
// strong and in weak order.
#include "test/ptx/lone_threads.hpp"

#include <gtest/gtest.h>

#include "gpu/device_view.hpp"
#include "test/ptx/slab_rig.hpp"
#include "test/store/scratch.hpp"

namespace durahash::ptx {
namespace {

constexpr std::size_t most = 8'000;  // operations
constexpr unsigned blocks = 2;

class PtxLoneThreads : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    device& d = device::the_one();
    ASSERT_TRUE(load_once(d)) << why_not_loaded();
    d.forget_memory();
    d.restart({.seed = 7, .weak = GetParam()});
    keys_ = shared_array<std::uint64_t>(most);
    values_ = shared_array<std::uint64_t>(most);
    answers_ = shared_array<status>(most);
  }
  gpu::map open(std::map<std::string, std::uint64_t> settings = {}) {
    auto made = gpu::map::open(folder_.file("pool"), {.capacity = 2'000, .settings = settings},
                               {.place = gpu::table_place::pool});
    if (!made) throw std::runtime_error(made.failure().message);
    return std::move(*made);
  }

  test::scratch_folder folder_;
  std::uint64_t *keys_ = nullptr, *values_ = nullptr;
  status* answers_ = nullptr;
};

/// Of a table so full that the last slots are in use, too.
TEST_P(PtxLoneThreads, FindWhatIsThereAndNothingElse) {
  gpu::map m = open();
  const std::size_t records = m.info().slots * 8 / 10;
  ASSERT_LE(2 * records, most);
  for (std::size_t i = 0; i < 2 * records; ++i) keys_[i] = i, values_[i] = 10 * i;
  // `insert` would make the table larger first
  ASSERT_EQ(m.insert_async(records, keys_, values_, answers_), status::ok);
  ASSERT_EQ(m.commit(), status::ok);
  ASSERT_EQ(std::count(answers_, answers_ + records, status::ok), static_cast<long>(records));
  std::fill_n(values_, 2 * records, 77);
  ASSERT_TRUE(find_by_lone_threads(m, blocks, 2 * records, keys_, values_, answers_));
  for (std::size_t i = 0; i < 2 * records; ++i) {
    ASSERT_EQ(answers_[i], i < records ? status::ok : status::not_found) << i;
    ASSERT_EQ(values_[i], i < records ? 10 * i : 77) << i;
  }
}

/// Eight words have no fingerprint, and slots of their own: found by trying their hashes.
TEST_P(PtxLoneThreads, FindTheEscapes) {
  gpu::map m = open();
  gpu::device_view view;
  m.view(view);
  for (std::uint64_t hash = 0; hash < gphash::first_fingerprint; ++hash)
    keys_[hash] = view.table.where.words().key_of(hash), values_[hash] = hash + 5;
  constexpr std::size_t n = gphash::first_fingerprint;
  ASSERT_EQ(m.insert(n / 2, keys_, values_, answers_), status::ok);
  std::fill_n(values_, n, 77);
  ASSERT_TRUE(find_by_lone_threads(m, blocks, n, keys_, values_, answers_));
  for (std::size_t i = 0; i < n; ++i) {
    EXPECT_EQ(answers_[i], i < n / 2 ? status::ok : status::not_found) << i;
    EXPECT_EQ(values_[i], i < n / 2 ? i + 5 : 77) << i;
  }
}

TEST_P(PtxLoneThreads, RefuseATableOfAnotherShape) {
  gpu::map m = open({{"levels", 4}, {"hashes", 2}, {"slots", 4}});
  EXPECT_FALSE(find_by_lone_threads(m, blocks, 1, keys_, values_, answers_));
}

INSTANTIATE_TEST_SUITE_P(Order, PtxLoneThreads, ::testing::Bool(),
                         [](const auto& weak) { return weak.param ? "weak" : "strong"; });

}  // namespace
}  // namespace durahash::ptx
