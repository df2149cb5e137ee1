#include "bench/baselines/path_hashing.hpp"

#include "bench/baselines/descriptions.hpp"

namespace durahash::baselines {
namespace {

// In the order of path_hashing::hole_index.
constexpr hole path_hashing_holes[] = {
    {"path-hashing.root-not-flushed", "CCEH's code, PathHashing::resize",
     "the words that name the new table are never written back: a crash brings the old table back, "
     "without what was acknowledged since, or overwritten",
     "growth ends with one word that is flushed and fenced"},
    {"path-hashing.read-before-durable", "Level §3.3: recovery looks at the log alone",
     "after the death of its process, an item is read from the caches that was never flushed, and "
     "a later loss of power undoes it",
     "recovery writes everything back before the first answer"},
};

}  // namespace

baseline path_hashing_baseline() {
  return {
      "path-hashing",
      "Path hashing",
      "as Level (OSDI'18) §2.2, §3.3 and §4.1 made it persistent; eight levels as CCEH §6.2",
      "Level figures 8, 10 to 12, 14, 15; CCEH figures 7 to 9 (PATH)",
      true,
      "twice as many leaves, all items hashed again; nothing else runs meanwhile",
      "none; a word is atomic, and the undo log of updates is kept as the papers' items need it",
      path_hashing_holes,
      make_baseline<path_hashing>};
}

}  // namespace durahash::baselines
