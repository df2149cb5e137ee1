#include "bench/baselines/cceh_published.hpp"

#include "bench/baselines/descriptions.hpp"

namespace durahash::baselines {
namespace {

constexpr std::string_view
    directory_source = "CCEH's code, CCEH::Insert",
    directory_what =
        "doubling writes the new directory's entries back, and a variable "
        "on the stack in place of the words that tell where they are and "
        "how deep",
    directory_mended = "those words are written back before they are named",
    last_source = "CCEH §4, algorithm 1; CCEH's code, CCEH::Recovery",
    last_what =
        "recovery does not look at the last segment; a half-done split "
        "there is never taken back, and its next split loses what came since",
    last_mended = "recovery looks at all segments, and writes back what it changes",
    read_source = "CCEH §4: recovery looks at the directory alone",
    read_what =
        "after the death of its process a record is read that was never "
        "flushed, and a later loss of power undoes it",
    read_mended = "recovery writes everything back before the first answer",
    limits =
        "keys 2^64-1 and 2^64-2 stand for empty and locked slots; a record "
        "for which a split finds no room keeps its place, where the "
        "published code drops it; merges and locks are left out";

// In the order of cceh_published::hole_index.
constexpr hole in_place_holes[] = {
    {"cceh-in-place.directory-not-flushed", directory_source, directory_what, directory_mended},
    {"cceh-in-place.last-segment-skipped", last_source, last_what, last_mended},
    {"cceh-in-place.read-before-durable", read_source, read_what, read_mended}};
constexpr hole copying_holes[] = {
    {"cceh-copying.directory-not-flushed", directory_source, directory_what, directory_mended},
    {"cceh-copying.last-segment-skipped", last_source, last_what, last_mended},
    {"cceh-copying.read-before-durable", read_source, read_what, read_mended}};

}  // namespace

baseline cceh_in_place_baseline() {
  return {"cceh-in-place",
          "CCEH, as published",
          "CCEH (FAST'19), and its published code with INPLACE: a second window of eight lines",
          "CCEH figures 6 to 11; Level's successors",
          true,
          "half of a segment moves to a new one; the directory doubles when a segment is as deep",
          limits,
          in_place_holes,
          make_baseline<cceh_in_place>};
}

baseline cceh_copying_baseline() {
  return {"cceh-copying",
          "CCEH(C), as published",
          "CCEH (FAST'19) §5, and its published code: a second window of eight lines",
          "TurboHash table 1, figures 6 to 10 (CCEH16)",
          true,
          "a segment becomes two new ones; the directory doubles when a segment is as deep",
          limits,
          copying_holes,
          make_baseline<cceh_copying>};
}

}  // namespace durahash::baselines
