#include "bench/baselines/turbo_published.hpp"

#include "bench/baselines/descriptions.hpp"

namespace durahash::baselines {
namespace {

// In the order of turbo_published::hole_index.
constexpr hole turbo_published_holes[] = {
    {"turbo-published.slot-not-flushed", "TurboHash's code, insertToSlotAndGC",
     "of the bucket only the first line is written back, which has two of its slots: of a record "
     "in another one the meta word becomes durable, and the record perhaps not",
     "the slot is written back before the meta word is stored, as algorithm 2 has it"},
    {"turbo-published.descriptor-in-two-lines", "TurboHash's code, BucketMetaPmem",
     "a descriptor has 24 bytes, and only the line that it begins in is written back: two of eight "
     "have a place in the next line, and lose their shard",
     "descriptors of 32 bytes"},
    {"turbo-published.laid-out-of-reach", "TurboHash's code, findNextSlotInRehash",
     "a rehash places a record one bucket further from its home than any search looks; it is lost "
     "without a crash",
     "a rehash places a record where a search looks, or makes the shard larger"},
    {"turbo-published.read-before-durable", "TurboHash §3.7: recovery reads the directory alone",
     "after the death of its process a record is read that was never flushed, and a later loss of "
     "power undoes it",
     "recovery writes everything back before the first answer"},
};

}  // namespace

baseline turbo_published_baseline() {
  return {"turbo-published",
          "TurboHash, as published",
          "TurboHash (SYSTOR'23), and its published code: searches of 15 buckets, words in slots",
          "TurboHash figures 1, 6 to 12 (TURBO16)",
          true,
          "a shard is laid out anew at twice its size; the number of shards never changes",
          "locks, readers beside writers, items beside their slots and the collection of deleted "
          "slots are left out; where a rehash finds no room for a record, or a shard has 32,768 "
          "buckets, the published code ends the program, and here the shard becomes larger",
          turbo_published_holes,
          make_baseline<turbo_as_published>};
}

}  // namespace durahash::baselines
