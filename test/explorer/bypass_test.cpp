// Stores that bypass the verbs are found: of the program, of recovery, and of what comes after it.
#include <gtest/gtest.h>

#include "explorer/exploring.hpp"

namespace durahash::crash {
namespace {

/// To a byte that no table reads: the pool's last. It holds garbage that is none of these values.
void plain_store(region& r) {
  static unsigned stores;
  r.base()[r.length() - 1] = std::byte(stores++ % 128);
}

struct stores_plainly : wrapped {
  using wrapped::wrapped;
  void perform(call& c) override {
    wrapped::perform(c);
    if (c.what.what == act::erase) plain_store(where_.memory);
  }
};

TEST(CrashExplorer, AStoreThatBypassesTheVerbsIsFound) {
  findings found = explore_a<stores_plainly>();
  EXPECT_TRUE(first_of(found).starts_with("a store bypassed the verbs: the byte at offset "))
      << first_of(found);
}

struct recovers_plainly : wrapped {
  recovers_plainly(std::unique_ptr<subject> inner, made_in where)
      : wrapped(std::move(inner), where) {
    if (!where.created) plain_store(where.memory);
  }
};

TEST(CrashExplorer, AStoreOfRecoveryThatBypassesTheVerbsIsFound) {
  plan alone = short_plan();
  alone.nested_every = 1000, alone.kill_every = 0;
  findings found = explore_a<recovers_plainly>(alone);
  EXPECT_EQ(first_of(found), "a store of recovery, or of what came after it, bypassed the verbs");
  EXPECT_EQ(found.recoveries, 64u) << "and not only at the end";
}

TEST(CrashExplorer, AStoreOfRecoveryThatBypassesTheVerbsIsFoundInAShortExploration) {
  plan few = short_plan();
  few.nested_every = 1000, few.kill_every = 0;
  findings found = explore_a<recovers_plainly>(few, {{{act::put, {0}, 1}}, 2});
  EXPECT_LT(found.recoveries, 64u);
  EXPECT_EQ(first_of(found), "a store of recovery, or of what came after it, bypassed the verbs");
}

TEST(CrashExplorer, AStoreOfRecoveryThatBypassesTheVerbsIsFoundInTheFirstImageThatIsGoneOnWith) {
  plan every = short_plan();
  every.nested_every = 1;
  findings found = explore_a<recovers_plainly>(every);
  EXPECT_TRUE(first_of(found).starts_with(
      "after recovery: a store bypassed the verbs: the byte at offset "))
      << first_of(found);
  EXPECT_EQ(found.recoveries, 1u);
}

/// Only where an image is gone on with: the versions of those programs tell. And in a line that the
/// verbs stored to as well.
struct goes_on_plainly : wrapped {
  using wrapped::wrapped;
  void perform(call& c) override {
    wrapped::perform(c);
    if (c.what.version < 2000 || c.what.version > 7000 || where_.listener.touched().empty()) return;
    where_.memory
        .base()[std::uint64_t{where_.listener.touched().back()} * line_bytes + line_bytes - 1] ^=
        std::byte{1};
  }
};

TEST(CrashExplorer, AStoreAfterRecoveryThatBypassesTheVerbsIsFoundInALineThatTheVerbsStoredTo) {
  plan nested = short_plan();
  nested.nested_every = 2;
  nested.nested_operations = 1;
  findings found = explore_a<goes_on_plainly>(nested);
  EXPECT_TRUE(first_of(found).find("a store bypassed the verbs: the byte at offset ") !=
              std::string::npos)
      << first_of(found);
}

}  // namespace
}  // namespace durahash::crash
