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
     HEAP,
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
     TABLE,
     [("  using read_guard = std::conditional_t<Kind::in_slot, no_guard, epoch_guard>;", "  using read_guard = no_guard;")]),

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
     [("  about_to_change();\n  std::scoped_lock lock(root_lock_);\n  root_record next = root_;\n  next.pool_bytes = end;",
       "  std::scoped_lock lock(root_lock_);\n  root_record next = root_;\n  next.pool_bytes = end;")]),
]
