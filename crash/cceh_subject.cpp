#include "crash/engine_subject.hpp"
#include "crash/subjects.hpp"
#include "table/cceh/table.hpp"

namespace durahash::crash {

namespace {

/// Segments split, or are merged, while their records are counted after a kill.
threaded_program counted_and_merged(key_number crowd) {
  threaded_program made{{{}, crowd}, {{}}, true};
  for (key_number k = 0; k < crowd; ++k) made.first.operations.push_back({act::put, {k}, 100u + k});
  for (key_number k = 0; k + 2u < crowd; ++k) made.threads.front().push_back({act::erase, {k}, 0});
  return made;
}

}  // namespace

explored_engine cceh_subject() {
  return {engine_kind::cceh,
          make_any<cceh::table>,
          {{"",
            {{"segment", 2}, {"probe", 2}},
            {},
            durability_level::power,
            0,
            {},
            {counted_and_crowded(11), counted_and_crowded(16), counted_and_merged(20)}},
           {"in-place", {{"segment", 2}, {"probe", 1}, {"copy_on_write", 0}}}}};
}

}  // namespace durahash::crash
