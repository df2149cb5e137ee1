// What the tests of Level hashing have in common: tables of a given shape.
#pragma once

#include "test/engine/engine_rig.hpp"

namespace durahash::test {

template <class M, class Kind>
using level_rig = rig<M, Kind, level_engine>;

template <class M, class Kind>
auto make_level(const options& how) {
  return make_rig<M, Kind, level_engine>(how);
}

inline options level_of(std::uint64_t slots, std::map<std::string, std::uint64_t> settings = {}) {
  options how;
  how.settings = std::move(settings);
  how.settings["slots"] = slots;
  return how;
}
/// A table whose top level has 2^top_log2 buckets at first.
inline options level_with_top(unsigned top_log2, unsigned slots,
                              std::map<std::string, std::uint64_t> settings = {}) {
  options how = level_of(slots, std::move(settings));
  for (how.capacity = 1; level::top_for(how.capacity, slots) < top_log2;) how.capacity *= 2;
  return how;
}

}  // namespace durahash::test
