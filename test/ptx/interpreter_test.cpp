// The interpreter itself: what it refuses, what it stops at, and that a seed repeats a run.
#include "test/ptx/litmus_rig.hpp"

namespace durahash::ptx {
namespace {

std::string refusal_of(const std::string& line) {
  litmus l;
  l.bodies = {line + "\n"};
  module m;
  try {
    parse(l.text(), m);
  } catch (const parse_error& e) {
    return e.what();
  }
  return "";
}

TEST(PtxParser, AnInstructionThatItLacksStopsItByName) {
  for (std::string line :
       {"sqrt.rn.f32 %f1, %f2;", "ld.shared.u64 %rd3, [%rd1];", "bar.sync 0;",
        "add.cc.u32 %r3, %r1, %r2;", "mov.u32 %r3, %clock.x;", "shfl.idx.b32 %r3, %r1, %r2, %r4;",
        "cvt.rz.f32.u32 %f1, %r1;", "add.ftz.f32 %f1, %f2, %f3;", "div.approx.f32 %f1, %f2, %f3;",
        "cvt.f32.f16 %f1, %h1;", "add.f64 %fd1, %fd2, %fd3;", "setp.lt.f64 %p1, %fd1, %fd2;",
        "atom.global.add.f32 %f1, [%rd1], %f2;", "call.uni f;", "bra nowhere;"}) {
    std::string why = refusal_of(line);
    EXPECT_NE(why.find(line == "bra nowhere;" ? "nowhere" : line.substr(0, line.find(' '))),
              std::string::npos)
        << "'" << line << "': '" << why << "'";
  }
  EXPECT_EQ(refusal_of("add.s64 %rd3, %rd1, 1;"), "");
  EXPECT_EQ(refusal_of("{ .reg .b32 tmp; mov.b64 {tmp, %r3}, %rd1; }"), "");
  EXPECT_NE(refusal_of("{ .reg .b32 tmp; sqrt.rn.f32 tmp, %f2; }").find("sqrt"), std::string::npos);
}

/// What a kernel of one warp stops at.
std::string fault_of(const std::string& body) {
  litmus l;
  l.in_one_warp = true;
  l.after = body;
  module m;
  parse(l.text(), m);
  device& d = device::the_one();
  d.restart({.seed = 3, .quiet = true, .max_instructions = 100'000});
  alignas(64) static std::array<std::uint64_t, 16> words;
  d.pieces.add(reinterpret_cast<std::uint64_t>(words.data()), sizeof words, owner::device, false);
  void* address = words.data();
  void* arguments[] = {&address};
  d.launch(m.at("litmus"), 1, lanes, arguments, nullptr);
  d.wait(nullptr);
  std::string failure = d.failure();
  d.pieces.remove(reinterpret_cast<std::uint64_t>(words.data()), false);
  d.restart({});
  return failure;
}

TEST(PtxFaults, WhatNoDeviceAllowsStopsAKernel) {
  EXPECT_EQ(fault_of("ld.global.u64 %rd3, [%rd1+120];"), "");
  for (auto [body, what] : std::vector<std::pair<std::string, std::string>>{
           {"ld.global.u64 %rd3, [%rd1+128];", "no memory"},
           {"ld.global.u64 %rd3, [%rd1+-8];", "no memory"},
           {"ld.global.u64 %rd3, [%rd1+4];", "misaligned"},
           {"ld.global.v2.u64 {%rd3, %rd4}, [%rd1+8];", "misaligned"},
           {"mov.u64 %rd3, words;\nst.u64 [%rd3], %rd1;", "no memory of the device"},
           {"ld.param.u64 %rd3, [words+8];", "no memory"},
           {"mov.u32 %r3, 0;\ndiv.u32 %r4, %r1, %r3;", "division by zero"},
           {"setp.eq.s32 %p1, %r1, 0;\n@%p1 bra end;\nshfl.sync.idx.b32 %r3|%p3, %r1, 0, 31, -1;",
            "takes no part"},
           {"setp.eq.s32 %p1, %r1, 0;\n@%p1 bra a;\nbar.warp.sync -1;\nbra end;\na:\n"
            "vote.sync.ballot.b32 %r3, %p1, -1;",
            "wait elsewhere"},
           {"bar.warp.sync 254;", "not in its own mask"},
           {"a:\nbra a;", "does not end"}})
    EXPECT_NE(fault_of(body).find(what), std::string::npos) << body << ": " << fault_of(body);
}

TEST(PtxWarp, LanesExchangeWithinTheirTiles) {
  litmus l;
  l.in_one_warp = true;
  l.results = 4;
  // each tile of 8 lanes on its own: the ballot of odd lanes, and a number from its lane 3
  l.after =
      "and.b32 %r3, %r1, 24;\nmov.u32 %r4, 255;\nshl.b32 %r4, %r4, %r3;\nand.b32 %r5, %r1, 1;\n"
      "setp.eq.s32 %p2, %r5, 1;\nvote.sync.ballot.b32 %r6, %p2, %r4;\n"
      "shfl.sync.idx.b32 %r7|%p3, %r1, 3, 6175, %r4;\nand.b32 %r8, %r1, 7;\n"
      "setp.ne.s32 %p4, %r8, 0;\n@%p4 bra end;\ncvt.u64.u32 %rd3, %r3;\nadd.s64 %rd4, %rd1, %rd3;\n"
      "mov.b64 %rd5, {%r6, %r7};\nst.u64 [%rd4+64], %rd5;\n";
  outcome wanted;
  for (std::uint64_t tile = 0; tile < 4; ++tile)
    wanted.push_back(std::uint64_t{0xaa} << 8 * tile | (8 * tile + 3) << 32);
  EXPECT_EQ(l.run(50, false), std::set<outcome>{wanted});
}

TEST(PtxWarp, BitsAreInsertedWhereTheyAreSaidToBe) {
  litmus l;
  l.in_one_warp = true;
  l.results = 3;
  l.after =
      "setp.ne.s32 %p1, %r1, 0;\n@%p1 bra end;\nmov.u64 %rd3, -1;\nmov.u64 %rd4, 0;\n"
      "bfi.b64 %rd5, %rd3, %rd4, 32, 32;\nst.u64 [%rd1+64], %rd5;\n"
      "bfi.b64 %rd5, %rd4, %rd3, 4, 8;\nst.u64 [%rd1+72], %rd5;\n"
      "mov.u32 %r3, 5;\nmov.u32 %r4, 0;\nbfi.b32 %r5, %r3, %r4, 30, 9;\n"
      "cvt.u64.u32 %rd5, %r5;\nst.u64 [%rd1+80], %rd5;\n";
  const outcome wanted = {0xffffffff00000000u, 0xfffffffffffff00fu, 0x40000000u};
  EXPECT_EQ(l.run(1, false), std::set<outcome>{wanted});
}

TEST(PtxWarp, FloatsAreThoseOfTheHost) {
  litmus l;
  l.in_one_warp = true;
  l.results = 5;
  // 1.5, 3, the smallest subnormal, not a number
  l.after =
      "setp.ne.s32 %p1, %r1, 0;\n@%p1 bra end;\nmov.f32 %f1, 0f3FC00000;\n"
      "mov.b32 %f2, 0f40400000;\nmov.f32 %f3, 0f00000001;\nmov.f32 %f4, 0f7FC00001;\n"
      "add.f32 %f5, %f1, %f2;\nsub.f32 %f6, %f1, %f2;\nmov.b64 %rd5, {%f5, %f6};\n"
      "st.u64 [%rd1+64], %rd5;\ndiv.rn.f32 %f5, %f1, %f2;\nfma.rn.f32 %f6, %f1, %f2, %f1;\n"
      "mov.b64 %rd5, {%f5, %f6};\nst.u64 [%rd1+72], %rd5;\nmul.f32 %f5, %f3, %f2;\n"
      "add.f32 %f6, %f4, %f1;\nmov.b64 %rd5, {%f5, %f6};\nst.u64 [%rd1+80], %rd5;\n"
      "mov.u32 %r3, 16777217;\ncvt.rn.f32.u32 %f5, %r3;\nmov.s32 %r4, -2;\n"
      "cvt.rn.f32.s32 %f6, %r4;\nmov.b64 %rd5, {%f5, %f6};\nst.u64 [%rd1+88], %rd5;\n"
      "setp.lt.f32 %p2, %f1, %f4;\nselp.u32 %r5, 1, 0, %p2;\nsetp.ltu.f32 %p3, %f1, %f4;\n"
      "selp.u32 %r6, 2, 0, %p3;\nor.b32 %r5, %r5, %r6;\nsetp.ge.f32 %p4, %f2, %f1;\n"
      "selp.u32 %r6, 4, 0, %p4;\nor.b32 %r5, %r5, %r6;\ncvt.u64.u32 %rd5, %r5;\n"
      "st.u64 [%rd1+96], %rd5;\n";
  auto pair = [](std::uint64_t low, std::uint64_t high) { return low | high << 32; };
  const outcome wanted = {pair(0x40900000, 0xbfc00000), pair(0x3f000000, 0x40c00000),
                          pair(3, 0x7fffffff), pair(0x4b800000, 0xc0000000), 6};
  EXPECT_EQ(l.run(1, false), std::set<outcome>{wanted});
}

TEST(PtxDevice, ASeedRepeatsARun) {
  litmus l;
  l.results = 3;
  for (unsigned n = 0; n < 3; ++n)
    l.bodies.push_back("mov.u64 %rd2, 1;\natom.add.relaxed.gpu.u64 %rd3,[%rd1],%rd2;\n" +
                       tell(0, n));
  std::set<outcome> different;
  for (l.first_seed = 1; l.first_seed < 30; ++l.first_seed) {
    auto once = l.run(1);
    EXPECT_EQ(once, l.run(1)) << "seed " << l.first_seed;
    different.merge(once);
  }
  EXPECT_EQ(different.size(), 6u) << "the three did not come in every order";
}

}  // namespace
}  // namespace durahash::ptx
