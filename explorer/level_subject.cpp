#include "engine/level/beside.hpp"
#include "engine/level/table.hpp"
#include "explorer/engine_subject.hpp"
#include "explorer/subjects.hpp"

namespace durahash::crash {

namespace {

constexpr const char* one_word =
    "a value is one word, all or nothing without a log: it is logged as in the paper, for "
    "comparison";

/// A logged update, and all that another thread can do with what it leaves: be given the value, and
/// write another one into the same slot without a log.
threaded_program logged_and_written_anew(act read = act::get) {
  operation first{act::put, {0}, 1}, update{act::update, {0}, 2}, seek{read, {0}, 0},
      erase{act::erase, {0}, 0}, anew{act::put, {0}, 3};
  return {{{first}, 1}, {{update}, {seek, erase, anew}}};
}

/// A level goes, and a record takes its space: byte records of this key and version are as long as
/// the smallest level.
threaded_program drained_and_leased(act read = act::get) {
  operation grow{act::reserve, {}, 0}, lend{act::put, {35}, 3}, seek{read, {35}, 0};
  return {{{}, 36}, {{grow, lend}, {seek}}};
}

/// Insertions move records to make way for themselves, while a scan is on its way.
threaded_program moved_while_scanned(act scan = act::scan) {
  constexpr key_number crowd = 13, more = 2;
  threaded_program made{{{}, crowd + more}, {{{scan, {}, 0}}, {}}};
  for (key_number k = 0; k < crowd; ++k) made.first.operations.push_back({act::put, {k}, 100u + k});
  for (key_number k = crowd; k < crowd + more; ++k)
    made.threads.back().push_back({act::insert, {k}, 600u + k});
  return made;
}

}  // namespace

explored_engine level_subject() {
  return {
      engine_kind::level,
      make_any<level::table, level::beside>,
      {with_readers(
           {"few-keys",
            {{"slots", 1}, {"in_place", 0}},
            {},
            durability_level::power,
            3,
            {logged_and_written_anew(), drained_and_leased()}},
           {logged_and_written_anew(act::get_beside), drained_and_leased(act::get_beside)}),
       with_readers({"",
                     {{"slots", 1}},
                     {},
                     durability_level::power,
                     0,
                     {},
                     {counted_and_crowded(9), counted_and_crowded(15), counted_and_crowded(20)},
                     {moved_while_scanned()}},
                    {moved_while_scanned(act::scan_beside)}),
       {"as in the paper", {{"slots", 4}, {"in_place", 0}, {"dynamic", 0}}}},
      {{"the flush of level.log.commit", one_word},
       {"the fence of level.log.commit", one_word},
       {"the order of level.drain.drop-level",
        "what may lie before it in its line is a mark, without which the drain turns round"},
       {"the order of level.write.value",
        "a value is one word: what lies before it in its line are filters, which may say too much"},
       {"the fence of level.salvage.all",
        "a salvage ends with a root, whose record is fenced behind it before that root is in "
        "force"},
       {"the fence of level.log.undone",
        "who opens a small pool counts its records, and fences on the way; of a large one another "
        "thread does, and level_step_cut_test.cpp shows it"}}};
}

}  // namespace durahash::crash
