// Running a program once, and writing down all that happened.
#pragma once

#include <deque>
#include <random>

#include "explorer/subject.hpp"

namespace durahash::crash {

struct recording {
  trace events;
  // by number, as `begin` and `end` events tell it; addresses stay
  std::deque<call> calls;
  std::vector<present_value> before;  // what the table held to begin with
};

/// Of a trace and of what its calls answered, event by event: what begins in the same way is
/// explored in the same way.
class trace_hash {
 public:
  void add(const event& e, const recording& rec);
  std::uint64_t value() const { return made_; }

 private:
  void add(std::uint64_t n) { made_ = (made_ ^ n) * 0x9e3779b97f4a7c15u, made_ ^= made_ >> 29; }
  std::uint64_t made_ = 0;
  std::uint32_t group_ = 0;  // of the event before
};
std::uint64_t hash_of(const recording& rec);

/// Turns an operation into a call, with the values it writes. `believed` serves compare_and_set: it
/// expects that, or now and then something else.
call prepare(const operation& o, bool words, const std::vector<present_value>& believed,
             unsigned thread = 0);

/// After the call: what the caller may believe.
void learn(const call& c, std::vector<present_value>& believed);

/// Makes a pool in the region (`create`) or opens what is there, and performs the operations from
/// `from` on. Returns why that failed, or nothing.
std::string record(const subject_kind& kind, const maker& make, region& r, tracer& t, bool create,
                   const program& what, recording& into);

}  // namespace durahash::crash
