#include "bench/baselines/dash.hpp"

#include "bench/baselines/descriptions.hpp"

namespace durahash::baselines {
namespace {

// In the order of dash::hole_index.
constexpr hole dash_holes[] = {
    {"dash-eh.split-not-finished", "Dash's code, Table::Split and recoverTable",
     "recovery finishes a split whose new segment is NEW, and Split itself overwrites that state "
     "before the first record moves; a crash before the directory tells of the new segment loses "
     "what moved",
     "the records that moved are let go behind the directory's transaction"},
    {"dash-eh.displaced-slot-overwritten", "Dash's code, Next_displace and Prev_displace",
     "the new record is stored in the displaced one's slot before the bitmap without it is "
     "durable; "
     "a crash leaves a record with another one's fingerprint, which no search finds and a split "
     "brings back",
     "the bitmap is written back before the slot is used again"},
    {"dash-eh.copy-comes-back", "Dash's code, recoverMetadata",
     "of a record that a crash left twice recovery drops one, and does not write that back; the "
     "other one is deleted, and a second crash brings the first back",
     "what recovery drops is written back"},
    {"dash-eh.read-before-durable", "Dash's code, Get",
     "after the death of its process a record is read that was never flushed, and a later loss of "
     "power undoes it",
     "recovery writes everything back before the first answer"},
};

}  // namespace

baseline dash_eh_baseline() {
  return {"dash-eh",
          "Dash-EH",
          "Dash (VLDB'20) §4, and its published code",
          "TurboHash table 1, figures 6 to 10 (DASH16); GPHash figures 5 to 7",
          true,
          "half of a segment moves to a new one; the directory doubles when a segment is as deep",
          "none; locks and merges are left out; all segments are recovered at once, and not at "
          "their first access; an update is one word, which the published code has not",
          dash_holes,
          make_baseline<dash_eh>};
}

}  // namespace durahash::baselines
