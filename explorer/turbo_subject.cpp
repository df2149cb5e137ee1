#include "engine/turbo/table.hpp"
#include "explorer/engine_subject.hpp"
#include "explorer/subjects.hpp"

namespace durahash::crash {
namespace {

/// One of two shards becomes empty, and compaction writes the other one's array where the empty
/// one's was: who names that place must have gone by then.
threaded_program one_array_in_the_others_place() {
  constexpr key_number keys = 8;  // arrays of one bucket each
  threaded_program made{{{}, keys}, {{}}};
  operation leave{act::erase_many, {}, 0};
  for (key_number k = 0; k < keys; ++k) {
    made.first.operations.push_back({act::put, {k}, 100u + k});
    if (word_hash(word_key(k), explored_seeds) >> 63 == 0) leave.keys.push_back(k);
  }
  made.threads.front() = {leave, {act::compact, {}, 0}};
  return made;
}

}  // namespace

explored_engine turbo_subject() {
  return {engine_kind::turbo,
          make_any<turbo::table>,
          {{"",
            {{"shards", 2}, {"collect_distance", 1}},
            {},
            durability_level::power,
            0,
            {one_array_in_the_others_place()}},
           {"near-place", {{"shards", 2}, {"in_place", 0}}, data_kind::u64},
           {"narrow", {{"shards", 2}, {"scope", 2}}}}};
}

}  // namespace durahash::crash
