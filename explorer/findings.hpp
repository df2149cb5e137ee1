// What an exploration counts and finds.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace durahash::crash {

struct violation {
  std::string what;         // one sentence
  std::string report;       // the trace, the crash, the image, the call sites
  std::string replay;       // the command that shows it again
  std::string job = {};     // what was explored, as job::name() tells it
  std::uint64_t calls = 0;  // of the program, begun before the crash; 0: there was none
};

/// How often a commit point was among what a crash kept, and among what it lost.
struct commit_coverage {
  std::uint64_t kept = 0, lost = 0;
};

struct findings {
  std::uint64_t programs = 0;
  std::uint64_t threaded = 0;  // programs of several threads
  // of which every schedule within the bound of preemptions was run
  std::uint64_t exhausted = 0;
  std::uint64_t schedules = 0;   // that were run
  std::uint64_t traces = 0;      // different ones that came of them, each explored
  std::uint64_t cuts = 0;        // crash points
  std::uint64_t whole_cuts = 0;  // of which every legal image was generated
  std::uint64_t images = 0;      // generated
  // different ones, in what they hold and in what is promised of them
  std::uint64_t unique_images = 0;
  // of those: equal to another one in every line that recovery and the checks read
  std::uint64_t pruned = 0;
  std::uint64_t recoveries = 0;
  // unique images that were recovered, worked on and crashed again
  std::uint64_t gone_on = 0;
  // crash points where the process died first, and another one worked on before the power went
  std::uint64_t killed = 0;
  std::uint64_t nested = 0;  // images of crashes after a crash
  std::uint64_t facts_checked = 0;
  std::uint64_t left_out = 0;  // effects that an elision suppressed
  double max_log10 = 0;        // legal images of the richest crash point, log10
  std::map<std::string, commit_coverage> commits;
  // every flush, fence and commit that ran, by elision text
  std::map<std::string, std::uint64_t> places;
  std::vector<violation> violations;

  void add(const findings& other);
  std::string packed() const;
  static findings unpacked(const std::string& packed);
};

}  // namespace durahash::crash
