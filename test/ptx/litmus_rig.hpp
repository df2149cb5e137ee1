// Small kernels, written in PTX by hand: which of their outcomes come up, in all executions of the
// machine or under many seeds.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "test/ptx/device.hpp"
#include "test/ptx/parser.hpp"

namespace durahash::ptx {

/// What the threads have left in words 8, 9, ... of the array; behind that, of words that they
/// share, what is there at the end.
using outcome = std::vector<std::uint64_t>;

inline std::string replaced(std::string text, const std::string& what, const std::string& with) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
    text.replace(at, what.size(), with);
  return text;
}

struct litmus {
  std::vector<std::string> bodies;  // of thread 0 of each block, or of each lane of one; in one of
                                    // them $t is its number
  std::size_t results = 2;
  std::size_t ends = 0;  // of so many shared words
  bool in_one_warp = false;
  std::size_t lanes_of_each = 1;     // else: so many bodies are lanes of a block
  std::size_t hosts = 0;             // so many of the last blocks are threads of the host's
  std::vector<std::string> names;    // of shared words: [name] in a body
  std::vector<std::uint64_t> begin;  // what the first words have at first
  unsigned first_seed = 1;
  std::string after;  // by all lanes

  std::size_t blocks() const { return in_one_warp ? 1 : bodies.size() / lanes_of_each; }
  /// Where a shared word is: results are between the eighth and the ninth.
  static std::size_t place(std::size_t word) { return word < 8 ? word : word + 8; }

  std::string text() const {
    std::string all =
        ".visible .entry litmus(\n.param .u64 words\n)\n{\nld.param.u64 %rd1, [words];\n";
    if (in_one_warp) all += "mov.u32 %r1, %laneid;\n";
    else
      all += "mov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %tid.x;\nmad.lo.s32 %r1, %r1, " +
             std::to_string(lanes_of_each) + ", %r2;\nsetp.ge.s32 %p9, %r2, " +
             std::to_string(lanes_of_each) + ";\n@%p9 bra end;\n";
    for (std::size_t n = 0; n < bodies.size(); ++n)
      all += "setp.eq.s32 %p1, %r1, " + std::to_string(n) + ";\n@%p1 bra t" + std::to_string(n) +
             ";\n";
    all += "bra join;\n";
    for (std::size_t n = 0; n < bodies.size(); ++n)
      all += "t" + std::to_string(n) + ":\n" + replaced(bodies[n], "$t", std::to_string(n)) +
             "\nbra join;\n";
    all += "join:\n" + after + "\nend:\nret;\n}\n";
    for (std::size_t n = 0; n < names.size(); ++n)
      all = replaced(all, "[" + names[n] + "]", "[%rd1+" + std::to_string(8 * place(n)) + "]");
    for (std::size_t n = 0; n < results; ++n)
      all = replaced(all, "[result" + std::to_string(n) + "]",
                     "[%rd1+" + std::to_string(64 + 8 * n) + "]");
    return all;
  }

  /// Of so many seeds.
  std::set<outcome> run(unsigned seeds, bool weak = true) const {
    std::set<outcome> all;
    const ready here(*this);
    for (unsigned seed = first_seed; seed < first_seed + seeds; ++seed) {
      all.insert(here.run_once({.seed = seed, .weak = weak, .apart_percent = 50}));
      if (const std::string& wrong = here.d.failure(); !wrong.empty()) ADD_FAILURE() << wrong;
    }
    return all;
  }

  struct executions {
    std::set<outcome> outcomes;
    std::uint64_t count = 0, races = 0;
    std::uint64_t begun = 0;  // with those that were seen before
  };
  /// Of every execution; or up to the first that has a race, or whose outcome is `enough`.
  executions run_all(const std::function<bool(const outcome&)>& enough = {},
                     const device_settings& how = {.weak = true, .walks = walk::once}) const {
    constexpr std::uint64_t most = 5'000'000;
    executions all;
    const ready here(*this);
    device_settings settings = how;
    settings.quiet = true;
    settings.first_host_block = static_cast<unsigned>(blocks() - hosts);
    do {
      outcome one = here.run_once(settings);
      if (++all.begun == most) {
        ADD_FAILURE() << "a walk that goes on after " << most << " executions:\n" << text();
        break;
      }
      if (here.d.was_seen_before()) continue;
      ++all.count;
      const std::string& wrong = here.d.failure();
      const bool races = wrong.starts_with("a race");
      if (races) ++all.races;
      else if (!wrong.empty()) {
        ADD_FAILURE() << wrong << " in\n" << text();
        break;
      }
      all.outcomes.insert(one);
      if (enough && (races || enough(one))) break;
    } while (here.d.advance());
    return all;
  }

 private:
  /// Its kernel and the array.
  struct ready {
    explicit ready(const litmus& l) : of(l) {
      parse(l.text(), m);
      d.pieces.add(reinterpret_cast<std::uint64_t>(words.data()), sizeof words, owner::device,
                   false);
      d.weak().finds_races = true;
    }
    ~ready() {
      d.pieces.remove(reinterpret_cast<std::uint64_t>(words.data()), false);
      d.restart({});
    }
    ready(const ready&) = delete;

    outcome run_once(const device_settings& how) const {
      d.restart(how);
      words.fill(0);
      for (std::size_t n = 0; n < of.begin.size(); ++n) words[place(n)] = of.begin[n];
      void* address = words.data();
      void* arguments[] = {&address};
      d.launch(m.at("litmus"), static_cast<std::uint32_t>(of.blocks()), lanes, arguments, nullptr);
      d.wait(nullptr);
      outcome one(words.begin() + 8, words.begin() + 8 + static_cast<std::ptrdiff_t>(of.results));
      for (std::size_t n = 0; n < of.ends; ++n) one.push_back(words[place(n)]);
      return one;
    }

    const litmus& of;
    module m;
    device& d = device::the_one();
    alignas(64) inline static std::array<std::uint64_t, 32> words;
  };
};

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
