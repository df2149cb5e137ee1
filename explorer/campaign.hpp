// The explorer's public face: what `durahash crash` runs. Rounds of jobs over every kind of table
// of an engine, then the elision matrix; or the planted bugs.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "durahash/options.hpp"
#include "explorer/findings.hpp"

namespace durahash::crash {

struct explored_engine;

/// How many of the legal images of each crash point are looked at, and how many schedules.
enum class pace : std::uint8_t { quick, usual, deep };

struct campaign {
  engine_kind engine = engine_kind::turbo;
  std::size_t operations = 60;  // of a program of one thread
  // of the programs of several, but for the last of a job, which has one more; below 2: none
  std::size_t threads = 2;
  std::uint64_t seed = 1;
  std::size_t rounds = 2;  // each runs every job once, with seeds of its own
  // go on with rounds until so many unique images were seen; 0: no matter
  std::uint64_t images = 0;
  unsigned at_once = 1;  // child processes
  crash::pace pace = crash::pace::usual;
  // of each program of several threads, at most; 0: as the pace has it
  std::uint64_t schedules = 0;
  // kinds of table whose name holds this, such as "bytes" or "threads"; empty: all
  std::string only;
  bool elisions = true;
  bool smallest = true;                 // make the program of a violation smaller before it is told
  std::optional<std::size_t> only_job;  // of a replay
  std::vector<std::size_t> keep;        // of that job's program, these operations alone; empty: all
  std::string without;                  // an elision to run with, as the matrix names it
  std::string plant;                    // a planted bug to run with
  bool mutants = false;                 // instead: plant each known bug, and see that it is found
  // of elisions and of mutants: no programs, and no search; each by its witness alone
  bool witnesses = false;
};

/// One line of a matrix: what was altered, and who noticed.
struct matrix_line {
  std::string what;  // "the flush of turbo.write.slot", or a planted bug's name
  bool caught = false;
  std::string by;       // the violation, or the argument why leaving it out changes nothing
  bool argued = false;  // equivalent, with an argument
  std::string witness;  // the exploration that caught it, as job::name() tells it
};

struct outcome {
  findings found;
  std::vector<matrix_line> matrix;  // of elisions, or of mutants
  double seconds = 0;
};

/// What became of one alteration: the violation that it led to, or the engine's argument, or
/// nothing.
matrix_line line_of(const std::string& altered, const findings& found,
                    const explored_engine& engine);

/// Why this cannot be run, in a sentence, or nothing.
std::string why_not(const campaign& what);

/// `progress` hears how far it is: a share of 1, and what is being done.
outcome run(const campaign& what, const std::function<void(double, const std::string&)>& progress);

/// Engines that can be explored.
std::vector<engine_kind> engines();

}  // namespace durahash::crash
