// Where in its bucket turbo keeps a record. No answer depends on it: what a search waits for does,
// and whether an insertion needs a second fence (docs/lab/instructions.md, "turbo").
#include <gtest/gtest.h>

#include "test/engine/engine_rig.hpp"

namespace durahash::test {
namespace turbo_placement {

using words = rig<plain_medium, word_records>;

constexpr std::uint64_t room_for_records = 40'000;

/// How many of some records lie where.
struct placement {
  double records = 0, first_line = 0, near_line = 0;
  double asked_for() const { return (first_line + near_line) / records; }
};

/// The bucket where the search for a key begins, and the slot that has it.
class candidates_of_key final : public part_visitor {
 public:
  std::optional<std::uint64_t> home, slot;

  void visit(const part& p, tell about) override {
    const std::string_view kind = p.kind;
    if (kind == "bucket" && !home) home = p.offset;
    if (kind != "slot") return;
    pool_part told;
    about(told);
    if (std::ranges::any_of(told.facts, [](auto& fact) { return fact.name == "holds_key"; }))
      slot = p.offset;
  }
};

placement placement_of(words& r, std::uint64_t first, std::uint64_t end) {
  placement sum;
  for (std::uint64_t key = first; key < end; ++key) {
    candidates_of_key seen;
    r.t->each_candidate(key, seen);
    if (!seen.home || !seen.slot) return ADD_FAILURE() << "key " << key << " is in no slot", sum;
    const std::uint64_t byte = *seen.slot - *seen.home;
    const std::uint64_t near = turbo::byte_of_near_line(hash_of(r, key));
    ++sum.records;
    sum.first_line += byte < line_bytes;
    sum.near_line += byte >= near && byte < near + line_bytes;
  }
  return sum;
}

void put_all(words& r, std::uint64_t first, std::uint64_t end) {
  for (std::uint64_t key = first; key < end; ++key) ASSERT_EQ(r.put(key, 1), status::ok);
}

std::unique_ptr<words> roomy() {
  options how;
  how.settings = {{"shards", 64}};
  auto r = make_rig<plain_medium, word_records>(how);
  EXPECT_EQ(r->t->reserve(room_for_records), status::ok);
  return r;
}

TEST(TurboPlacement, ASearchAsksAtOnceForTheLinesThatHaveItsRecord) {
  auto r = roomy();
  const std::uint64_t slots = r->t->slots();
  std::uint64_t records = 0;
  // Without the bit of the hash it is 0.74 and 0.57.
  for (auto [load, least] : {std::pair{0.3, 0.97}, std::pair{0.5, 0.9}}) {
    const auto wanted = static_cast<std::uint64_t>(load * static_cast<double>(slots));
    ASSERT_NO_FATAL_FAILURE(put_all(*r, records, wanted));
    ASSERT_EQ(r->t->slots(), slots) << "it grew";
    records = wanted;
    EXPECT_GE(placement_of(*r, 0, records).asked_for(), least) << "at a load factor of " << load;
  }
}

TEST(TurboPlacement, ARebuildLeavesFirstLinesToNewRecords) {
  auto r = roomy();
  const std::uint64_t slots = r->t->slots(), old = slots * 4 / 10, more = slots / 20;
  ASSERT_NO_FATAL_FAILURE(put_all(*r, 0, old));
  const placement filled = placement_of(*r, 0, old);
  EXPECT_GE(filled.first_line / filled.records, 0.3);  // new records begin there

  ASSERT_EQ(r->t->reserve(2 * room_for_records), status::ok);
  ASSERT_GT(r->t->slots(), slots);
  const placement rebuilt = placement_of(*r, 0, old);
  EXPECT_EQ(rebuilt.first_line, 0);
  EXPECT_GE(rebuilt.asked_for(), 0.95);

  ASSERT_NO_FATAL_FAILURE(put_all(*r, old, old + more));
  const placement added = placement_of(*r, old, old + more);
  EXPECT_GE(added.first_line / added.records, 0.95);
}

}  // namespace turbo_placement
}  // namespace durahash::test
