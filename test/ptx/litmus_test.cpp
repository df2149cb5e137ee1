// The weak order itself: outcomes that PTX's memory model forbids never come, and those that it
// allows do, as far as the machine of weak_order.hpp has them.
#include "test/ptx/litmus_rig.hpp"

namespace durahash::ptx {
namespace {

constexpr unsigned seeds = 600;

/// One thread stores data and then a flag, another reads flag and then data.
litmus message_passing(const std::string& store_flag, const std::string& load_flag,
                       const std::string& writer_fence = "", const std::string& reader_fence = "") {
  litmus l;
  l.bodies = {
      store(".relaxed.gpu", 0, 1) + writer_fence + store(store_flag, 1, 1),
      load(load_flag, 1, 0) + reader_fence + load(".relaxed.gpu", 0, 1) + tell(0, 0) + tell(1, 1)};
  return l;
}
const outcome flag_without_data = {1, 0};

TEST(PtxLitmus, RelaxedStoresPassOneAnother) {
  EXPECT_TRUE(
      message_passing(".relaxed.gpu", ".relaxed.gpu").run(seeds).contains(flag_without_data));
}
TEST(PtxLitmus, AReleaseWithoutAnAcquireOrdersNothing) {
  EXPECT_TRUE(
      message_passing(".release.gpu", ".relaxed.gpu").run(seeds).contains(flag_without_data));
  EXPECT_TRUE(
      message_passing(".relaxed.gpu", ".acquire.gpu").run(seeds).contains(flag_without_data));
}
TEST(PtxLitmus, ReleaseAndAcquireHandOver) {
  auto seen = message_passing(".release.gpu", ".acquire.gpu").run(seeds);
  EXPECT_FALSE(seen.contains(flag_without_data));
  EXPECT_TRUE(seen.contains({1, 1}));
  EXPECT_TRUE(seen.contains({0, 0}));
  EXPECT_TRUE(seen.contains({0, 1}));
}
TEST(PtxLitmus, AScopeThatLacksTheOtherThreadOrdersNothing) {
  EXPECT_TRUE(
      message_passing(".release.cta", ".acquire.gpu").run(seeds).contains(flag_without_data));
  EXPECT_TRUE(
      message_passing(".release.gpu", ".acquire.cta").run(seeds).contains(flag_without_data));
}
TEST(PtxLitmus, FencesHandOver) {
  std::string fence = "fence.acq_rel.gpu;\n", narrow = "fence.acq_rel.cta;\n";
  EXPECT_FALSE(message_passing(".relaxed.gpu", ".relaxed.gpu", fence, fence)
                   .run(seeds)
                   .contains(flag_without_data));
  EXPECT_TRUE(message_passing(".relaxed.gpu", ".relaxed.gpu", fence, "")
                  .run(seeds)
                  .contains(flag_without_data));
  EXPECT_TRUE(message_passing(".relaxed.gpu", ".relaxed.gpu", narrow, fence)
                  .run(seeds)
                  .contains(flag_without_data));
}

/// Each of two threads stores its word and then reads the other's.
litmus store_buffering(const std::string& fence) {
  litmus l;
  l.bodies = {store(".relaxed.gpu", 0, 1) + fence + load(".relaxed.gpu", 1, 0) + tell(0, 0),
              store(".relaxed.gpu", 1, 1) + fence + load(".relaxed.gpu", 0, 0) + tell(0, 1)};
  return l;
}
TEST(PtxLitmus, OnlyASequentialFenceForbidsThatBothReadTheOld) {
  EXPECT_TRUE(store_buffering("").run(seeds).contains({0, 0}));
  EXPECT_TRUE(store_buffering("fence.acq_rel.gpu;\n").run(seeds).contains({0, 0}));
  EXPECT_FALSE(store_buffering("fence.sc.gpu;\n").run(seeds).contains({0, 0}));
  EXPECT_FALSE(store_buffering("membar.gl;\n").run(seeds).contains({0, 0}));
}
TEST(PtxLitmus, WithStrongOrderNothingIsOld) {
  EXPECT_FALSE(store_buffering("").run(seeds, false).contains({0, 0}));
}

TEST(PtxLitmus, OneWordIsReadInItsOrder) {
  litmus l;
  l.bodies = {store(".relaxed.gpu", 0, 1) + store(".relaxed.gpu", 0, 2),
              load(".relaxed.gpu", 0, 0) + load(".relaxed.gpu", 0, 1) + tell(0, 0) + tell(1, 1)};
  for (const outcome& o : l.run(seeds)) EXPECT_LE(o[0], o[1]);
}

/// Both threads store both words, in opposite orders.
TEST(PtxLitmus, StoresOfTwoThreadsMayEndInEitherOrder) {
  litmus l;
  l.bodies = {store(".relaxed.gpu", 0, 1) + store(".relaxed.gpu", 1, 2),
              store(".relaxed.gpu", 1, 1) + store(".relaxed.gpu", 0, 2)};
  l.bodies.push_back("nanosleep.u32 %r1;\n" + load(".relaxed.gpu", 0, 0) +
                     load(".relaxed.gpu", 1, 1) + load(".relaxed.gpu", 0, 2) +
                     load(".relaxed.gpu", 1, 3) + tell(2, 0) + tell(3, 1));
  EXPECT_TRUE(l.run(4 * seeds).contains({1, 1}));
}

TEST(PtxLitmus, AdditionsAreAtomic) {
  litmus l;
  l.bodies.assign(4, "mov.u64 %rd2, 1;\natom.add.relaxed.gpu.u64 %rd3,[%rd1],%rd2;\n" +
                         load(".relaxed.gpu", 0, 1));
  std::string last = "mov.u64 %rd2, 0;\natom.add.relaxed.gpu.u64 %rd3,[%rd1],%rd2;\n" + tell(0, 0);
  for (std::string& body : l.bodies) body += last;
  std::uint64_t most = 0;
  for (const outcome& o : l.run(seeds)) most = std::max(most, o[0]);
  EXPECT_EQ(most, 4u);
}

TEST(PtxLitmus, AnUpdateHandsOnWhatWasReleasedBeforeIt) {
  litmus l;
  l.bodies = {store(".relaxed.gpu", 0, 1) + store(".release.gpu", 1, 1),
              "mov.u64 %rd2, 1;\natom.add.relaxed.gpu.u64 %rd3,[%rd1+8],%rd2;\n",
              load(".acquire.gpu", 1, 0) + load(".relaxed.gpu", 0, 1) + tell(0, 0) + tell(1, 1)};
  EXPECT_FALSE(l.run(seeds).contains({2, 0}));
}

// ------------------------------------------------------- a find beside a slot that changes keys

/// Words: 0 the version of key 7, 1 the state, 2 the value. One thread removes the key, one gives
/// the slot to key 9, one searches for key 7 (gpu/operations.hpp). What a find tells: 1 if its
/// versions agree, the state, the value.
struct slot_protocol {
  std::string claimed = store(".relaxed.gpu", 1, 1);
  std::string outdate = "mov.u64 %rd2, 2;\natom.add.release.gpu.u64 %rd3,[%rd1],%rd2;\n";
  std::string value = ".release.sys", fence = "fence.acq_rel.gpu;\n", version = ".acquire.gpu";

  bool gives_away_the_value_of_another_key() const {
    litmus l;
    l.results = 3;
    l.bodies = {claimed + outdate + store(".release.gpu", 1, 0),
                "mov.u64 %rd4, 0;\nmov.u64 %rd5, 1;\n"
                "atom.cas.acquire.gpu.b64 %rd6,[%rd1+8],%rd4,%rd5;\n"
                "setp.ne.s64 %p2, %rd6, 0;\n@%p2 bra join;\n" +
                    store(value, 2, 20) + store(".release.sys", 1, 9),
                load(version, 0, 0) + load(".relaxed.gpu", 1, 1) + load(".relaxed.gpu", 2, 2) +
                    fence + load(".relaxed.gpu", 0, 3) +
                    "setp.eq.s64 %p2, %rd3, %rd6;\nselp.b64 %rd7, 1, 0, %p2;\n" + tell(4, 0) +
                    tell(1, 1) + tell(2, 2)};
    l.begin = {0, 7, 10};
    l.until = {1, 7, 20};
    return l.run(4 * seeds).contains(l.until);
  }
};
TEST(PtxLitmus, AFindDoesNotTakeTheValueOfAnotherKeyForItsOwn) {
  EXPECT_FALSE(slot_protocol().gives_away_the_value_of_another_key());
}
TEST(PtxLitmus, AFindNeedsItsFence) {
  EXPECT_TRUE(slot_protocol{.fence = ""}.gives_away_the_value_of_another_key());
}
TEST(PtxLitmus, AFindNeedsTheVersionInOrder) {
  EXPECT_TRUE(slot_protocol{.version = ".relaxed.gpu"}.gives_away_the_value_of_another_key());
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
TEST(PtxLitmus, AWarpsBarrierHandsOver) {
  unsigned races = 0;
  auto seen = lanes_of_a_warp("bar.warp.sync -1;\n").run(seeds, true, &races);
  EXPECT_EQ(seen, (std::set<outcome>{{1}}));
  EXPECT_EQ(races, 0u);
}
TEST(PtxLitmus, WithoutTheBarrierThereIsARace) {
  unsigned races = 0;
  EXPECT_TRUE(lanes_of_a_warp("").run(seeds, true, &races).contains({0}));
  EXPECT_GT(races, seeds / 4);
}
TEST(PtxLitmus, AVoteHandsNothingOver) {
  unsigned races = 0;
  lanes_of_a_warp("vote.sync.ballot.b32 %r5, %p1, -1;\n").run(seeds, true, &races);
  EXPECT_GT(races, seeds / 4);
}

// -------------------------------------------------------------------------- the host beside it

/// The device stores data and a flag; the host reads the flag and then the data.
std::set<outcome> read_by_the_host(const std::string& store_flag) {
  litmus l;
  l.memory_of = owner::host;
  l.results = 1;
  l.bodies = {store(".relaxed.sys", 0, 1) + store(store_flag, 1, 1) + "nanosleep.u32 %r1;\n"};
  l.host = [step = 0](weak_order& w, std::uint64_t* words) mutable {
    auto at = [&](int n, strength s) {
      return access{reinterpret_cast<std::uint64_t>(words + n), 8, s, scope::system, nullptr};
    };
    if (step == 0 || w.read(w.host, at(1, strength::acquire)) == 0) return ++step, true;
    words[8] = 1 + w.read(w.host, at(0, strength::relaxed));
    return false;
  };
  return l.run(3 * seeds);
}
TEST(PtxLitmus, TheHostSeesWhatIsReleasedToTheSystem) {
  auto seen = read_by_the_host(".release.sys");
  EXPECT_FALSE(seen.contains({1}));
  EXPECT_TRUE(seen.contains({2}));
  EXPECT_TRUE(read_by_the_host(".release.gpu").contains({1})) << "a device's scope has no host";
}

}  // namespace
}  // namespace durahash::ptx
