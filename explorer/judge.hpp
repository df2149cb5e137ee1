// Opens what a crash left, and holds it against the promise.
#pragma once

#include "explorer/subject.hpp"

namespace durahash::crash {

struct verdict {
  std::string violation;             // empty: the promise is kept
  std::vector<present_value> found;  // by key
  std::uint64_t facts = 0;           // statements checked
};

/// How far to go with one image.
struct thoroughness {
  bool again = true;  // a second recovery must change nothing
  bool go_on = true;  // put, update, erase, and growth of the damaged region
};

/// What lies in the region is opened, looked at in every way, opened again, and used. Nothing is
/// put back. `first_look_done` is called after the first three steps that only read.
verdict judge(const subject_kind& kind, const maker& make, region& r, tracer& t,
              const oracle& promise, const thoroughness& how,
              const std::function<void()>& first_look_done);

}  // namespace durahash::crash
