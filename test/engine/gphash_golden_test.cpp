// One trace of operations leaves the same bytes, whatever the instructions of the host's warp.
#include <gtest/gtest.h>

#include <optional>
#include <random>

#include "test/engine/engine_rig.hpp"

namespace durahash::test {
namespace gphash_golden {

#if !defined(__SANITIZE_THREAD__) && !defined(DURAHASH_SANITIZED_FOR_THREADS)
static_assert(reads_plainly<plain_medium>, "else this compares the scalar warp with itself");
#endif

template <class Kind>
std::string pool_after_a_trace(const char* width, const options& how) {
  EXPECT_EQ(::setenv("DURAHASH_WARP", width, 1), 0);
  auto r = make_rig<plain_medium, Kind, gphash_engine>(how);
  EXPECT_EQ(::unsetenv("DURAHASH_WARP"), 0);
  std::mt19937_64 random(20261121);
  for (int n = 0; n < 20'000; ++n) {
    std::uint64_t key = random() % 3000, value = random() % 1000;
    if (random() % 4 == 0) erase(*r, key);
    else EXPECT_EQ(put(*r, key, value), status::ok);
    if (n % 8000 == 7999) {
      EXPECT_EQ(r->t->compact(), status::ok);
    }
  }
  r->t->close();
  // the superblock has a time and an id
  constexpr std::size_t before_the_root = engine_area_offset;
  return {reinterpret_cast<const char*>(r->p->at(before_the_root)),
          reinterpret_cast<const char*>(r->p->at(0)) + r->p->end()};
}

class GphashGolden : public testing::TestWithParam<std::pair<const char*, host_warp::width>> {};

TEST_P(GphashGolden, PoolsAreTheSameBytesAsByTheScalarWarp) {
  auto [name, width] = GetParam();
  if (!host_warp::is_here(width)) GTEST_SKIP() << "this machine has no " << name;
  for (std::array<std::uint64_t, 3> shape :
       {std::array<std::uint64_t, 3>{2, 2, 8}, {1, 2, 16}, {4, 2, 4}, {4, 4, 2}}) {
    options how;
    how.settings = {{"levels", shape[0]}, {"hashes", shape[1]}, {"slots", shape[2]}};
    auto expect_same_bytes = [&]<class Kind>(std::type_identity<Kind>) {
      std::string scalar = pool_after_a_trace<Kind>("scalar", how);
      EXPECT_GT(scalar.size(), 3000u * 16);
      EXPECT_TRUE(pool_after_a_trace<Kind>(name, how) == scalar);
    };
    expect_same_bytes(std::type_identity<word_records>());
    expect_same_bytes(std::type_identity<fixed_keys<32>>());
  }
}

INSTANTIATE_TEST_SUITE_P(Every, GphashGolden,
                         testing::Values(std::pair("avx2", host_warp::width::avx2),
                                         std::pair("avx512", host_warp::width::avx512)),
                         [](const auto& each) { return std::string(each.param.first); });

}  // namespace gphash_golden
}  // namespace durahash::test
