#include "engine/turbo/beside.hpp"
#include "engine/turbo/table.hpp"
#include "explorer/engine_subject.hpp"
#include "explorer/subjects.hpp"

namespace durahash::crash {
namespace {

/// One of two shards becomes empty, and compaction writes the other one's array where the empty
/// one's was: who names that place must have gone by then.
threaded_program one_array_in_the_others_place() {
  constexpr key_number keys = 8;  // arrays of one bucket each
  threaded_program made{{{}, keys}, {{}}};
  operation leave{act::erase_many, {}, 0};
  for (key_number k = 0; k < keys; ++k) {
    made.first.operations.push_back({act::put, {k}, 100u + k});
    if (word_hash(word_key(k), explored_seeds) >> 63 == 0) leave.keys.push_back(k);
  }
  made.threads.front() = {leave, {act::compact, {}, 0}};
  return made;
}

/// A key is found, or not, by a process of its own, while an update moves it within its bucket.
threaded_program moved_in_its_bucket_while_read() {
  operation first{act::put, {4}, 1}, update{act::update, {4}, 2}, leave{act::erase, {4}, 0},
      other{act::put, {5}, 13}, seek{act::get_beside, {4}, 0};
  return {{{first}, 6}, {{seek, seek}, {update, leave, other}}};
}

/// A shard's array goes, and what it was is used anew, while a process of its own reads.
threaded_program grown_while_read() {
  constexpr key_number crowd = 13, more = 20;
  threaded_program made{{{}, crowd + more},
                        {{{act::get_beside, {3}, 0}, {act::scan_beside, {}, 0}}, {}}};
  for (key_number k = 0; k < crowd; ++k) made.first.operations.push_back({act::put, {k}, 100u + k});
  for (key_number k = crowd; k < crowd + more; ++k)
    made.threads.back().push_back({act::insert, {k}, 600u + k});
  return made;
}

/// Shards that were split, more than go into one slab, become empty but for a few keys.
threaded_program emptied_shards(std::vector<std::vector<operation>> threads) {
  constexpr key_number keys = 1500, kept = 3, batch = 50;
  threaded_program made{{{}, keys}, std::move(threads)};
  for (act what : {act::put_many, act::erase_many})
    for (key_number k = 0; k < keys; ++k) {
      if (k % batch == 0) made.first.operations.push_back({what, {}, 100u + k});
      if (what == act::put_many || k >= kept) made.first.operations.back().keys.push_back(k);
    }
  return made;
}

/// Compaction moves their pairs, and their halves are used again.
threaded_program pairs_that_move() {
  return emptied_shards({{{act::compact, {}, 0}, {act::put, {3}, 7}, {act::put, {4}, 8}}});
}

/// The same, while a process of its own reads.
threaded_program pairs_that_move_while_read() {
  return emptied_shards({{{act::get_beside, {1}, 0}, {act::get_beside, {2}, 0}},
                         {{act::compact, {}, 0}, {act::put, {4}, 8}}});
}

}  // namespace

explored_engine turbo_subject() {
  return {engine_kind::turbo,
          make_any<turbo::table, turbo::beside>,
          {with_readers({"",
                         {{"shards", 2}, {"collect_distance", 1}},
                         {},
                         durability_level::power,
                         0,
                         {one_array_in_the_others_place()}},
                        {moved_in_its_bucket_while_read(), grown_while_read()}),
           {"near-place", {{"shards", 2}, {"in_place", 0}}, data_kind::u64},
           with_readers({"narrow", {{"shards", 2}, {"scope", 2}}}),
           with_readers({"split",
                         {{"shards", 2}, {"shard_buckets", 1}},
                         {},
                         durability_level::power,
                         0,
                         {pairs_that_move()}},
                        {grown_while_read(), pairs_that_move_while_read()})}};
}

}  // namespace durahash::crash
