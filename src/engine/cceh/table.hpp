// CCEH (FAST'19): the table, its parts and their invariants. docs/explanation/engines/cceh.md tells
// the whole.
//
// A directory on the most significant bits of the hash, of 2^global_depth entries; a segment of
// local depth L stands in 2^(global_depth - L) of them, side by side; a segment is an array of
// 64-byte buckets, probed linearly from the home bucket over at most `probe` buckets.
//
//   C1  The directory is a buddy tree: the entries that share the first L bits of a segment of
//       depth L all name it, with L; or one split, merge or move is under way there, and recovery
//       rolls it forward.
//   C2  A key's record lies in the segment that the directory names for its hash, in the window of
//       its home bucket, and no bucket before it there has an empty slot, on the medium neither. A
//       record there whose hash has another prefix is stale: a split moved it, nobody reads it, its
//       slot is free.
//   C3  A bucket without an empty slot never has one again in this segment: a removed record leaves
//       `removed`.
//   C4  What a slot holds was durable, or is a part of its line before it, when its key word was
//       stored.
//   C5  A segment's words, and entries that name it, change only under its stripe's lock, entries
//       under the directory's too; readers take none.
//   C6  What takes a record away from where it was found (a removal, a split, a merge, a move)
//       changes the stripe's version, after the word that takes it away is stored, and before
//       anything else is stored in its place.
//   C7  What a reader is given is durable: as TurboHash's T6, by stripe.
#pragma once

#include <atomic>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/cceh/directory.hpp"
#include "engine/cceh/operation.hpp"
#include "engine/cceh/segment_reader.hpp"
#include "engine/cceh/segments.hpp"
#include "engine/concept.hpp"
#include "engine/frame/frame.hpp"
#include "engine/frame/live_record.hpp"

namespace durahash::cceh {

template <medium M, class Kind>
class table : public engine_frame<M, Kind, table<M, Kind>> {
  using frame = engine_frame<M, Kind, table<M, Kind>>;
  friend frame;
  friend lifecycle<M, Kind, table<M, Kind>>;

 public:
  using kind = Kind;
  using key_type = typename Kind::key_type;
  using value_type = typename Kind::value_type;

  /// Resolves the options of a new pool. Settings: probe, copy_on_write, segment
  /// (docs/explanation/engines/cceh.md).
  static result<engine_plan> plan(const options& how);

  /// On a pool that `plan` was made for. Recovers the directory; `open` says what is wrong with it.
  explicit table(pool<M>& p);
  ~table() { background_.stop(); }
  /// With `dropped`, what does not verify is dropped and told there; without, it refuses the open
  /// or is left to check().
  error open(const std::string& path, std::vector<std::string>* dropped = nullptr);

  // find.hpp
  template <class Read>
  status get(key_type key, Read read);  // a reader is a pointer or two

  // open.hpp
  std::uint64_t size() {
    await_count();
    return segments_.stripes().sum_of_records(records_at_open_);
  }
  std::uint64_t slots();
  void lock_all();  // keeps writers out
  void unlock_all();

  // check.hpp
  void describe(table_stats& stats) { measurement(*this).tell(stats); }

  // describe.hpp
  /// The buckets that a search looks at.
  void each_candidate(key_type key, part_visitor& v) { describer(*this, v).each_candidate(key); }

 private:
  // made for a call
  class builder;
  class checker;
  class describer;
  class growth;
  class measurement;
  class merger;
  class recovery;
  class rewriter;
  class salvager;
  class surveyor;

  using frame::background_, frame::reading, frame::await_count, frame::count_once;
  using frame::p_, frame::m_, frame::heap_, frame::seeds_, frame::records_at_open_;
  using read_guard = typename frame::read_guard;
  using segments_type = segments<M, Kind>;
  using stripes = stripe_states<M>;
  using change = cceh::change<Kind>;
  using target_type = target;
  using unit_type = segment;
  using home_type = stripe_state*;  // locked
  using look_type = target;
  using group = cceh::group<Kind>;
  using stretch = plain_stretch<false>;  // a removal changes the version

  // find.hpp
  void look_at(std::span<const key_type> keys, target* looks) const noexcept;
  void ask_for_records(std::span<const target> targets) const noexcept;
  template <class Read, class Home>
  status answer_at(Home home, const target& t, key_type key, Read read);
  template <class Read>
  status answer(const target& t, key_type key, Read read);
  status search_long(key_type key, any_reader<value_type> read);
  probed probe(const window& w, key_type key, std::optional<value_type>& value,
               unsigned& buckets) const;

  // iteration.hpp
  std::optional<std::uint64_t> read_stretch(std::uint64_t position, stretch& found);

  // write.hpp
  target target_of(key_type key) const noexcept;
  segment lock_unit(const target& t, key_type key);
  home_type lock_home(const target& t) const noexcept;
  static held_lock held_by(home_type locked) noexcept { return held_lock(locked->lock); }
  bool is_settled(home_type locked, const target& t) const noexcept;
  template <class Decide>
  staged stage_home(home_type locked, const target& t, key_type key, Decide& decide, change& c,
                    status& answer, flushed& started);
  template <class Decide, class WordOf>
  staged stage_at_home(home_type locked, const target& t, key_type key, Decide& decide, change& c,
                       status& answer, WordOf word_of);
  held_lock held_by(const segment& s) const noexcept { return held_lock(segments_.lock_of(s)); }
  void settle(const segment& s) { segments_.settle_inherited(s.stripe); }
  lookup walk(const segment& s, const window& w, key_type key) const;
  template <class Decide>
  staged stage(const segment& s, const target& t, key_type key, Decide& decide, change& c,
               status& answer, flushed& started);
  ordered payload_order(const change& c) const;
  flushed publish_change(const change& c, ordered payload);
  durable fence_payloads(flushed started) {
    return fence(m_, std::move(started), "cceh.write.payload");
  }
  void begin(const change& c) noexcept { segments_.marks().begin(c.stripe->mark); }
  durable fence_words(flushed started) { return fence(m_, std::move(started), "cceh.write.done"); }
  status finish_write(const target& t, const change& c, status answer);
  void end(change& c, const durable& done);

  // group.hpp
  void look_ahead(std::span<const key_type> keys, target* targets, bool puts) const noexcept;
  bool try_lock_for(const target& t, key_type key, bool& as_named_before);
  std::size_t lock_group(std::span<const key_type> keys, const target* targets, group& g);
  template <class DecideOf>
  void begin_group(group& g, std::span<const key_type> keys, DecideOf& decide_of);
  template <class Decide>
  staged stage_in_group(std::size_t n, const target& t, key_type key, Decide& decide, group& g,
                        status& answer);
  template <class Decide>
  staged stage_long(std::size_t n, const target& t, key_type key, Decide& decide, group& g,
                    status& answer);
  void publish_next(group& g);
  void commit_group(group& g);
  void finish_group(group& g, std::size_t taken);

  // grow.hpp, survey.hpp
  status make_room(const segment& full, const target& t, int) {
    return growth(*this).make_room(full, t.hash);
  }
  status make_room_for(std::uint64_t records) { return growth(*this).make_room_for(records); }
  void survey(const change& c) { surveyor(*this, segments_.stripes().index_of(c.stripe)).survey(); }

  // compact.hpp
  status shrink_to_fit();
  status move_arrays_down();
  template <class Visit>
  void for_each_locked(Visit&& visit);
  status replace_value(const resident& r, std::uint64_t value_word, flushed started);

  // open.hpp
  bool count_units(const background* asking);
  void count_stripe(stripe_index stripe);

  // check.hpp
  std::uint64_t check_units(violations& violated, std::uint64_t& reached_bytes) {
    return checker(*this, violated, reached_bytes).check();
  }

  // describe.hpp
  void each_part_of_table(part_visitor& v) { describer(*this, v).each_part(); }

  segments_type segments_;
  segment_reader<M, Kind> reader_;
  directory<M, Kind> directory_;
  unsigned first_depth_;
  bool copy_on_write_;
  std::atomic<std::uint64_t> splits_{0}, rewrites_{0}, merges_{0};
};

}  // namespace durahash::cceh

#include "engine/cceh/check.hpp"
#include "engine/cceh/compact.hpp"
#include "engine/cceh/describe.hpp"
#include "engine/cceh/find.hpp"
#include "engine/cceh/group.hpp"
#include "engine/cceh/grow.hpp"
#include "engine/cceh/iteration.hpp"
#include "engine/cceh/open.hpp"
#include "engine/cceh/survey.hpp"
#include "engine/cceh/write.hpp"
