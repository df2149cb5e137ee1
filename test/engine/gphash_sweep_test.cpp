// GPHash after a crash: a pool answers before its slots are swept, each write sweeps what it looks
// at, and the rest is swept in the background.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <vector>

#include "test/engine/engine_rig.hpp"
#include "test/engine/held_thread.hpp"

namespace durahash::test {
namespace gphash_sweep {

constexpr std::uint64_t records = 60'000;

std::vector<std::byte> killed(const auto& r) {
  const std::byte* base = r.p->memory().base();
  return {base, base + r.p->end()};
}

/// The pool of a process that died while each `every`-th slot without a record was claimed.
template <class Kind>
std::vector<std::byte> killed_while_inserting(model& wanted, std::uint64_t every) {
  auto r = make_rig<hooked_medium, Kind, gphash_engine>(options{});
  for (std::uint64_t n = 0; n < records; ++n) {
    EXPECT_EQ(put_short(*r, random_key(n), n), status::ok);
    wanted[random_key(n)] = n;
  }
  std::uint64_t seen = 0;
  const gphash::root& root = *r->p->at(poff<gphash::root>{r->p->block().engine_offset});
  const gphash::geometry g{r->m->read(root.geometry.raw())};
  for (unsigned log2 = g.bottom(); log2 < g.bottom() + 2; ++log2) {
    const checked_place at{r->m->read(root.levels[g.bank()][log2].raw())};
    auto* words = reinterpret_cast<std::uint64_t*>(r->p->memory().base() + at.offset());
    for (std::uint64_t bucket = 0; bucket < std::uint64_t{1} << log2; ++bucket)
      for (unsigned slot = 0; slot < 8; ++slot)
        if (std::uint64_t& state = words[bucket * 16 + slot];
            state == gphash::empty_state && ++seen % every == 0)
          state = gphash::claimed_state;
  }
  EXPECT_GT(seen, 1000u);
  return killed(*r);
}

template <class Kind>
class GphashSweep : public testing::Test {};
using kinds = testing::Types<word_records, byte_records>;
TYPED_TEST_SUITE(GphashSweep, kinds);

TYPED_TEST(GphashSweep, AnswersBeforeItIsOver) {
  model wanted;
  const std::vector<std::byte> image = killed_while_inserting<TypeParam>(wanted, 7);
  held_thread thread;
  std::atomic<std::uint64_t> reads{0};
  auto r = after_power_cut<hooked_medium, TypeParam, gphash_engine>(
      image, [&](hooked_medium& m) { m.on_read = [&](std::uint64_t) { ++reads; }; });
  ASSERT_NE(r, nullptr);
  EXPECT_LT(reads, 1000u);  // of 2^17 slots
  for (const auto& [key, value] : wanted) ASSERT_EQ(get(*r, key), value);
  EXPECT_EQ(get(*r, random_key(records)), std::nullopt);
  EXPECT_TRUE(thread.gets_through());
  reads = 0;
  EXPECT_EQ(r->t->size(), records);
  EXPECT_LT(reads, 1000u);
  EXPECT_EQ(difference(*r, wanted), "");
}

/// Every slot that is free was claimed: whoever inserts sweeps first.
TYPED_TEST(GphashSweep, EachWriteSweepsWhatItLooksAt) {
  model wanted;
  const std::vector<std::byte> image = killed_while_inserting<TypeParam>(wanted, 1);
  held_thread thread;
  auto r = after_power_cut<hooked_medium, TypeParam, gphash_engine>(image);
  ASSERT_NE(r, nullptr);
  const auto slots = r->t->slots();
  for (std::uint64_t n = 0; n < 2000; ++n) {
    const std::uint64_t key = random_key(records + n);
    ASSERT_EQ(put_short(*r, key, n), status::ok);
    wanted[key] = n;
    ASSERT_EQ(erase(*r, random_key(n)), status::ok);
    wanted.erase(random_key(n));
    ASSERT_EQ(put_short(*r, random_key(n + 2000), n), status::ok);
    wanted[random_key(n + 2000)] = n;
    ASSERT_EQ(get(*r, key), n);
  }
  EXPECT_EQ(r->t->slots(), slots);  // nobody took a claimed slot for a full one
  EXPECT_TRUE(thread.gets_through());
  EXPECT_EQ(difference(*r, wanted), "");
  ASSERT_EQ(r->t->close(), status::ok);
  r = after_power_cut<hooked_medium, TypeParam, gphash_engine>(killed(*r));
  ASSERT_NE(r, nullptr);
  EXPECT_EQ(difference(*r, wanted), "");
}

/// Killed again before it is over, and again.
TYPED_TEST(GphashSweep, BeginsAnewAfterAnotherKill) {
  model wanted;
  std::vector<std::byte> image = killed_while_inserting<TypeParam>(wanted, 3);
  for (std::uint64_t life = 0; life < 5; ++life) {
    held_thread thread;
    auto r = after_power_cut<hooked_medium, TypeParam, gphash_engine>(image);
    ASSERT_NE(r, nullptr);
    for (std::uint64_t n = 0; n < 500; ++n) {
      const std::uint64_t key = random_key(records * (life + 2) + n);
      ASSERT_EQ(put_short(*r, key, n), status::ok);
      wanted[key] = n;
    }
    image = killed(*r);
  }
  auto r = after_power_cut<hooked_medium, TypeParam, gphash_engine>(image);
  ASSERT_NE(r, nullptr);
  EXPECT_EQ(difference(*r, wanted), "");
}

}  // namespace gphash_sweep
}  // namespace durahash::test
