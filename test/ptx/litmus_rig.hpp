// Small kernels, written in PTX by hand, run under many seeds: which of their outcomes come up.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>
#include <vector>

#include "test/ptx/device.hpp"
#include "test/ptx/parser.hpp"

namespace durahash::ptx {

/// What the threads have left in words 8, 9, ... of the array; words 0 to 7 are what they share.
using outcome = std::vector<std::uint64_t>;

struct litmus {
  std::vector<std::string> bodies;  // of thread 0 of each block, or of each lane of one
  std::size_t results = 2;
  bool in_one_warp = false;
  unsigned first_seed = 1;
  std::vector<std::uint64_t> begin;  // what the first words have at first
  outcome until;                     // the last that is looked for
  owner memory_of = owner::device;
  std::function<bool(weak_order&, std::uint64_t* words)> host;  // a step of it

  std::string text() const {
    std::string all =
        ".visible .entry litmus(\n.param .u64 words\n)\n{\nld.param.u64 %rd1, [words];\n";
    all += in_one_warp ? "mov.u32 %r1, %laneid;\n" : "mov.u32 %r1, %ctaid.x;\n";
    if (!in_one_warp) all += "mov.u32 %r2, %tid.x;\nsetp.ne.s32 %p9, %r2, 0;\n@%p9 bra end;\n";
    for (std::size_t n = 0; n < bodies.size(); ++n)
      all += "setp.eq.s32 %p1, %r1, " + std::to_string(n) + ";\n@%p1 bra t" + std::to_string(n) +
             ";\n";
    all += "bra join;\n";
    for (std::size_t n = 0; n < bodies.size(); ++n)
      all += "t" + std::to_string(n) + ":\n" + bodies[n] + "\nbra join;\n";
    return all + "join:\n" + after + "\nend:\nret;\n}\n";
  }
  std::string after;  // by all lanes

  /// Of so many seeds. `races`: how many of them had one.
  std::set<outcome> run(unsigned seeds, bool weak = true, unsigned* races = nullptr) const {
    static device& d = device::the_one();
    module m;
    parse(text(), m);
    std::set<outcome> all;
    alignas(64) static std::array<std::uint64_t, 16> words;
    d.pieces.add(reinterpret_cast<std::uint64_t>(words.data()), sizeof words, memory_of, false);
    for (unsigned seed = first_seed; seed < first_seed + seeds; ++seed) {
      d.restart({.seed = seed, .quiet = races != nullptr, .weak = weak, .apart_percent = 50});
      d.weak().finds_races = races != nullptr;
      words.fill(0);
      std::copy(begin.begin(), begin.end(), words.begin());
      if (host) d.beside([this](weak_order& w) { return host(w, words.data()); });
      void* address = words.data();
      void* arguments[] = {&address};
      d.launch(m.at("litmus"), in_one_warp ? 1 : static_cast<std::uint32_t>(bodies.size()), lanes,
               arguments, nullptr);
      d.wait(nullptr);
      if (races != nullptr) *races += d.failure().find("a race") != std::string::npos;
      else if (!d.failure().empty()) ADD_FAILURE() << d.failure();
      outcome one(words.begin() + 8, words.begin() + 8 + static_cast<std::ptrdiff_t>(results));
      all.insert(one);
      if (one == until) break;
    }
    d.pieces.remove(reinterpret_cast<std::uint64_t>(words.data()), false);
    d.restart({});
    return all;
  }
};

/// Words of the shared array are %rd1 + 8 n; each word has a line of its own in thought alone.
inline std::string store(const std::string& how, unsigned word, unsigned value) {
  return "mov.u64 %rd2, " + std::to_string(value) + ";\nst" + how + ".b64 [%rd1+" +
         std::to_string(8 * word) + "], %rd2;\n";
}
inline std::string load(const std::string& how, unsigned word, unsigned into) {
  return "ld" + how + ".b64 %rd" + std::to_string(3 + into) + ", [%rd1+" +
         std::to_string(8 * word) + "];\n";
}
/// After all else: what a load has got is an outcome.
inline std::string tell(unsigned from, unsigned result) {
  return "st.relaxed.sys.b64 [%rd1+" + std::to_string(64 + 8 * result) + "], %rd" +
         std::to_string(3 + from) + ";\n";
}

}  // namespace durahash::ptx
