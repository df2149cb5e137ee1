#include "bench/baselines/two_choices.hpp"

#include "bench/baselines/descriptions.hpp"

namespace durahash::baselines {
namespace {

constexpr std::string_view erase_source = "Level §3.3, log-free deletion and insertion",
                           early_read_source = "Level §3.3: recovery looks at the log alone",
                           early_read_what =
                               "after the death of its process, an item is read from the caches "
                               "that was never flushed, and a later loss of power undoes it",
                           early_read_mended =
                               "recovery writes everything back before the first answer",
                           erase_what =
                               "a crash in a movement leaves an item twice; a deletion takes one "
                               "token away, and the other copy answers from then on",
                           erase_mended = "a deletion takes the tokens of all copies away";

// In the order of two_choices::hole_index.
constexpr hole cuckoo_holes[] = {
    {"bucketized-cuckoo.erase-one-copy", erase_source, erase_what, erase_mended},
    {"bucketized-cuckoo.read-before-durable", early_read_source, early_read_what,
     early_read_mended}};
constexpr hole pfht_holes[] = {
    {"pfht.erase-one-copy", erase_source, erase_what, erase_mended},
    {"pfht.read-before-durable", early_read_source, early_read_what, early_read_mended}};

constexpr std::string_view growth =
    "the whole table is rehashed to twice its size; nothing else runs meanwhile";

}  // namespace

baseline bucketized_cuckoo_baseline() {
  return {
      "bucketized-cuckoo",
      "Bucketized cuckoo (BCH)",
      "as Level (OSDI'18) §2.2, §3.3 and §4.1 have it: four slots, 500 evictions",
      "Level figures 8, 10 to 12, 14, 15; CCEH figures 7 to 9 (CUCK)",
      true,
      growth,
      "none; a word is atomic, and the undo log of updates is kept as the papers' items need it",
      cuckoo_holes,
      make_baseline<bucketized_cuckoo>};
}

baseline pfht_baseline() {
  return {"pfht",
          "PFHT",
          "as Level (OSDI'18) §2.2, §3.3 and §4.1 have it: one eviction, a stash of 3 % in chains",
          "Level figures 8, 10 to 12, 14, 15",
          true,
          growth,
          "none; how many chains the stash has is not told: one for each four nodes here",
          pfht_holes,
          make_baseline<pfht>};
}

}  // namespace durahash::baselines
