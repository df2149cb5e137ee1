"""The holes of the papers and of published code, and what our own explorer has found, planted on purpose.

Each is (name, hole, story, where to look, file, [(text, replacement), ...]); every text must stand in the file exactly once, so that no bug rots unnoticed.
"""

FIND = "src/table/turbo/find.hpp"
WRITE = "src/table/turbo/write.hpp"
GROW = "src/table/turbo/grow.hpp"
RECOVER = "src/table/turbo/recover.hpp"
TABLE = "src/table/turbo/table.hpp"
FORMAT = "src/table/turbo/format.hpp"
POOL = "src/persist/pool.hpp"
HEAP = "src/persist/heap.hpp"
HEAP_RECOVERY = "src/persist/heap_recovery.hpp"
LIFECYCLE = "src/table/lifecycle.hpp"
LEVEL_TABLE = "src/table/level/table.hpp"
CCEH_FIND = "src/table/cceh/find.hpp"
CCEH_WRITE = "src/table/cceh/write.hpp"
CCEH_GROW = "src/table/cceh/grow.hpp"
CCEH_RECOVER = "src/table/cceh/recover.hpp"
CCEH_TABLE = "src/table/cceh/table.hpp"
LEVEL_FIND = "src/table/level/find.hpp"
LEVEL_WRITE = "src/table/level/write.hpp"
LEVEL_MOVE = "src/table/level/move.hpp"
LEVEL_GROW = "src/table/level/grow.hpp"
LEVEL_RECOVER = "src/table/level/recover.hpp"
GPHASH_TABLE = "src/table/gphash/table.hpp"
GPHASH_FIND = "src/table/gphash/find.hpp"
GPHASH_WRITE = "src/table/gphash/write.hpp"
GPHASH_CACHE = "src/table/gphash/bucket_cache.hpp"
GPHASH_RECOVER = "src/table/gphash/recover.hpp"
GPU_OPERATIONS = "src/gpu/operations.hpp"
GPU_BATCH = "src/gpu/batch.hpp"
GPU_SPLIT = "src/gpu/split_commit.hpp"
GPU_CACHE = "src/gpu/cache.hpp"
GPU_COPIES = "src/gpu/bucket_copies.hpp"

BUGS = [
    ("readers-give-away-what-is-not-durable", "all four, X1",
     "A lock-free reader returns a value whose commit word is visible but not durable; a power cut undoes it.",
     "u64/power/threads",
     FIND,
     [(" && unsettled_.settled(g.shard); };", "; };"),
      ("    settle_for_reader(s, v, home_of(hash, v.log2_buckets()), buckets);\n", "")]),

    ("a-lock-in-the-pool", "all four, X2",
     "A writer's lock lies in the pool; a crash leaves it held for ever.",
     "",
     WRITE,
     [("  return write_locked(s, hash, key, decide);\n}",
       "  auto& held = *p_.at(poff<pm<std::uint64_t>>{selector_offset + 64});\n"
       "  while (load(m_, held) == 1) {\n  }\n"
       "  store(m_, held, 1);\n"
       "  status answer = write_locked(s, hash, key, decide);\n"
       "  store(m_, held, 0);\n"
       "  return answer;\n}")]),

    ("allocated-and-never-linked", "all four, X3",
     "What was allocated when the crash came, and nothing refers to, is never free again.",
     "",
     HEAP_RECOVERY,
     [("    if (next > at) pool_.found_free(at, next - at);\n", "")]),

    ("a-key-that-means-empty", "all four, X4",
     "The key 0 stands for an empty slot, and its record is lost when the shard moves.",
     "",
     FIND,
     [("        found.push_back({hash_of_slot(key_word), key_word, load(m_, at.value)});",
       "        if (key_word != 0) found.push_back({hash_of_slot(key_word), key_word, load(m_, at.value)});")]),

    ("a-root-overwritten-in-place", "all four, X5",
     "The root in force is overwritten by the next one; a crash half-way leaves neither.",
     "",
     POOL,
     [("next.sequence = root_.sequence + 1;", "next.sequence = root_.sequence + 2;")]),

    ("misses-are-not-checked-again", "TurboHash 1",
     "The sequence protects hits alone: a key that an update moves within its bucket is reported absent.",
     "near-place/threads",
     FIND,
     [("    if (!unchanged()) return probed::torn;\n    if (meta.ends_path())", "    if (meta.ends_path())"),
      ("return g.meta.ends_path() && unchanged() ? probed::miss", "return g.meta.ends_path() && view(g.shard) == g.view && unsettled_.settled(g.shard) ? probed::miss")]),

    ("one-write-in-between-is-tolerated", "TurboHash 2",
     "A reader accepts the next sequence number too: the slot was erased, and another key's value is in it.",
     "u64/power/threads",
     FIND,
     [("return load(m_, g.home->meta) == g.meta && view",
       "return (load(m_, g.home->meta).bits >> 28) - (g.meta.bits >> 28) <= 1 && view"),
      ("    auto unchanged = [&] { return load(m_, b.meta) == meta; };",
       "    auto unchanged = [&] { return (load(m_, b.meta).bits >> 28) - (meta.bits >> 28) <= 1; };")]),

    ("the-slots-line-is-not-flushed", "TurboHash 3",
     "Only the line of the tags and the commit word is flushed; the slot in another line may be lost.",
     "",
     WRITE,
     [("  if (target >= slots_in_first_line) {", "  if (target >= slots_per_bucket) {")]),

    ("the-mirror-before-the-medium", "TurboHash 4",
     "The DRAM mirror names the new array, and the old one is free, before the directory entry on the medium is durable.",
     "u64/power/threads",
     GROW,
     [("  [[maybe_unused]] durable done = publish(m_, directory(s), made.word, after(std::move(written)));  // COMMIT: the shard moves\n"
       "  switch_array(s, made);\n",
       "  switch_array(s, made);\n"
       "  [[maybe_unused]] durable done = publish(m_, directory(s), made.word, after(std::move(written)));\n")]),

    ("a-search-one-bucket-short", "TurboHash 5",
     "A record may be placed at the last distance, where no search looks.",
     "",
     FIND,
     [("  while (buckets < scope) {", "  while (buckets + (scope > 1) < scope) {")]),

    ("no-slot-kept-empty", "TurboHash 6",
     "All 14 slots of a bucket are filled, and a near-place update has nowhere to go.",
     "",
     FORMAT,
     [("inline constexpr int most_valid = slots_per_bucket - 1;", "inline constexpr int most_valid = slots_per_bucket;")]),

    ("readers-without-epochs", "TurboHash 7",
     "A reader holds a record that an update has retired, and the cell is filled anew under it.",
     "bytes/power/threads",
     LIFECYCLE,
     [("  using read_guard = std::conditional_t<Kind::in_slot, no_guard, epochs::guard>;", "  using read_guard = no_guard;")]),

    ("a-store-past-the-verbs", "the detector of plain stores",
     "A value is stored with a plain assignment, which no recording medium sees.",
     "",
     WRITE,
     [("  store(m_, at.value, value_word);\n", "  *at.value.raw() = value_word;\n")]),

    ("a-dead-process-s-root-and-directory", "found by the explorer",
     "Killed between a directory entry's store and its fence; a successor builds on the entry; a power cut undoes it under acknowledged writes.",
     "",
     RECOVER,
     [("  if (!p_.read_only()) {\n    [[maybe_unused]] durable as_it_is = fence(m_, p_.flush_header());\n  }\n", "")]),

    ("a-dead-process-s-shard", "found by the explorer",
     "Killed between a value's store and its fence; a successor's reader returns the value; a power cut undoes it.",
     "",
     RECOVER,
     [("  unsettled_.resize(shards(), !clean);", "  unsettled_.resize(shards(), false);")]),

    ("a-cell-freed-by-a-word-that-may-go", "found by the explorer",
     "A successor hands out the cell of a record that a visible, not durable word no longer names; a power cut brings the old word back.",
     "",
     RECOVER,
     [("  settle_inherited(s);\n  shard_view v = view(s);\n  std::int64_t count = 0;", "  shard_view v = view(s);\n  std::int64_t count = 0;")]),

    ("a-clean-root-with-a-new-end", "found by the explorer",
     "A pool that was closed, opened and shortened keeps a clean root, whose allocation state then lies outside: it does not open.",
     "",
     POOL,
     [("  if (!may_change()) return status::io_error;\n  std::scoped_lock lock(root_lock_);\n  root_record next = root_;\n  next.pool_bytes = end;",
       "  std::scoped_lock lock(root_lock_);\n  root_record next = root_;\n  next.pool_bytes = end;")]),

    ("cceh-recovery-mends-one-half", "CCEH 1",
     "Recovery makes the right half of a split whole and leaves the left half at its old depth.",
     "cceh/u64/power",
     CCEH_RECOVER,
     [("    entry_range all{l.where.begin, l.where.begin + l.where.count};\n    publish_entries(all, direction::leftward, [&](std::uint64_t i) { return i < all.middle() ? l.left : l.right; },",
       "    entry_range all{l.where.begin, l.where.begin + l.where.count};\n    if (l.left == l.right) continue;\n    publish_entries({all.middle(), all.end}, direction::leftward, [&](std::uint64_t) { return l.right; },")]),

    ("cceh-a-sibling-is-open-too-early", "CCEH 2",
     "The new right half is not locked: a write is acknowledged in it before its entry is durable, and a power cut takes the entry back.",
     "u64/power/threads",
     CCEH_GROW,
     [("  std::scoped_lock lock(stripes_[right_stripe].lock);     // of no segment so far: who holds it finds that out and lets it go\n", "")]),

    ("cceh-a-lock-in-the-pool", "CCEH 3",
     "A segment's lock lies in the pool, is persisted as locked, and held for ever.",
     "",
     CCEH_WRITE,
     [("    status answer = write_in(s, hash, key, decide, needs_room, wants_survey);\n",
       "    auto& in_pool = root_of_table().reserved[0];\n"
       "    while (load(m_, in_pool) == 1) {\n    }\n"
       "    store(m_, in_pool, 1);\n"
       "    status answer = write_in(s, hash, key, decide, needs_room, wants_survey);\n"
       "    store(m_, in_pool, 0);\n")]),

    ("cceh-a-directory-that-was-never-flushed", "CCEH 4",
     "A new directory is published, and its entries are not durable.",
     "",
     CCEH_GROW,
     [("  started += flush(m_, extent{entries, std::size_t{8} << depth});\n", "")]),

    ("cceh-recovery-skips-the-last-segment", "CCEH 5",
     "Recovery does not look at the last segment, whose space is then given to others.",
     "",
     CCEH_RECOVER,
     [("  for (leaf& l : leaves) {\n    std::string wrong;", "  for (leaf& l : leaves) {\n    if (&l == &leaves.back() && leaves.size() > 1) break;\n    std::string wrong;")]),

    ("cceh-the-left-half-first", "CCEH 6",
     "A copying split publishes its left half first.",
     "cceh/u64/power",
     CCEH_GROW,
     [("  publish_entries(all, direction::leftward, [&](std::uint64_t i) { return i < all.middle() ? left_entry : right_entry; }, after(std::move(written)));",
       "  publish_entries(all, direction::rightward, [&](std::uint64_t i) { return i < all.middle() ? left_entry : right_entry; }, after(std::move(written)));")]),

    ("cceh-a-removed-key-of-another-segment", "CCEH 8",
     "A removed record gets a key that looks as if it were another segment's.",
     "",
     CCEH_WRITE,
     [("  c.next = at.bucket_has_room ? empty_word : removed_word;  // C3\n", "  c.next = load(m_, at.found->key) ^ std::uint64_t{1} << 63;\n")]),

    ("cceh-a-merge-revives-what-is-stale", "CCEH 9",
     "A merge takes the left segment as it lies, with the copies that a split left there.",
     "in-place",
     CCEH_GROW,
     [("  std::vector<resident> all = residents(left), more = residents(right);\n",
       "  segment wide = left;\n"
       "  wide.entry = checked_place::of(left.offset(), left.depth() - 1);\n"
       "  std::vector<resident> all = residents(wide), more = residents(right);\n")]),

    ("cceh-the-key-before-the-value", "CCEH 10",
     "A new record's key is stored before its value: another record's value stands behind it.",
     "",
     CCEH_WRITE,
     [("  store(m_, at.room->value, value_word);\n  c.where = at.room;\n  c.word = &at.room->key;\n  c.next = key_word;\n",
       "  store(m_, at.room->key, key_word);\n  c.where = at.room;\n  c.word = &at.room->value;\n  c.next = value_word;\n")]),

    ("cceh-insert-takes-the-first-room", "CCEH 11",
     "A put takes the first slot that is free without looking for the key behind it.",
     "",
     CCEH_WRITE,
     [("    if (empty != 0) break;\n  }\n  return at;", "    if (empty != 0 || at.room != nullptr) break;\n  }\n  return at;")]),

    ("cceh-a-split-drops-what-does-not-fit", "CCEH 12",
     "A record that finds its new window full is left out of its half.",
     "",
     CCEH_GROW,
     [("    if (--left == 0) return false;\n", "    if (--left == 0) return true;\n")]),

    ("cceh-a-claimed-slot", "CCEH 13",
     "A slot is claimed with a word of its own before it is filled; a crash leaves the claim.",
     "",
     CCEH_WRITE,
     [("  store(m_, at.room->value, value_word);\n", "  store(m_, at.room->key, 0x5e17);\n  store(m_, at.room->value, value_word);\n")]),

    ("cceh-readers-without-epochs", "CCEH 14",
     "A reader follows a pointer into a segment, or to a record, whose space has been given to others.",
     "bytes/power/threads",
     LIFECYCLE,
     [("  using read_guard = std::conditional_t<Kind::in_slot, no_guard, epochs::guard>;", "  using read_guard = no_guard;")]),

    ("cceh-removals-leave-the-version", "the validated read that replaces the paper's reader lock",
     "A removal does not change the stripe's version: a slot that was lent to another key and given back fools a reader.",
     "u64/power/threads",
     CCEH_WRITE,
     [("  if (c.records < 0) outdate(c.stripe);\n", "")]),

    ("cceh-the-version-before-the-word", "found by the explorer",
     "A removal changes the version before the key word goes: a reader takes the new version, sees the old key, and the value of the one that gets the slot.",
     "u64/power/threads",
     CCEH_WRITE,
     [("  if (c.records < 0) outdate(c.stripe);\n", ""), ("  unsettled_.begin(c.stripe);\n  flushed started", "  if (c.records < 0) outdate(c.stripe);\n  unsettled_.begin(c.stripe);\n  flushed started")]),

    ("cceh-readers-give-away-what-is-not-durable", "all four, X1, in CCEH",
     "A lock-free reader returns a value whose word is visible but not durable; a power cut undoes it.",
     "u64/power/threads",
     CCEH_FIND,
     [("return unchanged(s) && unsettled_.settled(s.stripe); };", "return unchanged(s); };"), ("    settle_for_reader(s.stripe, w, buckets);\n", "")]),

    ("cceh-a-full-bucket-gets-an-empty-slot", "invariant C3",
     "A record removed from a full bucket leaves an empty slot, where searches for records behind it end.",
     "",
     CCEH_WRITE,
     [("  c.next = at.bucket_has_room ? empty_word : removed_word;  // C3\n", "  c.next = empty_word;\n")]),

    ("cceh-a-group-passes-what-it-has-just-filled", "found by the explorer",
     "A record of a group lies behind a bucket that the same group filled; after a crash the bucket has room, and searches end there.",
     "",
     CCEH_WRITE,
     [("  if (at.room_is_away && beside_others) [[unlikely]] {", "  if (false) {")]),

    ("level-a-record-stays-twice", "Level 1",
     "After a crash in a movement the record is there twice; recovery leaves it so, and removing one copy lets the other come back.",
     "level/u64/power",
     LEVEL_RECOVER,
     [("      if (copies_of(v, r) < 2) return;\n", "      return;\n")]),

    ("level-two-tokens-in-two-stores", "Level 2",
     "An update that writes beside the old item takes the old token away before it sets the new one.",
     "as in the paper",
     LEVEL_WRITE,
     [("  c.next = state.with_tokens((state.tokens() | 1u << other) & ~(1u << at.slot));\n",
       "  [[maybe_unused]] durable gone = publish(m_, *at.where.state, state.with_tokens(state.tokens() & ~(1u << at.slot)).word, after_nothing(\"planted\"));\n"
       "  c.next = state_of(at.where).with_tokens(state_of(at.where).tokens() | 1u << other);\n")]),

    ("level-an-item-behind-the-line", "Level 3",
     "An item that does not lie in its token's line is not made durable before the token.",
     "as in the paper",
     LEVEL_WRITE,
     [("  return beside_state(index) ? nullptr : &at;\n", "  return nullptr;\n"),
      ("  return after_same_line(c.where.state, &slot_of(c.where, c.filled), sizeof(slot));\n", "  return after_nothing(\"planted\");\n")]),

    ("level-the-level-goes-too-early", "Level 4",
     "A level's word is removed, and its space given to others, while its last bucket is still to be drained.",
     "",
     LEVEL_TABLE,
     [("return done.load(std::memory_order_acquire) == buckets();",
       "return done.load(std::memory_order_acquire) + 1 == buckets();")]),

    ("level-a-log-is-never-cleared", "Level 5",
     "The log of an update is left as it is: recovery undoes what came after it.",
     "as in the paper",
     LEVEL_WRITE,
     [("  [[maybe_unused]] durable cleared = publish(m_, d.logged_check, 0, after(std::move(replaced)));\n", "")]),

    ("level-only-the-first-item-is-looked-at", "Level 6",
     "Recovery looks for the copy of the first item alone of the bucket that was being drained.",
     "as in the paper",
     LEVEL_RECOVER,
     [("      if (copies_of(v, r) < 2) return;\n", "      if (r.slot != 0 || copies_of(v, r) < 2) return;\n")]),

    ("level-rehash-never-fails", "Level 7",
     "A record of the level that is drained finds no place, and goes with its level.",
     "",
     LEVEL_MOVE,
     [("    if (!move_out(d, index)) return false;\n", "    return true;\n")]),

    ("level-places-of-another-day", "Level 9",
     "The second hash has a seed that is not in the pool.",
     "",
     LEVEL_RECOVER,
     [("    std::uint64_t words[2] = {seeds_.flip, seeds_.multiply};\n",
       "    static std::uint64_t day = 0;\n    std::uint64_t words[2] = {seeds_.flip, n == 0 ? ++day : day};\n")]),

    ("level-readers-give-away-what-is-not-durable", "all four, X1, in Level hashing",
     "A lock-free reader returns a value whose word is visible but not durable; a power cut undoes it.",
     "u64/power/threads",
     LEVEL_FIND,
     [(" || !unsettled_.settled(stripe_of(v, s.place[0])) || !unsettled_.settled(stripe_of(v, s.place[1]))", ""),
      ("    settle_for_reader(v, s, seen);\n", "")]),

    ("level-a-filter-behind-the-token", "invariant L3",
     "The filter above is not durable when the token below is: after a crash no search gets there.",
     "u64/power",
     LEVEL_WRITE,
     [("  lines.above = above;\n", "")]),

    ("level-records-enter-what-is-drained", "invariant L6",
     "While the table shrinks, new records go to the level that is on its way out.",
     "",
     LEVEL_GROW,
     [("    made.first_open = drain_largest;\n", "")]),

    ("level-removed-before-its-copy-is-durable", "the movement's order",
     "A movement takes the token here away before the token there is durable.",
     "level/u64/power",
     LEVEL_MOVE,
     [("  durable twice = publish(m_, *there.state, state.with_tokens(state.tokens() | 1u << free).word, after(std::move(written)));\n",
       "  store(m_, *there.state, state.with_tokens(state.tokens() | 1u << free).word);\n  durable twice = std::move(written);\n")]),
    ("gphash-readers-give-away-what-is-not-durable", "all four, X1",
     "A lock-free reader returns a value whose commit word is visible but not durable; a power cut undoes it.",
     "u64/power/threads",
     GPHASH_FIND,
     [(" || !unsettled_.settled(stripe)) return probed::torn;", ") return probed::torn;"),
      ("    settle_for_reader(v, s);\n", "")]),
    ("gphash-claimed-slots-stay-claimed", "GPHash 3",
     "Recovery leaves slots as insertions had claimed them that the crash ended: nobody can have them any more.",
     "u64/power",
     GPHASH_RECOVER,
     [("    store(m_, *at.state, empty_state);\n", "")]),
    ("gphash-fingerprint-before-value", "GPHash 5",
     "The fingerprint of a small key is its key: published while the value is not durable, it shows the slot's old value.",
     "u64/power/as in the paper",
     GPHASH_WRITE,
     [("c.value_apart ? flush(m_, extent_of(*c.where.value)) : flushed()", "flushed()")]),
    ("gphash-fingerprint-before-key", "invariant G2",
     "The fingerprint is published while the key is not durable: it shows the key that the slot had before, or what of the new one was written back.",
     "bytes/power/with keys in the buckets",
     GPHASH_WRITE,
     [("    if (c.inserts) started += flush_key(c.where);\n", "    if (false) started += flush_key(c.where);\n")]),
    ("gphash-readers-do-not-look-again-behind-the-key", "GPHash 7",
     "A reader that has compared the key takes the value of another one, to which the slot was given meanwhile.",
     "with keys in the buckets/threads",
     GPHASH_FIND,
     [("    if (!same || stripes_[stripe].version.load(std::memory_order_acquire) != version || &levels() != &v) continue;\n",
       "    if (&levels() != &v) continue;\n")]),
    ("gphash-a-copy-opens-before-its-writers-know", "invariant B3",
     "A bucket's copy opens while a writer that found none is still at work: searches go on finding the value that it overwrites.",
     "with copies/threads",
     GPHASH_CACHE,
     [("    if (!filled.empty()) writers_passed();", "    if (false) writers_passed();")]),
    ("gphash-a-copy-is-not-told", "invariant B2",
     "A write changes the pool, and not the bucket's copy.",
     "with copies",
     GPHASH_WRITE,
     [("  if (copy) copy->store(slot, load(m_, *c.where.state), load(m_, *c.where.value));\n", "")]),
    ("level-a-movement-outruns-the-count", "beside the count after a crash",
     "A movement carries a record from a stripe that is not counted yet into one that is: its cell is never made known, and goes to the next put.",
     "bytes/power/threads",
     LEVEL_MOVE,
     [("    for (stripe_index stripe : {there_stripe, from_stripe}) count_once(stripe, [&] { count_stripe(v, stripe); });\n", "    static_cast<void>(0);\n")]),
    ("cceh-a-merge-outruns-the-count", "beside the count after a crash",
     "A merge beside the count carries records of one stripe to another: they are counted twice, or never.",
     "bytes/power/threads",
     CCEH_GROW,
     [("  if (left.stripe != right.stripe)  // records of one go to the other\n"
       "    for (stripe_index stripe : {left.stripe, right.stripe})\n"
       "      count_once(stripe, [&] { count_stripe(stripe); });\n", "")]),
    ("gphash-two-writers-of-one-key", "GPHash 8",
     "Writers of one key do not take turns, though growth still waits for all of them: two insertions each find it absent, and both are acknowledged.",
     "two levels/threads",
     GPHASH_TABLE,
     [("  zeroed_array<spin_lock> locks_;\n",
       "  struct locks_by_thread : zeroed_array<spin_lock> {\n"
       "    locks_by_thread& operator=(zeroed_array<spin_lock>&& all) { return zeroed_array<spin_lock>::operator=(std::move(all)), *this; }\n"
       "    spin_lock& operator[](std::size_t stripe) const {\n"
       "      static std::atomic<unsigned> threads{0};\n"
       "      thread_local unsigned mine = threads++ & 1;\n"
       "      return zeroed_array<spin_lock>::operator[](stripe ^ mine);\n"
       "    }\n"
       "  };\n"
       "  locks_by_thread locks_;\n")]),
    ("gpu-nothing-orders-value-and-fingerprint", "GPHash 5",
     "A kernel stores the value and the fingerprint with no fence between: the process dies when one of them has reached memory.",
     "a device that dies in a kernel",
     GPU_OPERATIONS,
     [("    status answer = stage(key, decide, c);\n    side_.order();\n", "    status answer = stage(key, decide, c);\n")]),
    ("gpu-two-warps-write-one-key", "GPHash 4",
     "Writes of one key do not take turns: two warps each find it absent, and both insert it.",
     "by a device",
     GPU_OPERATIONS,
     [("    side_.take(hash);\n", ""), ("    side_.give(hash);\n    records", "    records")]),
    ("gpu-a-slot-is-lent-while-it-is-read", "GPHash 4",
     "Removals do not change their stripe's version: a reader takes the value of another key that got the slot meanwhile for its own.",
     "by a device/threads",
     GPU_OPERATIONS,
     [("    if (wanted.act == act::remove) {\n      side_.outdate(s.hash);\n", "    if (wanted.act == act::remove) {\n"),
      ("    side_.outdate(s.hash);\n    if (at = claim(s)", "    if (at = claim(s)")]),
    ("gpu-a-new-level-shows-what-was-there", "GPHash 2",
     "The kernel that writes a new level leaves its empty slots as they are: in memory that was used before, removed keys come back.",
     "by a device",
     GPU_OPERATIONS,
     [("          side_.store(to[lane], gphash::empty_state);\n", "")]),
    ("gpu-a-copy-opens-before-its-writers-know", "invariant B3",
     "A bucket's copy in the device's memory opens while a writer that found none is still at work: searches go on finding the value that it overwrites.",
     "by a device, with copies/threads",
     GPU_CACHE,
     [("tasks == 0 ? error{status::ok, {}} : device_.wait_for_all(); e.code", "error{status::ok, {}}; e.code")]),
    ("gpu-a-copy-is-not-told", "invariant B2",
     "A write of the device changes the pool, and not the bucket's copy.",
     "by a device, with copies",
     GPU_COPIES,
     [("    side_.own_store(words[at], next);\n", "")]),
    ("gpu-copies-are-not-looked-at-again", "invariant B1",
     "A search believes a copy that a write has changed meanwhile.",
     "by a device, with copies/threads",
     GPU_OPERATIONS,
     [("    if (changed != 0 || side_.version(s.hash) != version) return std::nullopt;\n", "    static_cast<void>(changed), static_cast<void>(version);\n")]),
    ("gpu-a-mirror-shows-values-before-they-are-stored", "invariant G2",
     "A commit stores the fingerprints of a mirror's insertions in the pool without waiting for their values.",
     "in its own memory",
     GPU_SPLIT,
     [("payloads += flush(m, extent_of(home));", "static_cast<void>(home);")]),
]
