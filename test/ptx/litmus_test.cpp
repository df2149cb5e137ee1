// The weak order itself: of small programs all outcomes that the machine of weak_order.hpp has are
// those that PTX's memory model allows, but for load buffering.
#include <random>

#include "test/ptx/litmus_rig.hpp"

namespace durahash::ptx {
namespace {

using outcomes = std::set<outcome>;

class PtxLitmus : public testing::Test {
 protected:
  /// Of programs without races.
  outcomes all_of(const litmus& l,
                  const device_settings& how = {.weak = true, .walks = walk::once}) {
    const auto all = l.run_all({}, how);
    EXPECT_EQ(all.races, 0u);
    executions_ += all.count;
    return all.outcomes;
  }
  void TearDown() override { RecordProperty("executions", std::to_string(executions_)); }

 private:
  std::uint64_t executions_ = 0;
};

const std::string fence = "fence.acq_rel.gpu;\n", narrow = "fence.acq_rel.cta;\n",
                  sequential = "fence.sc.gpu;\n";

/// One thread stores data and then a flag, another reads flag and then data.
litmus message_passing(const std::string& store_flag, const std::string& load_flag,
                       const std::string& writer_fence = "", const std::string& reader_fence = "") {
  litmus l;
  l.bodies = {
      store(".relaxed.gpu", 0, 1) + writer_fence + store(store_flag, 1, 1),
      load(load_flag, 1, 0) + reader_fence + load(".relaxed.gpu", 0, 1) + tell(0, 0) + tell(1, 1)};
  return l;
}
const outcomes in_order = {{0, 0}, {0, 1}, {1, 1}}, in_any_order = {{0, 0}, {0, 1}, {1, 0}, {1, 1}};

TEST_F(PtxLitmus, RelaxedStoresPassOneAnother) {
  EXPECT_EQ(all_of(message_passing(".relaxed.gpu", ".relaxed.gpu")), in_any_order);
}
TEST_F(PtxLitmus, AReleaseWithoutAnAcquireOrdersNothing) {
  EXPECT_EQ(all_of(message_passing(".release.gpu", ".relaxed.gpu")), in_any_order);
  EXPECT_EQ(all_of(message_passing(".relaxed.gpu", ".acquire.gpu")), in_any_order);
}
TEST_F(PtxLitmus, ReleaseAndAcquireHandOver) {
  EXPECT_EQ(all_of(message_passing(".release.gpu", ".acquire.gpu")), in_order);
}
TEST_F(PtxLitmus, AScopeThatLacksTheOtherThreadOrdersNothing) {
  EXPECT_EQ(all_of(message_passing(".release.cta", ".acquire.gpu")), in_any_order);
  EXPECT_EQ(all_of(message_passing(".release.gpu", ".acquire.cta")), in_any_order);
}
TEST_F(PtxLitmus, FencesHandOver) {
  auto with = [&](const std::string& writer, const std::string& reader) {
    return all_of(message_passing(".relaxed.gpu", ".relaxed.gpu", writer, reader));
  };
  EXPECT_EQ(with(fence, fence), in_order);
  EXPECT_EQ(with(fence, ""), in_any_order);
  EXPECT_EQ(with("", fence), in_any_order);
  EXPECT_EQ(with(narrow, fence), in_any_order);
}

/// Each of two threads stores its word and then reads the other's.
litmus store_buffering(const std::string& between) {
  litmus l;
  l.bodies = {store(".relaxed.gpu", 0, 1) + between + load(".relaxed.gpu", 1, 0) + tell(0, 0),
              store(".relaxed.gpu", 1, 1) + between + load(".relaxed.gpu", 0, 0) + tell(0, 1)};
  return l;
}
const outcomes not_both_old = {{0, 1}, {1, 0}, {1, 1}};

TEST_F(PtxLitmus, OnlyASequentialFenceForbidsThatBothReadTheOld) {
  EXPECT_EQ(all_of(store_buffering("")), in_any_order);
  EXPECT_EQ(all_of(store_buffering(fence)), in_any_order);
  EXPECT_EQ(all_of(store_buffering(sequential)), not_both_old);
  EXPECT_EQ(all_of(store_buffering("membar.gl;\n")), not_both_old);
}
TEST_F(PtxLitmus, WithStrongOrderNothingIsOld) {
  EXPECT_EQ(all_of(store_buffering(""), {.walks = walk::once}), not_both_old);
}

/// A model may let each of two loads see what the other thread stores behind its own. PTX does.
TEST_F(PtxLitmus, LoadBufferingIsOutOfReach) {
  litmus l;
  l.bodies = {load(".relaxed.gpu", 0, 0) + store(".relaxed.gpu", 1, 1) + tell(0, 0),
              load(".relaxed.gpu", 1, 0) + store(".relaxed.gpu", 0, 1) + tell(0, 1)};
  EXPECT_EQ(all_of(l), (outcomes{{0, 0}, {0, 1}, {1, 0}}));
}

TEST_F(PtxLitmus, OneWordIsReadInItsOrder) {
  litmus l;
  l.bodies = {store(".relaxed.gpu", 0, 1) + store(".relaxed.gpu", 0, 2),
              load(".relaxed.gpu", 0, 0) + load(".relaxed.gpu", 0, 1) + tell(0, 0) + tell(1, 1)};
  EXPECT_EQ(all_of(l), (outcomes{{0, 0}, {0, 1}, {0, 2}, {1, 1}, {1, 2}, {2, 2}}));
}

/// Both threads store both words, in opposite orders.
litmus two_stores_each(const std::string& between) {
  litmus l;
  l.results = 0, l.ends = 2;
  l.bodies = {store(".relaxed.gpu", 0, 1) + between + store(".relaxed.gpu", 1, 2),
              store(".relaxed.gpu", 1, 1) + between + store(".relaxed.gpu", 0, 2)};
  return l;
}
TEST_F(PtxLitmus, StoresOfTwoThreadsMayEndInEitherOrder) {
  EXPECT_EQ(all_of(two_stores_each("")), (outcomes{{1, 1}, {1, 2}, {2, 1}, {2, 2}}));
  EXPECT_EQ(all_of(two_stores_each(fence)), (outcomes{{1, 1}, {1, 2}, {2, 1}, {2, 2}}));
  EXPECT_EQ(all_of(two_stores_each(sequential)), (outcomes{{1, 2}, {2, 1}, {2, 2}}));
}

/// Two threads store a word each, and two others read both, in opposite orders.
litmus two_readers(const std::string& between) {
  litmus l;
  l.results = 4;
  l.bodies = {
      store(".relaxed.gpu", 0, 1), store(".relaxed.gpu", 1, 1),
      load(".relaxed.gpu", 0, 0) + between + load(".relaxed.gpu", 1, 1) + tell(0, 0) + tell(1, 1),
      load(".relaxed.gpu", 1, 0) + between + load(".relaxed.gpu", 0, 1) + tell(0, 2) + tell(1, 3)};
  return l;
}
TEST_F(PtxLitmus, OnlyASequentialFenceLetsTwoReadersAgree) {
  const outcome disagree = {1, 0, 1, 0};
  outcomes all = all_of(two_readers(fence));
  EXPECT_EQ(all.size(), 16u);
  EXPECT_EQ(all.erase(disagree), 1u);
  EXPECT_EQ(all_of(two_readers(sequential)), all);
}

TEST_F(PtxLitmus, AdditionsAreAtomic) {
  constexpr unsigned threads = 4;
  litmus l;
  l.results = threads, l.ends = 1;
  outcome one;
  for (unsigned n = 0; n < threads; ++n) {
    l.bodies.push_back("mov.u64 %rd2, 1;\natom.add.relaxed.gpu.u64 %rd3,[%rd1],%rd2;\n" +
                       tell(0, n));
    one.push_back(n);
  }
  one.push_back(threads);
  outcomes wanted;
  do {
    wanted.insert(one);
  } while (std::next_permutation(one.begin(), one.end() - 1));
  EXPECT_EQ(all_of(l), wanted);
}

/// One releases data, one adds to the flag in between, one acquires.
litmus handed_on(const std::string& addition) {
  litmus l;
  l.bodies = {store(".relaxed.gpu", 0, 1) + store(".release.gpu", 1, 1),
              "mov.u64 %rd2, 1;\natom.add." + addition + ".u64 %rd3,[%rd1+8],%rd2;\n",
              load(".acquire.gpu", 1, 0) + load(".relaxed.gpu", 0, 1) + tell(0, 0) + tell(1, 1)};
  return l;
}
TEST_F(PtxLitmus, AnUpdateHandsOnWhatWasReleasedBeforeIt) {
  outcomes wanted = {{0, 0}, {0, 1}, {1, 0}, {1, 1}, {2, 1}};
  EXPECT_EQ(all_of(handed_on("relaxed.gpu")), wanted);
  wanted.insert({2, 0});
  EXPECT_EQ(all_of(handed_on("relaxed.cta")), wanted) << "its scope lacks who released";
}

// --------------------------------------------------------------------------- lanes of one warp

litmus lanes_of_a_warp(const std::string& between) {
  litmus l;
  l.in_one_warp = true;
  l.results = 1;
  l.bodies = {"", store("", 0, 1)};
  l.after = between + "setp.ne.s32 %p2, %r1, 0;\n@%p2 bra end;\n" + load("", 0, 0) + tell(0, 0);
  return l;
}
TEST_F(PtxLitmus, AWarpsBarrierHandsOver) {
  EXPECT_EQ(all_of(lanes_of_a_warp("bar.warp.sync -1;\n")), (outcomes{{1}}));
}
TEST_F(PtxLitmus, WithoutTheBarrierThereIsARace) {
  const auto all = lanes_of_a_warp("").run_all();
  EXPECT_EQ(all.outcomes, (outcomes{{0}, {1}}));
  EXPECT_EQ(all.races, all.count);
}
TEST_F(PtxLitmus, AVoteHandsNothingOver) {
  const auto all = lanes_of_a_warp("vote.sync.ballot.b32 %r5, %p1, -1;\n").run_all();
  EXPECT_EQ(all.races, all.count);
}

// -------------------------------------------------------------------------- the host beside it

/// The device stores data and a flag; the host reads the flag and then the data.
litmus read_by_the_host(const std::string& store_flag) {
  litmus l;
  l.hosts = 1;
  l.bodies = {store(".relaxed.sys", 0, 1) + store(store_flag, 1, 1),
              load(".acquire.sys", 1, 0) + load(".relaxed.sys", 0, 1) + tell(0, 0) + tell(1, 1)};
  return l;
}
TEST_F(PtxLitmus, TheHostSeesWhatIsReleasedToTheSystem) {
  EXPECT_EQ(all_of(read_by_the_host(".release.sys")), in_order);
  EXPECT_EQ(all_of(read_by_the_host(".release.gpu")), in_any_order)
      << "a device's scope has no host";
}

// ------------------------------------------------------------------------------ the walk itself

/// Programs that are drawn, of few steps and two words.
litmus drawn(std::mt19937_64& random, std::size_t threads, unsigned steps) {
  auto one_of = [&](const std::vector<std::string>& all) { return all[random() % all.size()]; };
  litmus l;
  l.results = 0, l.ends = 2;
  for (std::size_t n = 0; n < threads; ++n) {
    std::string body, told;
    for (unsigned step = 0; step < steps; ++step) {
      std::string at = one_of({"[%rd1]", "[%rd1+8]"}), value = std::to_string(10 * (n + 1) + step),
                  scope = one_of({".gpu", ".cta"}), to = "%rd" + std::to_string(4 + step);
      switch (random() % 6) {
        case 0: body += one_of({fence, sequential}); continue;
        case 1:
          body += "mov.u64 %rd2, " + value + ";\nst" + one_of({".relaxed", ".release"}) + scope +
                  ".b64 " + at + ", %rd2;\n";
          continue;
        case 2:
          body += "mov.u64 %rd2, " + value + ";\natom.add" + one_of({".relaxed", ".acq_rel"}) +
                  scope + ".u64 " + to + "," + at + ",%rd2;\n";
          break;
        case 3:
          body += "mov.u64 %rd2, 0;\nmov.u64 %rd3, " + value + ";\natom.cas" +
                  one_of({".acquire", ".release"}) + scope + ".b64 " + to + "," + at +
                  ",%rd2,%rd3;\n";
          break;
        default:
          body +=
              "ld" + one_of({".relaxed", ".acquire"}) + scope + ".b64 " + to + ", " + at + ";\n";
      }
      told += tell(1 + step, static_cast<unsigned>(l.results++));
    }
    l.bodies.push_back(body + told);
  }
  return l;
}
TEST_F(PtxLitmus, WhatAWalkLeavesOutIsAlikeToWhatItHas) {
  std::mt19937_64 random(7);
  for (unsigned n = 0; n < 80; ++n) {
    const litmus l = n % 8 == 0 ? drawn(random, 3, 2) : drawn(random, 2, 3);
    const outcomes all = all_of(l);
    EXPECT_EQ(all, all_of(l, {.weak = true, .walks = walk::every_order})) << l.text();
    for (const outcome& each : l.run(20)) EXPECT_TRUE(all.contains(each)) << l.text();
  }
}

}  // namespace
}  // namespace durahash::ptx
