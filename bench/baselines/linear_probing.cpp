#include "bench/baselines/linear_probing.hpp"

#include "bench/baselines/descriptions.hpp"

namespace durahash::baselines {
namespace {

// In the order of linear_probing::hole_index.
constexpr hole linear_probing_holes[] = {
    {"linear-probing.root-in-words", "CCEH's code, LinearProbingHash::resize",
     "array and capacity are two words that become durable one after the other; between them every "
     "record is looked for in the wrong place, and no recovery is published",
     "recovery takes an unfinished rehash back, by the two words that tell of the old array"},
    {"linear-probing.read-before-durable", "CCEH §4: recovery looks at the directory alone",
     "after the death of its process, a record is read from the caches that was never flushed, and "
     "a later loss of power undoes it",
     "recovery writes everything back before the first answer"},
};

}  // namespace

baseline linear_probing_baseline() {
  return {
      "linear-probing",
      "Linear probing",
      "as CCEH (FAST'19) §6 compares with it, and its authors' code",
      "CCEH figures 7 to 9",
      true,
      "the whole table is rehashed to twice its size at 95 % load; nothing else runs meanwhile",
      "keys 2^64-1 and 2^64-2 stand for empty and dead slots; erase is not published and leaves "
      "a dead slot, as TurboHash §5 describes",
      linear_probing_holes,
      make_baseline<linear_probing>};
}

}  // namespace durahash::baselines
