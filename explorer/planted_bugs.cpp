#include "explorer/planted_bugs.hpp"

#include <algorithm>

#include "explorer/subject.hpp"
#include "store/engine_list.hpp"

namespace durahash::crash {

const std::vector<planted_bug>& planted_bugs() {
  static const std::vector<engine_kind> every_engine(all_engines().begin(), all_engines().end());
#define DURAHASH_KIND(name) engine_kind::name,
  // Those whose programs have shown it. The explorer's own programs have not in a further engine
  // with one lock (test/linear).
  static const std::vector<engine_kind> listed_engines = {DURAHASH_ENGINES(DURAHASH_KIND)};
#undef DURAHASH_KIND
  static const std::vector<planted_bug> listed = {
      {"readers-give-away-what-is-not-durable", "X1",
       "A lock-free reader returns a value whose commit word is visible but not durable; a power "
       "cut undoes it.",
       every_engine, "u64/power/threads"},
      {"a-lock-in-the-pool", "X2",
       "A writer's lock lies in the pool; a crash leaves it held for ever.", every_engine, ""},
      {"allocated-and-never-linked", "X3",
       "What was allocated when the crash came, and nothing refers to, is never free again.",
       every_engine, ""},
      {"a-key-that-means-empty",
       "X4",
       "The key 0 stands for an empty slot, and its record is lost when the shard moves.",
       {engine_kind::turbo},
       ""},
      {"a-root-overwritten-in-place", "X5",
       "The root in force is overwritten by the next one; a crash half-way leaves neither.",
       every_engine, ""},
      {"misses-are-not-checked-again",
       "TurboHash 1",
       "The sequence protects hits alone: a key that an update moves within its bucket is "
       "reported absent.",
       {engine_kind::turbo},
       "bytes/power/threads"},
      {"one-write-in-between-is-tolerated",
       "TurboHash 2",
       "A reader accepts the next sequence number too: the slot was erased, and another key's "
       "value is in it.",
       {engine_kind::turbo},
       "u64/power/threads"},
      {"the flush of turbo.write.slot",
       "TurboHash 3",
       "Only the line of the tags and the commit word is flushed; the slot in another line may be"
       " lost.",
       {engine_kind::turbo},
       ""},
      {"the-mirror-before-the-medium",
       "TurboHash 4",
       "The DRAM mirror names the new array, and the old one is free, before the directory entry "
       "on the medium is durable.",
       {engine_kind::turbo},
       "u64/power/threads"},
      {"a-search-one-bucket-short",
       "TurboHash 5",
       "A record may be placed at the last distance, where no search looks.",
       {engine_kind::turbo},
       ""},
      {"no-slot-kept-empty",
       "TurboHash 6",
       "All 14 slots of a bucket are filled, and a near-place update has nowhere to go.",
       {engine_kind::turbo},
       ""},
      {"readers-without-epochs",
       "TurboHash 7",
       "A reader holds a record that an update has retired, and the cell is filled anew under it.",
       {engine_kind::turbo, engine_kind::cceh, engine_kind::gphash},
       "bytes/power/threads"},
      {"the fence of turbo.open.header",
       "Ours 1",
       "Killed between a directory entry's store and its fence; a successor builds on the entry; "
       "a power cut undoes it under acknowledged writes.",
       {engine_kind::turbo},
       ""},
      {"a-dead-process-s-words",
       "Ours 2",
       "Killed between a value's store and its fence; a successor's reader returns the value; a "
       "power cut undoes it.",
       {engine_kind::turbo, engine_kind::cceh, engine_kind::level},
       ""},
      {"a-cell-freed-by-a-word-that-may-go",
       "Ours 3",
       "A successor hands out the cell of a record that a visible, not durable word no longer "
       "names; a power cut brings the old word back.",
       {engine_kind::turbo},
       ""},
      {"a-clean-root-with-a-new-end",
       "Ours 4",
       "A pool that was closed, opened and shortened keeps a clean root, whose allocation state "
       "then lies outside: it does not open.",
       {engine_kind::turbo, engine_kind::cceh},
       ""},
      {"cceh-recovery-mends-one-half",
       "CCEH 1",
       "Recovery makes the right half of a split whole and leaves the left half at its old depth.",
       {engine_kind::cceh},
       "cceh/u64/power"},
      {"cceh-a-sibling-is-open-too-early",
       "CCEH 2",
       "The new right half is not locked: a write is acknowledged in it before its entry is "
       "durable, and a power cut takes the entry back.",
       {engine_kind::cceh},
       "u64/power/threads"},
      {"the flush of cceh.directory.copy",
       "CCEH 4",
       "A new directory is published, and its entries are not durable.",
       {engine_kind::cceh},
       ""},
      {"cceh-recovery-skips-the-last-segment",
       "CCEH 5",
       "Recovery does not look at the last segment, whose space is then given to others.",
       {engine_kind::cceh},
       ""},
      {"cceh-the-left-half-first",
       "CCEH 6",
       "A copying split publishes its left half first.",
       {engine_kind::cceh},
       "cceh/u64/power"},
      {"cceh-a-removed-key-of-another-segment",
       "CCEH 8",
       "A removed record gets a key that looks as if it were another segment's.",
       {engine_kind::cceh},
       ""},
      {"cceh-a-merge-revives-what-is-stale",
       "CCEH 9",
       "A merge takes the left segment as it lies, with the copies that a split left there.",
       {engine_kind::cceh},
       "in-place"},
      {"cceh-the-key-before-the-value",
       "CCEH 10",
       "A new record's key is stored before its value: another record's value stands behind it.",
       {engine_kind::cceh},
       ""},
      {"cceh-insert-takes-the-first-room",
       "CCEH 11",
       "A put takes the first slot that is free without looking for the key behind it.",
       {engine_kind::cceh},
       ""},
      {"cceh-a-split-drops-what-does-not-fit",
       "CCEH 12",
       "A record that finds its new window full is left out of its half.",
       {engine_kind::cceh},
       ""},
      {"cceh-a-claimed-slot",
       "CCEH 13",
       "A slot is claimed with a word of its own before it is filled; a crash leaves the claim.",
       {engine_kind::cceh},
       ""},
      {"cceh-removals-leave-the-version",
       "invariant C6",
       "A removal does not change the stripe's version: a slot that was lent to another key and "
       "given back fools a reader.",
       {engine_kind::cceh},
       "u64/power/threads"},
      {"cceh-the-version-before-the-word",
       "Ours 5",
       "A removal changes the version before the key word goes: a reader takes the new version, "
       "sees the old key, and the value of the one that gets the slot.",
       {engine_kind::cceh},
       "u64/power/threads"},
      {"cceh-a-full-bucket-gets-an-empty-slot",
       "invariant C3",
       "A record removed from a full bucket leaves an empty slot, where searches for records "
       "behind it end.",
       {engine_kind::cceh},
       ""},
      {"cceh-a-group-passes-what-it-has-just-filled",
       "Ours 6",
       "A record of a group lies behind a bucket that the same group filled; after a crash the "
       "bucket has room, and searches end there.",
       {engine_kind::cceh},
       ""},
      {"level-a-record-stays-twice",
       "Level 1",
       "After a crash in a movement the record is there twice; recovery leaves it so, and "
       "removing one copy lets the other come back.",
       {engine_kind::level},
       "level/u64/power"},
      {"level-two-tokens-in-two-stores",
       "Level 2",
       "An update that writes beside the old item takes the old token away before it sets the new"
       " one.",
       {engine_kind::level},
       "as in the paper"},
      {"the flush of level.write.slot",
       "Level 3",
       "An item that does not lie in its token's line is not made durable before the token.",
       {engine_kind::level},
       "as in the paper"},
      {"level-the-level-goes-too-early",
       "Level 4",
       "A level's word is removed, and its space given to others, while its last bucket is still "
       "to be drained.",
       {engine_kind::level},
       ""},
      {"level-a-log-is-never-cleared",
       "Level 5",
       "The log of an update is left as it is: recovery undoes what came after it.",
       {engine_kind::level},
       "as in the paper"},
      {"level-only-the-first-item-is-looked-at",
       "Level 6",
       "Recovery looks for the copy of the first item alone of the bucket that was being drained.",
       {engine_kind::level},
       "as in the paper"},
      {"level-rehash-never-fails",
       "Level 7",
       "A record of the level that is drained finds no place, and goes with its level.",
       {engine_kind::level},
       ""},
      {"level-places-of-another-day",
       "Level 9",
       "The second hash has a seed that is not in the pool.",
       {engine_kind::level},
       ""},
      {"the flush of level.write.filter",
       "invariant L3",
       "The filter above is not durable when the token below is: after a crash no search gets "
       "there.",
       {engine_kind::level},
       "u64/power"},
      {"level-records-enter-what-is-drained",
       "invariant L6",
       "While the table shrinks, new records go to the level that is on its way out.",
       {engine_kind::level},
       ""},
      {"the fence of level.move.arrived",
       "invariant L1",
       "A movement takes the token here away before the token there is durable.",
       {engine_kind::level},
       "level/u64/power"},
      {"gphash-claimed-slots-stay-claimed",
       "GPHash 3",
       "Recovery leaves slots as insertions had claimed them that the crash ended: nobody can "
       "have them any more.",
       {engine_kind::gphash},
       "u64/power"},
      {"the flush of gphash.write.value",
       "GPHash 5",
       "The fingerprint of a small key is its key: published while the value is not durable, it "
       "shows the slot's old value.",
       {engine_kind::gphash},
       "u64/power/as in the paper"},
      {"the flush of gphash.write.key",
       "invariant G2",
       "The fingerprint is published while the key is not durable: it shows the key that the slot"
       " had before, or what of the new one was written back.",
       {engine_kind::gphash},
       "bytes/power/with keys in the buckets"},
      {"gphash-readers-do-not-look-again-behind-the-key",
       "GPHash 7",
       "A reader that has compared the key takes the value of another one, to which the slot was "
       "given meanwhile.",
       {engine_kind::gphash},
       "with keys in the buckets/threads"},
      {"gphash-a-copy-opens-before-its-writers-know",
       "invariant B3",
       "A bucket's copy opens while a writer that found none is still at work: searches go on "
       "finding the value that it overwrites.",
       {engine_kind::gphash},
       "with copies/threads"},
      {"gphash-a-copy-is-not-told",
       "invariant B2",
       "A write changes the pool, and not the bucket's copy.",
       {engine_kind::gphash},
       "with copies"},
      {"level-a-movement-outruns-the-count",
       "Ours 8",
       "A movement carries a record from a stripe that is not counted yet into one that is: its "
       "cell is never made known, and goes to the next put.",
       {engine_kind::level},
       "bytes/power/threads"},
      {"cceh-a-merge-outruns-the-count",
       "Ours 9",
       "A merge beside the count carries records of one stripe to another: they are counted "
       "twice, or never.",
       {engine_kind::cceh},
       "bytes/power/threads"},
      {"gphash-two-writers-of-one-key",
       "GPHash 8",
       "Writers of one key do not take turns, though growth still waits for all of them: two "
       "insertions each find it absent, and both are acknowledged.",
       {engine_kind::gphash},
       "two levels/threads"},
      {"a-sync-keeps-nobody-out", "Ours 10",
       "A sync marks the pool clean while a writer is at work: what that one goes on to store lies "
       "under a root that says clean.",
       listed_engines, "u64/power/threads"},
      {"a-close-stops-the-count", "Ours 11",
       "A close ends the thread that counts, and waits for the count ever after.", listed_engines,
       "bytes/power/threads"},
      {"cceh-a-split-leaves-the-version",
       "invariant C6",
       "A split does not change the left stripe's version: a reader that had the segment before "
       "finds another record where its own was.",
       {engine_kind::cceh},
       "u64/power/in-place/threads"},
      {"level-movements-do-not-tell-scans",
       "Level 8",
       "A movement from a bucket that a scan has yet to read to one that it has read goes "
       "unnoticed: the scan misses a record that was there throughout.",
       {engine_kind::level},
       "u64/power/threads"},
      {"gphash-insertions-leave-the-version",
       "invariant G5",
       "A slot is lent to another key and given back while a reader is at it, which began within "
       "the removal: only the insertion tells it. Four preemptions of three threads, each at one "
       "step: the explorer's schedules have two.",
       {engine_kind::gphash},
       "",
       "GphashLentSlot"},
      {"gpu-nothing-orders-value-and-fingerprint",
       "GPHash 5",
       "A kernel stores the value and the fingerprint with no fence between: the process dies "
       "when one of them has reached memory.",
       {engine_kind::gphash},
       "a device that dies in a kernel"},
      {"gpu-two-warps-write-one-key",
       "GPHash 8",
       "Writes of one key do not take turns: two warps each find it absent, and both insert it.",
       {engine_kind::gphash},
       "by a device"},
      {"gpu-a-slot-is-lent-while-it-is-read",
       "GPHash 7",
       "Removals do not change their stripe's version: a reader takes the value of another key "
       "that got the slot meanwhile for its own.",
       {engine_kind::gphash},
       "by a device/threads"},
      {"gpu-a-new-level-shows-what-was-there",
       "GPHash 2",
       "The kernel that writes a new level leaves its empty slots as they are: in memory that was"
       " used before, removed keys come back.",
       {engine_kind::gphash},
       "by a device"},
      {"gpu-a-copy-opens-before-its-writers-know",
       "invariant B3",
       "A bucket's copy in the device's memory opens while a writer that found none is still at "
       "work: searches go on finding the value that it overwrites.",
       {engine_kind::gphash},
       "by a device, with copies/threads"},
      {"gpu-a-copy-is-not-told",
       "invariant B2",
       "A write of the device changes the pool, and not the bucket's copy.",
       {engine_kind::gphash},
       "by a device, with copies"},
      {"gpu-copies-are-not-looked-at-again",
       "invariant B1",
       "A search believes a copy that a write has changed meanwhile.",
       {engine_kind::gphash},
       "by a device, with copies/threads"},
      {"the flush of gpu.mirror.values",
       "invariant G2",
       "A commit stores the fingerprints of a mirror's insertions in the pool without waiting for"
       " their values.",
       {engine_kind::gphash},
       "in its own memory"},
  };
  static const std::vector<planted_bug> all = [] {
    std::vector<planted_bug> bugs = listed;
    for (const explored_engine& e : explored_engines())
      bugs.insert(bugs.end(), e.bugs.begin(), e.bugs.end());
    return bugs;
  }();
  return all;
}

std::vector<std::string> bugs_of(engine_kind engine) {
  std::vector<std::string> names;
  for (const planted_bug& bug : planted_bugs())
    if (bug.shown_by.empty() &&
        std::find(bug.engines.begin(), bug.engines.end(), engine) != bug.engines.end())
      names.emplace_back(bug.name);
  return names;
}

std::string kinds_that_show(std::string_view name) {
  for (const planted_bug& bug : planted_bugs())
    if (bug.name == name) return std::string(bug.kinds);
  return {};
}

}  // namespace durahash::crash
