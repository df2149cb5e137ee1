// Running a program once, and writing down all that happened.
#pragma once

#include <deque>
#include <random>

#include "crash/subject.hpp"

namespace durahash::crash {

struct recording {
  trace events;
  std::deque<call> calls;             // by number, as `begin` and `end` events tell it; addresses stay
  std::vector<present_value> before;  // what the table held to begin with
};

/// Turns an operation into a call, with the values it writes. `believed` serves compare_and_set: it expects that, or now and then something else.
call prepare(const operation& o, bool words, const std::vector<present_value>& believed, unsigned thread = 0);

/// After the call: what the caller may believe.
void learn(const call& c, std::vector<present_value>& believed);

/// Makes a pool in the region (`create`) or opens what is there, and performs the operations from `from` on. Returns why that failed, or nothing.
std::string record(const subject_kind& kind, const maker& make, region& r, tracer& t, bool create, const program& what, recording& into);

}  // namespace durahash::crash
