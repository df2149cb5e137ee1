// What one operation of each engine and each baseline writes back, waits for, and reads and writes
// of the medium's 256-byte blocks: counted, beside what its steps give by hand. Tables have ample
// room, so that nothing grows and keys lie in their first places. Keys are far apart: no operation
// finds a block near that another one has read, but those of a small directory.
#include <gtest/gtest.h>

#include "bench/baselines/registry.hpp"
#include "bench/reproduce/laboratory.hpp"
#include "durahash/emulated.hpp"

namespace durahash::reproduce {
namespace {

/// Lines written back, fences, blocks written.
struct writes {
  double lines, fences, blocks;
};
/// Blocks read, where it depends on the key: at least and at most.
struct reads {
  double least, most;
};
struct by_hand {
  const char* table;
  writes insert, update, erase;
  reads present, absent;
};

constexpr by_hand tables[] = {
    // The home bucket is a block. Its first two slots lie in the meta word's line.
    {"turbo", {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1}, {1, 1}},
    // The directory's entry, and the first line of the window.
    {"cceh", {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 2}, {1, 2}},
    // A level that was just made is searched last: two buckets of the bottom, one of the top. The
    // first slots lie in the header's line.
    {"level", {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {3, 3.2}, {4, 4}},
    // The slot, then its state. Four buckets may have a key, and the first one has it.
    {"gphash", {2, 2, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1.2}, {4, 4}},
    {"linear-probing", {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1}, {1, 1}},
    // The item, its token. An update: the log's entry, its flag, the value, the flag. The log's
    // block is near.
    {"bucketized-cuckoo", {2, 2, 1}, {4, 4, 1}, {1, 1, 1}, {1, 1.1}, {2, 2}},
    // Besides, the head of a chain of the stash.
    {"pfht", {2, 2, 1}, {4, 4, 1}, {1, 1, 1}, {1, 1.1}, {2, 3}},
    // Two cells of each of nine levels, some of which are one.
    {"path-hashing", {2, 2, 1}, {4, 4, 1}, {1, 1, 1}, {1, 1.1}, {2, 18}},
    // The directory's entry, and a block of 320 bytes; of an absent key all of it.
    {"extendible-lsb", {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 3}, {2, 3}},
    // A bucket is a line. Value, then key; a word that changes waits for what was written before.
    {"p-clht", {2, 2, 1}, {1, 2, 1}, {1, 2, 1}, {1, 1}, {1, 1}},
    {"turbo-published", {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1}, {1, 1}},
    // Entry and line. An absent key: two windows of eight lines are four to six blocks, and push
    // the directory's three out of the buffer.
    {"cceh-in-place", {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 2}, {4, 9}},
    {"cceh-copying", {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 2}, {4, 9}},
    // Tokens share the line of the first two slots. The top first: one of its buckets, or both.
    {"level-paper", {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 2}, {4, 4}},
    // The record, then bitmap and fingerprints. The entry, the home, and its neighbour.
    {"dash-eh", {2, 2, 1}, {1, 1, 1}, {1, 1, 1}, {1, 3}, {2, 3}},
    // The item, the context's word, the slot: a block, and one for each four items, which lie in a
    // row. Bottom to top: two buckets, then one or two.
    {"clevel", {3, 3, 1.25}, {3, 3, 1.25}, {1, 1, 1}, {3, 4.3}, {4, 4}},
    // The item, then the slot. The bottom's bucket or the top's, and a fourth of an item's block.
    {"seph", {2, 2, 1.25}, {2, 2, 1.25}, {1, 1, 1}, {1.2, 2.3}, {2, 2.1}},
    {"dram-unordered-map", {}, {}, {}, {}, {}},
    {"dram-concurrent-flat-map", {}, {}, {}, {}, {}},
    {"dram-libcuckoo", {}, {}, {}, {}, {}},
};

const by_hand& expected_of(std::string_view name) {
  for (const by_hand& one : tables)
    if (one.table == name) return one;
  throw std::out_of_range(std::string(name) + " has no line in `tables`");
}
setup named(std::string_view name) {
  for (const engine_kind engine : all_engines())
    if (name_of(engine) == name) return {engine};
  return baseline_named(name);
}
std::vector<std::string> all_tables() {
  std::vector<std::string> names;
  for (const engine_kind engine : all_engines()) names.emplace_back(name_of(engine));
  for (const baselines::baseline& b : baselines::all_baselines()) names.emplace_back(b.name);
  return names;
}

constexpr double by_chance = 0.05;  // two keys in a bucket, or a block that is near

void expect_writes(const char* what, const cost& found, const writes& wanted) {
  EXPECT_NEAR(found.flushes, wanted.lines, by_chance) << what;
  EXPECT_NEAR(found.fences, wanted.fences, by_chance) << what;
  EXPECT_NEAR(found.blocks_written, wanted.blocks, by_chance) << what;
}
void expect_reads(const char* what, const cost& found, const reads& wanted) {
  EXPECT_GE(found.blocks_read, wanted.least - by_chance) << what;
  EXPECT_LE(found.blocks_read, wanted.most + by_chance) << what;
  EXPECT_EQ(found.flushes + found.fences + found.blocks_written, 0) << what;
}

class OneOperation : public ::testing::TestWithParam<std::string> {};

TEST_P(OneOperation, CostsWhatItsStepsGiveByHand) {
  use_emulated_medium();
  constexpr std::uint64_t records = 1'000;
  laboratory lab(records, 1, false);
  std::unique_ptr<subject> table = make(named(GetParam()).on(medium_kind::emulated), lab.seed());
  table->reserve(40 * records);
  auto each = [&](const char* what, auto&& one) {
    const cost c = lab.cost_of(*table, records, [&] {
      for (std::uint64_t i = 0; i < records; ++i) expect_right(one(i), what);
    });
    std::printf("%s: %.2f lines, %.2f fences, %.2f blocks read, %.2f written\n", what, c.flushes,
                c.fences, c.blocks_read, c.blocks_written);
    return c;
  };
  const by_hand& wanted = expected_of(GetParam());
  expect_writes("insert", each("insert", [&](auto i) { return table->insert(lab.key(i)); }),
                wanted.insert);
  each("first get", [&](auto i) { return table->get(lab.key(i)); });  // seph settles what it finds
  expect_reads("present", each("present", [&](auto i) { return table->get(lab.key(i)); }),
               wanted.present);
  expect_reads("absent", each("absent", [&](auto i) { return table->get_absent(lab.absent(i)); }),
               wanted.absent);
  expect_writes("update", each("update", [&](auto i) { return table->update(lab.key(i), 1); }),
                wanted.update);
  expect_writes("erase", each("erase", [&](auto i) { return table->erase(lab.key(i)); }),
                wanted.erase);
}

INSTANTIATE_TEST_SUITE_P(Tables, OneOperation, ::testing::ValuesIn(all_tables()),
                         [](const ::testing::TestParamInfo<std::string>& made) {
                           std::string name = made.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace durahash::reproduce
