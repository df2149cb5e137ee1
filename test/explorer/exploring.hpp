// A short exploration of a table that a test has wrapped.
#pragma once

#include <string>
#include <utility>

#include "base/turns.hpp"
#include "explorer/turn_scheduler.hpp"
#include "explorer/wrapped.hpp"

namespace durahash::crash {

/// A few calls that reach every kind of change.
inline program short_program() {
  return {{{act::put, {0}, 1},
           {act::insert, {1}, 2},
           {act::put_many, {2, 3, 4}, 3},
           {act::update, {1}, 4},
           {act::erase, {2}, 5},
           {act::put, {0}, 6}},
          6};
}

inline plan short_plan() {
  plan how;
  how.images = {.all_up_to = 64, .options_per_line = 12, .lines_each = 6, .samples = 4};
  how.nested_every = 60;
  how.kill_every = 20;
  how.depth = 2;
  return how;
}

template <class W>
findings explore_a(const plan& how = short_plan(), const program& what = short_program()) {
  solo alone;
  turns::install(&alone);
  subject_kind kind = usual_kind();
  maker make = wrapping<W>();
  explorer x(kind, make, how, 1);
  x.run(what);
  turns::install(nullptr);
  return std::move(x.found());
}

/// What was wrong first, if anything.
inline std::string first_of(const findings& found) {
  return found.violations.empty() ? std::string() : found.violations.front().what;
}

}  // namespace durahash::crash
