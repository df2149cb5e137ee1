#include "bench/baselines/seph.hpp"

#include "bench/baselines/descriptions.hpp"

namespace durahash::baselines {
namespace {

// In the order of seph::hole_index.
constexpr hole seph_holes[] = {
    {"seph.copied-marks-stay", "SEPH's code, lazy_split and recover",
     "a split marks the words it copies; after a crash before the directory tells of it the marks "
     "stay, and who meets one tries again for ever",
     "recovery takes the marks away"},
    {"seph.entries-torn", "SEPH's code, steph::insert",
     "the entries of a split change one after the other; between them the level segment is never "
     "split again, and insertions into it try again for ever",
     "recovery takes the entries back"},
    {"seph.root-not-written-back", "SEPH's code, recover",
     "recovery writes the directory's entries back, and not the word that names the directory; "
     "after the death of its process a later loss of power brings the old directory back",
     "recovery writes everything back before the first answer"},
};

}  // namespace

baseline seph_baseline() {
  return {
      "seph",
      "SEPH",
      "SEPH (OSDI'23), as far as its paper and its published code tell",
      "GPHash figures 5 to 7",
      true,
      "a third of a level segment's items moves to two new tops; the directory doubles when a "
      "level segment is as deep",
      "none; one thread; a deleted item's slot is used again; fingerprints that are used up are "
      "made anew within the split; the directory doubles at once, not in the background",
      seph_holes,
      make_baseline<seph_table>};
}

}  // namespace durahash::baselines
