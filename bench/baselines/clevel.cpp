#include "bench/baselines/clevel.hpp"

#include "bench/baselines/descriptions.hpp"

namespace durahash::baselines {
namespace {

// In the order of clevel::hole_index.
constexpr hole clevel_holes[] = {
    {"clevel.cursor-apart", "Clevel's code, clevel_hash::resize",
     "the levels and the bucket from which items move next are two words; between them the next "
     "level's first buckets count as moved, and what they hold is dropped with their level",
     "recovery begins the last level anew"},
    {"clevel.read-before-durable", "Clevel's code, clevel_hash::search",
     "after the death of its process a record is read that was never flushed, and a later loss of "
     "power undoes it",
     "recovery writes everything back before the first answer"},
};

}  // namespace

baseline clevel_baseline() {
  return {"clevel",
          "Clevel",
          "Clevel hashing (ATC'20), and its published code",
          "TurboHash table 1, figures 6 to 10 (CLEVEL30); GPHash figures 5 to 7",
          true,
          "a level of twice the size on top; items of the last level move up, a bucket's with each "
          "write, where the published code has a thread",
          "none; one thread: the contexts of readers and the second look of writers are left out",
          clevel_holes,
          make_baseline<clevel>};
}

}  // namespace durahash::baselines
