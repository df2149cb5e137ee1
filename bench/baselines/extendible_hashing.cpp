#include "bench/baselines/extendible_hashing.hpp"

#include "bench/baselines/descriptions.hpp"

namespace durahash::baselines {
namespace {

// In the order of extendible_hashing::hole_index.
constexpr hole extendible_hashing_holes[] = {
    {"extendible-lsb.old-directory-flushed", "CCEH's code, CCEH_LSB.cpp, CCEH::Insert",
     "doubling writes the old directory back and names the new one, which is not durable",
     "the new directory is written back before it is named"},
    {"extendible-lsb.root-in-words", "CCEH's code, CCEH_LSB.cpp, CCEH::Insert",
     "directory, capacity and global depth become durable one after the other; with the new "
     "directory and the old capacity, what a split moved is free in its old block, and an "
     "insertion "
     "of it tries again for ever",
     "one word names the directory and its depth"},
    {"extendible-lsb.depth-before-directory", "CCEH's code, CCEH_LSB.cpp, Segment::Split",
     "the old block's depth is durable before the directory names the new block: what moved counts "
     "as free, and an insertion of it tries again for ever; no recovery is published for least "
     "significant bits",
     "the depth comes last, and recovery finishes a split whose block is named once"},
    {"extendible-lsb.pattern-not-flushed", "CCEH's code, CCEH_LSB.cpp, CCEH::Insert",
     "the new block's pattern is stored after the block was written back: after a crash its "
     "records "
     "fit no pattern, an insertion tries again for ever, and a recovery by patterns loses them",
     "the pattern is there before the block is written back"},
    {"extendible-lsb.read-before-durable", "CCEH §4: recovery looks at the directory alone",
     "after the death of its process, a record is read from the caches that was never flushed, and "
     "a later loss of power undoes it",
     "recovery writes everything back before the first answer"},
};

}  // namespace

baseline extendible_hashing_baseline() {
  return {"extendible-lsb",
          "Extendible hashing (LSB)",
          "EXTH(LSB) of CCEH (FAST'19) §6.1, with blocks of 256 bytes",
          "CCEH figure 6",
          true,
          "half of a block moves to a new one; the directory doubles when a block is as deep as it",
          "keys 2^64-1 and 2^64-2 stand for empty and locked slots; blocks of other sizes are left "
          "out",
          extendible_hashing_holes,
          make_baseline<extendible_hashing>};
}

}  // namespace durahash::baselines
