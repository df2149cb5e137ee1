// Stripes of CCEH that have several segments, as in tables of more than 16,384.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "engine/frame/stripes.hpp"
#include "test/engine/engine_rig.hpp"

namespace durahash::test {
namespace cceh_stripe {

using namespace std::chrono_literals;

/// Small segments, so many that their prefixes have so many bits.
auto with_segments(unsigned depth) {
  options how;
  how.settings = {{"segment", 2}};
  superblock block = block_for<cceh_engine>(how, word_records::in_slot);
  block.settings[cceh::setting::first_depth] = depth;
  return make_rig<probing_medium, word_records, cceh_engine>(block);
}
using stripes_rig = decltype(with_segments(0))::element_type;

std::vector<std::uint64_t> keys_of_stripe(const stripes_rig& r, stripe_index stripe) {
  std::vector<std::uint64_t> found;
  for (std::uint64_t n = 0; found.size() < 4; ++n)
    if (hash_of(r, n) >> (64 - max_stripe_bits) == stripe) found.push_back(n);
  return found;
}

/// Removals, behind which segments that are nearly empty have been merged.
void remove_often(stripes_rig& r, const std::vector<std::uint64_t>& keys) {
  for (int n = 0; n < 100; ++n)
    for (std::uint64_t key : keys) put(r, key, 1), erase(r, key);
}

/// Who had all locks lets them go from left to right. Behind a stripe's first segment, while the
/// stripe is free already, others merge it with the one in front, which somebody then has.
TEST(CcehStripe, WhoHadAllLocksLetsGoOfItsOwnAlone) {
  constexpr stripe_index last = (1u << max_stripe_bits) - 1;
  for (int from_the_end : {0, 1, 2}) {
    auto r = with_segments(max_stripe_bits + 1);
    const auto keys = keys_of_stripe(*r, last);
    remove_often(*r, keys_of_stripe(*r, last - 1));
    ASSERT_EQ(figures(*r)["merges"], 1);
    ASSERT_EQ(r->t->sync(), status::ok);
    const std::uint64_t before = r->m->reads();
    ASSERT_EQ(r->t->sync(), status::ok);  // nothing to do: all locks are taken, and let go
    const auto reads = static_cast<int>(r->m->reads() - before);

    std::atomic<bool> inside = false, leave = false, both = false;
    auto write = [&](auto&& meet) {
      r->t->write(keys[0], [&](const std::optional<std::uint64_t>&) {
        meet();
        return decision<std::uint64_t>::set(7);
      });
    };
    std::jthread first, second;
    r->m->interrupt_at(reads - from_the_end, [&] {
      first = std::jthread([&] {
        remove_often(*r, keys);
        write([&] {
          inside = true;
          while (!leave) std::this_thread::sleep_for(1ms);
          inside = false;
        });
      });
      for (int n = 0; n < 100 && !inside; ++n) std::this_thread::sleep_for(1ms);
    });
    ASSERT_EQ(r->t->sync(), status::ok);
    ASSERT_TRUE(first.joinable()) << reads << " reads, and " << from_the_end << " fewer";
    r->m->stop_interrupting();
    while (!inside) std::this_thread::sleep_for(1ms);
    second = std::jthread([&] { write([&] { both = inside.load(); }); });
    for (int n = 0; n < 50 && !both; ++n) std::this_thread::sleep_for(1ms);
    EXPECT_FALSE(both) << "two writers of one key at once, " << from_the_end;
    leave = true;
    first.join(), second.join();
    EXPECT_EQ(figures(*r)["merges"], 3);  // of that stripe, and with the one in front
  }
}

}  // namespace cceh_stripe
}  // namespace durahash::test
