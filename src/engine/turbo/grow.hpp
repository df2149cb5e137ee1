// TurboHash: shard resizing (paper §3.5, §4.7), garbage collection of deleted slots (§4.6),
// compaction.
//
// One rebuild of a shard, under its lock, readers going on in the old array:
//   1  live records laid out anew in DRAM, in the order of the old array        no memory: nothing
//      has changed
//   2  the new array allocated, written in address order, flushed, fenced
//      crash: unreachable, hence free
//   3  COMMIT: the directory entry published
//      crash before: old array; after: new array, same records
//   4  the mirror switched, the old array retired
//      crash: the old array is unreachable, hence free
#pragma once

#include "engine/turbo/table.hpp"

namespace durahash::turbo {

/// The scope of some key in this shard was full. At first deleted slots may be to blame: a shard
/// that is less than half alive is rebuilt at its size.
template <medium M, class Kind>
status table<M, Kind>::make_room(unit_type full, target_type, int round) {
  shard_index s = full.shard;
  std::scoped_lock lock(states_[s].lock);
  shard_view v = view(s);
  if (v != full.view) return status::ok;  // others were faster
  if (!p_.may_change()) return status::io_error;
  if (v.none()) return rebuild(s, first_log2_);
  if (v.log2_buckets() >= max_log2_buckets) return status::no_space;
  bool sparse = round == 0 && live_records(s)->size() * 2 < v.buckets() * slots_per_bucket;
  ++(sparse ? collections_ : resizes_);
  return rebuild(s, v.log2_buckets() + (sparse ? 0 : 1));
}

template <medium M, class Kind>
status table<M, Kind>::rebuild(shard_index s, unsigned log2_buckets) {
  auto records = live_records(s);
  durahash::check(records.has_value(), "a shard does not change under its lock");
  return rebuild_from(s, *records, log2_buckets);
}

template <medium M, class Kind>
status table<M, Kind>::rebuild_from(shard_index s, const std::vector<live_record>& records,
                                    unsigned log2_buckets) {
  thread_local std::vector<std::uint64_t> image;
  while (!lay_out(records, log2_buckets, image))  // ends: twice the buckets, half the load
    if (++log2_buckets > max_log2_buckets) return status::no_space;
  auto array = allocate_loose(heap_, array_bytes(log2_buckets));
  if (!array) return status::no_space;
  flushed started;
  write_image(p_.at(poff<bucket>{array->offset()}), image, started);
  durable written = fence(m_, std::move(started), "turbo.array.words");
  directory_entry made = directory_entry::of(array->keep(), log2_buckets);
  durahash::check(made.sound(), "a directory entry is one that recovery believes");
  bool switched_early = M::planted("the-mirror-before-the-medium");
  if (switched_early) switch_array(s, made);
  // COMMIT: the shard moves
  [[maybe_unused]] durable done =
      publish(m_, directory(s), made.word, after(std::move(written)), "turbo.array.commit");
  if (!switched_early) switch_array(s, made);
  return status::ok;
}

/// `image` receives the array, 32 words to a bucket. Returns false when some record finds its scope
/// full.
template <medium M, class Kind>
bool table<M, Kind>::lay_out(const std::vector<live_record>& records, unsigned log2_buckets,
                             std::vector<std::uint64_t>& image) const {
  constexpr std::size_t words = sizeof(bucket) / 8;
  std::uint64_t buckets = std::uint64_t{1} << log2_buckets;
  std::uint64_t scope = std::min<std::uint64_t>(scope_, buckets);
  image.assign(buckets * words, 0);
  for (const live_record& r : records) {
    std::uint64_t home = home_of(r.hash, log2_buckets), distance = 0;
    std::uint64_t* at;
    do {
      if (distance == scope) return false;
      at = &image[((home + distance++) & (buckets - 1)) * words];
    } while (!meta_word{at[0]}.ends_path());
    int free_slot = std::countr_zero(meta_word{at[0]}.empty());
    durahash::check(free_slot < max_valid, "a bucket that ends paths has two empty slots (T2)");
    at[0] = meta_word{at[0]}.with_filled(free_slot).bits;
    at[1 + free_slot / 8] |= std::uint64_t{tag_of(r.hash)} << (free_slot % 8 * 8);
    at[4 + free_slot * 2] = r.key_word;
    at[5 + free_slot * 2] = r.value_word;
  }
  return true;
}

/// Lines without a live slot keep what they hold: nothing reads them.
template <medium M, class Kind>
void table<M, Kind>::write_image(bucket* at, const std::vector<std::uint64_t>& image,
                                 flushed& started) {
  constexpr std::size_t words = sizeof(bucket) / 8, words_per_line = line_bytes / 8;
  auto* target = reinterpret_cast<pm<std::uint64_t>*>(at);
  for (std::size_t base = 0; base < image.size(); base += words) {
    int filled = std::popcount(meta_word{image[base]}.valid());  // the slots were filled in order
    std::size_t end = base + align_up(4 + static_cast<std::size_t>(filled) * 2, words_per_line);
    for (std::size_t word = base; word < end; ++word) store(m_, target[word], image[word]);
    started += flush(m_, extent{&target[base], (end - base) * 8}, "turbo.array.image");
  }
}

/// For a shard without a record.
template <medium M, class Kind>
void table<M, Kind>::drop_array(shard_index s) {
  // COMMIT: the array goes
  [[maybe_unused]] durable done = publish(
      m_, directory(s), 0, after_nothing("an empty shard has no array"), "turbo.array.drop");
  switch_array(s, directory_entry{});
}

template <medium M, class Kind>
void table<M, Kind>::switch_array(shard_index s, directory_entry made) {
  shard_view old = view(s);
  mirrors_[s].store(shard_view::of(made, old.generation() + 1).word, std::memory_order_release);
  if (old.none()) return;
  if constexpr (Kind::in_slot)
    heap_.free(old.offset(), old.bytes());  // readers notice by the mirror; the bytes stay mapped
  else heap_.retire(old.offset(), old.bytes());
}

// ----------------------------------------------------------------------------------- deleted slots

/// After an insert walked far: are deleted slots to blame? Then the shard is rebuilt at its size
/// (§4.6).
template <medium M, class Kind>
void table<M, Kind>::survey(shard_index s) {
  shard_state& state = states_[s];
  state.wants_survey = false;
  if (state.inserts_until_survey > 0) {
    --state.inserts_until_survey;
    return;
  }
  shard_view v = view(s);
  std::uint64_t deleted = 0;
  for (std::uint64_t index = 0; index < v.buckets(); ++index)
    deleted += static_cast<unsigned>(std::popcount(load(m_, buckets_of(v)[index].meta).deleted()));
  constexpr std::uint64_t share = 8;  // an eighth of the slots
  if (deleted * share >= v.buckets() * slots_per_bucket &&
      rebuild(s, v.log2_buckets()) == status::ok)
    ++collections_;
  // so that a survey costs each insert about a line
  state.inserts_until_survey = static_cast<std::uint32_t>(view(s).buckets());
}

// ---------------------------------------------------------------------------------- size on demand

/// The smallest array that holds so many records at a load factor of at most 0.7, where few scopes
/// are full.
template <medium M, class Kind>
unsigned table<M, Kind>::log2_for(std::uint64_t records_in_shard) const noexcept {
  constexpr std::uint64_t tenths = 7;
  return std::min(max_log2_buckets,
                  log2_ceiling((records_in_shard * 10 + slots_per_bucket * tenths - 1) /
                               (slots_per_bucket * tenths)));
}

template <medium M, class Kind>
status table<M, Kind>::make_room_for(std::uint64_t records) {
  unsigned log2 = log2_for(records >> shard_bits_);
  std::uint64_t needed = array_bytes(log2) << shard_bits_, present = 0;
  for (shard_index s = 0; s < shards(); ++s) present += view(s).bytes();
  if (needed > present)
    if (status s = p_.reserve(needed - present); s != status::ok) return s;
  for (shard_index s = 0; s < shards(); ++s) {
    std::scoped_lock lock(states_[s].lock);
    shard_view v = view(s);
    if (!v.none() && v.log2_buckets() >= log2) continue;
    if (!p_.may_change()) return status::io_error;
    if (status made = rebuild(s, log2); made != status::ok) return made;
  }
  return status::ok;
}

template <medium M, class Kind>
status table<M, Kind>::shrink_to_fit() {
  for (shard_index s = 0; s < shards(); ++s) {
    std::scoped_lock lock(states_[s].lock);
    shard_view v = view(s);
    if (v.none()) continue;
    if (!p_.may_change()) return status::io_error;
    std::uint64_t live = live_records(s)->size();
    if (live == 0) {
      drop_array(s);
      continue;
    }
    if (status made = rebuild(s, std::min(v.log2_buckets(), log2_for(live))); made != status::ok)
      return made;
  }
  return status::ok;
}

/// Those that were rebuilt while the front was still full.
template <medium M, class Kind>
status table<M, Kind>::move_arrays_down() {
  for (shard_index s = 0; s < shards(); ++s) {
    std::scoped_lock lock(states_[s].lock);
    shard_view v = view(s);
    if (v.none() || v.offset() < this->live_bytes() ||
        !heap_.has_room_before(v.offset(), v.bytes()))
      continue;
    if (!p_.may_change()) return status::io_error;
    if (status made = rebuild(s, v.log2_buckets()); made != status::ok) return made;
  }
  return status::ok;
}

template <medium M, class Kind>
template <class Visit>
void table<M, Kind>::for_each_locked(Visit&& visit) {
  for (shard_index s = 0; s < shards(); ++s) {
    std::scoped_lock lock(states_[s].lock);
    settle(s);
    for_each_resident(view(s), visit);
  }
}

/// Near-place, as every update of a record.
template <medium M, class Kind>
status table<M, Kind>::replace_value(const resident& r, std::uint64_t value_word, flushed started) {
  lookup at;
  at.holder = r.where, at.slot = r.slot, at.meta = load(m_, r.where->meta);
  if (!at.meta.well_formed()) return status::damaged;
  change c;
  c.shard = shard_of(r.hash);
  stage_update(at, r.hash, r.key_word, value_word, c, started);
  frame::commit(c, std::move(started));
  return status::ok;
}

}  // namespace durahash::turbo
