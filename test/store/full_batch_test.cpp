// Batches in a pool that may not grow. Of a group's first records old cells are retired; a later
// one may have its shard looked through, and the array that is to replace the shard's finds no
// room: then the heap asks the lanes of all threads for some, this thread's too.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "durahash/table.hpp"
#include "store/random.hpp"

namespace durahash::test {
namespace {

TEST(FullBatch, ComesBackWhereItsShardsAreLookedThrough) {
  options how;
  how.engine = engine_kind::turbo;
  how.medium = medium_kind::memory;
  how.durability = durability_level::power;
  how.max_bytes = 8u << 20;
  how.settings["collect_distance"] = 1;  // at each record that lies behind its home bucket
  auto pool = table::open("", how);
  ASSERT_TRUE(pool) << pool.failure().message;
  random_stream draw(stream_seed("FullBatch"));
  const std::string value(100, 'v');
  std::vector<std::string> there;
  std::uint64_t made = 0;
  auto new_key = [&] { return "record " + std::to_string(mixed(made++)); };
  for (std::string key = new_key(); pool->put(key, value) == status::ok; key = new_key())
    there.push_back(key);
  ASSERT_GT(there.size(), 10'000u);
  std::uint64_t refused = 0;
  for (int round = 0; round < 400; ++round) {
    for (int i = 0; i < 60; ++i) {
      std::string& gone = there[draw.below(there.size())];
      ASSERT_EQ(pool->erase(gone), status::ok);
      gone = std::move(there.back());
      there.pop_back();
    }
    constexpr std::size_t updates = 8, group = 64;
    std::vector<std::string> keys;
    while (keys.size() < updates) keys.push_back(there[draw.below(there.size())]);
    while (keys.size() < group) keys.push_back(new_key());
    const std::vector<status> answers = pool->put_many(keys, std::vector(group, value));
    for (std::size_t i = 0; i < group; ++i) {
      if (answers[i] != status::ok) ++refused;
      else if (i >= updates) there.push_back(keys[i]);
    }
  }
  EXPECT_GT(refused, 0u) << "the pool was not full";
  EXPECT_EQ(pool->size(), there.size());
  EXPECT_TRUE(pool->check().ok);
}

}  // namespace
}  // namespace durahash::test
