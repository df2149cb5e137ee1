#include "engine/cceh/beside.hpp"
#include "engine/cceh/table.hpp"
#include "explorer/engine_subject.hpp"
#include "explorer/subjects.hpp"

namespace durahash::crash {

namespace {

/// Segments split, or are merged, while their records are counted after a kill.
threaded_program counted_and_merged(key_number crowd) {
  threaded_program made{{{}, crowd}, {{}}, true};
  for (key_number k = 0; k < crowd; ++k) made.first.operations.push_back({act::put, {k}, 100u + k});
  for (key_number k = 0; k + 2u < crowd; ++k) made.threads.front().push_back({act::erase, {k}, 0});
  return made;
}

/// An update in the half that a split has just made: it must not be acknowledged before the entry
/// that leads there is durable. The table has a segment that is full for key 14, and key 3 goes to
/// its right.
threaded_program written_beside_a_split() {
  threaded_program made{{{}, 15}, {{{act::insert, {14}, 1}}, {{act::update, {3}, 2}}}};
  for (key_number k = 0; k < 14; ++k) made.first.operations.push_back({act::put, {k}, 100u + k});
  return made;
}

/// A slot is given to another key while a reader is at it, who must not take that key's value for
/// the first one's.
threaded_program a_slot_lent(act read = act::get) {
  operation first{act::put, {0}, 100}, seek{read, {0}, 0}, leave{act::erase, {0}, 0},
      lend{act::insert, {1}, 1};
  return {{{first}, 3}, {{seek}, {leave, lend}}};
}

/// A segment splits in place while a reader is at it, and the left half fills: where the reader's
/// record was, another one is.
threaded_program a_segment_read_while_it_splits(act read = act::get) {
  constexpr key_number crowd = 10, more = 12, sought = crowd - 1;
  threaded_program made{{{}, crowd + more}, {{{read, {sought}, 0}}, {}}};
  for (key_number k = 0; k < crowd; ++k) made.first.operations.push_back({act::put, {k}, 100u + k});
  for (key_number k = crowd; k < crowd + more; ++k)
    made.threads.back().push_back({act::insert, {k}, 600u + k});
  return made;
}

}  // namespace

explored_engine cceh_subject() {
  return {
      engine_kind::cceh,
      make_any<cceh::table, cceh::beside>,
      {with_readers({"",
                     {{"segment", 2}, {"probe", 2}},
                     {},
                     durability_level::power,
                     0,
                     {written_beside_a_split(), a_slot_lent()},
                     {counted_and_crowded(11), counted_and_crowded(16), counted_and_merged(20)}},
                    {a_slot_lent(act::get_beside)}),
       with_readers({"in-place",
                     {{"segment", 2}, {"probe", 1}, {"copy_on_write", 0}},
                     {},
                     durability_level::power,
                     0,
                     {a_segment_read_while_it_splits()}},
                    {a_segment_read_while_it_splits(act::get_beside)})}};
}

}  // namespace durahash::crash
