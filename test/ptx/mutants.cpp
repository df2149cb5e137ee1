#include "test/ptx/mutants.hpp"

#include <regex>
#include <sstream>

#include "test/ptx/load.hpp"

namespace durahash::ptx {
namespace {

constexpr const char *find = "halfE0", *write = "halfE1", *stage = "halfE2", *commit = "halfE3",
                     *retry_full = "halfE4", *copy_up = "halfE5", *copies = "halfE6";

constexpr program_options plain{}, with_copies{.cache_percent = 60},
    mirrored{.place = gpu::table_place::device_mirror},
    growing{.weak = false, .grows = true, .rounds = 3}, killed{.killed = true},
    exchanging_and_killed{.exchanges = true, .killed = true, .rounds = 40},
    growing_mirror{
        .weak = false, .place = gpu::table_place::device_mirror, .grows = true, .rounds = 3};

}  // namespace

const std::vector<mutant> mutants = {
    // who may write
    {"a-turn-is-not-taken", write, R"(atom\.cas\.acquire\.gpu\.b32 (\S+),\[\S+\],(\S+),\S+;)",
     "mov.u32 $1, $2;", -1, plain},
    {"a-turn-is-never-given", write, R"(atom\.and\.release\.gpu\.b32 (\S+),\[(\S+)\],\S+;)",
     "mov.u32 $1, 0;", -1, plain},
    {"a-turn-is-taken-without-acquire", write, R"(atom\.cas\.acquire\.gpu\.b32)",
     "atom.cas.relaxed.gpu.b32", -1, plain},
    {"a-slot-is-claimed-without-compare", write,
     R"(atom\.cas\.acquire\.gpu\.b64 (\S+),\[(\S+)\],(\S+),(\S+);)",
     "st.relaxed.gpu.b64 [$2],$4; mov.u64 $1, $3;", -1, plain},
    {"all-keys-of-a-warp-are-taken-for-one", write, R"(match\.any\.sync\.b64\s+(\S+), \S+, \S+;)",
     "mov.u32 $1, -1;", -1, plain},
    {"a-mirror-s-turns-are-not-taken", stage,
     R"(atom\.cas\.acquire\.gpu\.b32 (\S+),\[\S+\],(\S+),\S+;)", "mov.u32 $1, $2;", -1, mirrored},
    // order of memory
    {"value-and-fingerprint-are-not-ordered", write, R"(st\.release\.sys\.b64|membar\.sys;)", "$$",
     -1, killed},
    {"what-is-written-is-released-to-the-block", write, R"(st\.release\.sys\.b64)",
     "st.release.cta.b64", -1, killed},
    {"what-is-written-is-released-to-the-device", write, R"(st\.release\.sys\.b64|membar\.sys;)",
     "gpu", -1, killed},
    {"a-find-s-version-is-read-in-any-order", find, R"(ld\.acquire\.gpu\.b32)",
     "ld.relaxed.gpu.b32", -1, plain},
    {"a-find-does-not-look-at-the-version-again", find, R"(ld\.relaxed\.gpu\.b32 (\S+),\[\S+\];)",
     "mov.u32 $1, %v;", -1, plain},
    {"a-version-is-never-raised", write, R"(atom\.add\.release\.gpu\.u32 (\S+),\[(\S+)\],\S+;)",
     "mov.u32 $1, 0;", -1, plain},
    {"a-version-is-raised-in-any-order", write, R"(atom\.add\.release\.gpu\.u32)",
     "atom.add.relaxed.gpu.u32", -1, plain},
    {"a-value-is-released-to-the-device", write, R"(st\.release\.sys\.b64)", "st.release.gpu.b64",
     0, exchanging_and_killed},
    {"a-writer-looks-in-any-order", write, R"(ld\.relaxed\.gpu\.b64)", "ld.weak.b64", -1, plain},
    {"lanes-do-not-wait-for-one-another", write, R"(bar\.warp\.sync\s+\S+;)", "", -1, plain},
    // lanes
    {"half-of-the-lanes-vote", find, R"(vote\.sync\.ballot\.b32\s+(\S+), (\S+), \S+;)",
     "vote.sync.ballot.b32 $1, $2, 65535;", -1, plain},
    {"lane-1-answers-for-all", write,
     R"(shfl\.sync\.idx\.b32\s+(\S+), (\S+), (\S+), (\S+), (\S+);)",
     "shfl.sync.idx.b32 $1, $2, 1, $4, $5;", -1, plain},
    // addresses
    {"a-store-is-a-word-off", write, R"(st\.release\.sys\.b64 \[(%\w+)\])",
     "st.release.sys.b64 [$1+8]", -1, plain},
    {"an-answer-is-a-byte-off", write, R"(st\.global\.u8\s+\[(%\w+)\])", "st.global.u8 [$1+1]", -1,
     plain},
    {"a-parameter-is-read-elsewhere", find, R"((ld\.param\.u64\s+\S+, \[\w+_param_1)\+16\])",
     "$1+24]", -1, plain},
    // launches
    {"warps-count-another-grid", write, R"(mov\.u32\s+(\S+), %nctaid\.x;)", "mov.u32 $1, 64;", -1,
     growing},
    {"every-block-is-the-first", stage, R"(mov\.u32\s+(\S+), %ctaid\.x;)", "mov.u32 $1, 0;", -1,
     growing_mirror},
    {"what-is-staged-leaves-its-turn-held", stage,
     R"(atom\.and\.release\.gpu\.b32 (\S+),\[(\S+)\],\S+;)", "mov.u32 $1, 0;", -1, mirrored},
    {"a-change-takes-the-place-of-another", stage,
     R"(atom\.cas\.release\.gpu\.b32 (\S+),\[(\S+)\],(\S+),(\S+);)",
     "st.release.gpu.b32 [$2],$4; mov.u32 $1, $3;", -1, growing_mirror},
    {"a-commit-leaves-its-changes-found", commit, R"(st\.relaxed\.gpu\.b32 \[\S+\],\S+;)", "", -1,
     mirrored},
    // copies of buckets
    {"a-copy-is-not-held", write, R"(atom\.cas\.acquire\.gpu\.b32 (\S+),\[\S+\],(\S+),\S+;)",
     "mov.u32 $1, $2;", 1, with_copies},
    {"a-copy-is-not-told", write, R"(st\.release\.gpu\.b64 \[\S+\],\S+;)", "", -1, with_copies},
    {"a-copy-is-filled-with-half", copies, R"(st\.release\.gpu\.b64 \[(\S+)\],)",
     "st.release.gpu.b32 [$1],", -1, with_copies},
    // growth
    {"a-record-moves-up-without-its-value", copy_up, R"(st\.relaxed\.gpu\.b64 \[\S+\],\S+;)", "", 1,
     growing},
    {"what-found-no-room-is-not-done-again", retry_full, R"(st\.global\.u8\s+\[\S+\], \S+;)", "",
     -1, growing},
};

namespace {

std::string replaced(const std::string& text, const mutant& m, int& number, unsigned& changes) {
  std::string done, rest = text;
  std::smatch at;
  std::regex pattern(m.pattern);
  while (std::regex_search(rest, at, pattern)) {
    bool here = m.which < 0 || number == m.which;
    ++number;
    changes += here;
    std::string with = m.instead, what = at.str();
    bool fence = what.starts_with("membar");
    if (with == "$$") with = fence ? "" : "st.relaxed.sys.b64";
    else if (with == "gpu") with = fence ? "membar.gl;" : "st.release.gpu.b64";
    else with = at.format(m.instead);
    done += at.prefix().str() + (here ? with : what);
    rest = at.suffix().str();
  }
  return done + rest;
}

}  // namespace

module planted(const mutant& m) {
  unsigned changes = 0;
  module made;
  for (const std::string& text : texts()) {
    std::istringstream lines(text);
    std::string all, line;
    bool inside = false;
    int number = 0;
    while (std::getline(lines, line)) {
      if (line.find(".entry ") != std::string::npos)
        inside = line.find(m.in) != std::string::npos, number = 0;
      if (inside && !line.starts_with("//")) line = replaced(line, m, number, changes);
      // several in place of one
      all +=
          line.find("; ") != std::string::npos && line.find("//") == std::string::npos &&
                  line.find('{') == std::string::npos
              ? line.substr(0, line.find("; ") + 1) + "\n" + line.substr(line.find("; ") + 1) + "\n"
              : line + "\n";
    }
    parse(all, made);
  }
  if (changes == 0) throw parse_error(std::string(m.name) + " changes nothing");
  return made;
}

}  // namespace durahash::ptx
