// GPHash: size on demand: levels that are built anew from all records, and levels that move to the
// front of the pool. Everybody is kept out, and no level is coming (grow.hpp).
#pragma once

#include "engine/gphash/table.hpp"

namespace durahash::gphash {

template <medium M, class Kind>
auto table<M, Kind>::all_records(std::span<const level_view> in) const
    -> std::vector<found_record> {
  std::vector<found_record> all;
  for (const level_view& l : in)
    for (std::uint64_t index = 0; index < l.buckets(); ++index)
      for_each_resident(bucket_at(l, index), [&](const resident& r) { all.push_back(r); });
  return all;
}

/// Returns false when some record finds no room.
template <medium M, class Kind>
bool table<M, Kind>::lay_out(const std::vector<found_record>& records, unsigned top,
                             image& made) const {
  std::size_t words_per_bucket = shape_.bucket_words();
  made.top = top;
  for (unsigned l = 0; l < shape_.levels; ++l)
    made.words[l].assign(words_per_bucket << (top - l), empty_state);
  for (const found_record& r : records) {
    candidates s = candidates_of(r.hash);
    std::uint64_t* roomiest = nullptr;
    std::ptrdiff_t most = 0;
    for (unsigned l = 0; l < shape_.levels; ++l)
      for (unsigned which = 0; which < shape_.hashes; ++which) {
        std::uint64_t* bucket_words =
            &made.words[l][(s.place[which] >> (64 - (top - l))) * words_per_bucket];
        std::ptrdiff_t empty = std::count(bucket_words, bucket_words + shape_.slots, empty_state);
        if (empty <= most) continue;
        most = empty;
        roomiest = bucket_words;
      }
    if (roomiest == nullptr) return false;
    write_slot(
        roomiest,
        static_cast<unsigned>(std::find(roomiest, roomiest + shape_.slots, empty_state) - roomiest),
        r);
  }
  return true;
}

/// New levels, of at least that size, for these records, in place of what there is. Nobody else
/// writes. crash before the geometry is published: what was there stays, and the new levels are
/// unreachable, hence free.
template <medium M, class Kind>
status table<M, Kind>::build(const std::vector<found_record>& records, unsigned top) {
  image made;
  for (; top < level_sizes && !lay_out(records, top, made); ++top)
    if (growth_is_vain(shape_, top, records.size())) return status::no_space;
  if (top >= level_sizes) return status::no_space;
  const levels_view* before = levels_.load(std::memory_order_relaxed);
  unsigned other_bank = bank() ^ 1;  // of what the root names now, whole or damaged
  std::vector<loose_cell<M>> places;
  std::vector<level_view> now;
  places.reserve(shape_.levels);
  for (unsigned l = 0; l < shape_.levels; ++l) {
    auto place = allocate_loose(heap_, shape_.level_bytes(top - l));
    if (!place) return status::no_space;
    places.push_back(std::move(*place));
    now.push_back(view_of(places.back().offset(), top - l));
  }
  const levels_view& planned = plan_levels(now);
  if (!p_.may_change()) return status::io_error;
  flushed started;
  for (unsigned l = 0; l < shape_.levels; ++l) {
    started += write_words(now[l].first, made.words[l]);
    store(m_, level_word(other_bank, top - l), checked_place::of(places[l].keep(), top - l).word);
    started += flush(m_, extent_of(level_word(other_bank, top - l)), "gphash.build.places");
  }
  durable written = fence(m_, std::move(started), "gphash.build.levels");
  // COMMIT
  [[maybe_unused]] durable done =
      publish(m_, root_of_table().geometry, geometry::of(top + 1 - shape_.levels, other_bank).word,
              after(std::move(written)), "gphash.build.commit");
  switch_levels(planned);
  if (before != nullptr)
    for (const level_view& l : before->all()) give_back(l);
  return status::ok;
}

template <medium M, class Kind>
status table<M, Kind>::make_room_for(std::uint64_t records) {
  unsigned top = top_for(records, shape_);
  await_count();
  std::uint64_t bytes = 0;
  for (unsigned l = 0; l < shape_.levels; ++l) bytes += shape_.level_bytes(top - l);
  if (top <= top_log2()) return status::ok;
  if (status s = p_.reserve(bytes); s != status::ok) return s;
  levels_held held(*this);
  return top <= top_log2() ? status::ok : build(all_records(levels().all()), top);
}

template <medium M, class Kind>
status table<M, Kind>::shrink_to_fit() {
  levels_held held(*this);
  std::vector<found_record> all = all_records(levels().all());
  unsigned least = min_bottom + shape_.levels - 1;
  while (least < top_log2() && slots_of(shape_, least) < all.size()) ++least;
  image fits;
  while (least < top_log2() && !lay_out(all, least, fits)) ++least;
  return least < top_log2() ? build(all, least) : status::ok;
}

template <medium M, class Kind>
status table<M, Kind>::move_arrays_down() {
  levels_held held(*this);
  for (unsigned l = 0; l < shape_.levels; ++l) move_level_down(levels().at[l]);
  return status::ok;
}

/// Writes the level anew if there is room in front of it. COMMIT: its word in the root.
template <medium M, class Kind>
void table<M, Kind>::move_level_down(const level_view& l) {
  const levels_view& v = levels();
  if (!heap_.has_room_before(l.offset, shape_.level_bytes(l.log2))) return;
  auto place = allocate_loose(heap_, shape_.level_bytes(l.log2));
  if (!place) return;
  level_view made = view_of(place->offset(), l.log2), gone = l;
  std::vector<level_view> now(v.at, v.at + v.count);
  for (level_view& each : now)
    if (each.log2 == made.log2) each = made;
  const levels_view& planned = plan_levels(now);
  std::vector<std::uint64_t> words(shape_.bucket_words());
  if (!p_.may_change()) return;
  flushed started;
  for (std::uint64_t index = 0; index < l.buckets(); ++index) {
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = load(m_, bucket_at(l, index)[i]);
    started += write_words(bucket_at(made, index), words);
  }
  durable written = fence(m_, std::move(started), "gphash.compact.level");
  [[maybe_unused]] durable done =
      publish(m_, level_word(bank(), l.log2), checked_place::of(place->keep(), l.log2).word,
              after(std::move(written)), "gphash.compact.commit");
  switch_levels(planned);
  give_back(gone);
}

template <medium M, class Kind>
template <class Visit>
void table<M, Kind>::for_each_locked(Visit&& visit) {
  everybody_kept_out alone(*this);
  for (const level_view& l : levels().all())
    for (std::uint64_t index = 0; index < l.buckets(); ++index)
      for_each_resident(bucket_at(l, index), visit);
}

template <medium M, class Kind>
status table<M, Kind>::replace_value(const resident& r, std::uint64_t value_word, flushed started) {
  change c;
  c.stripe = &state_of(levels(), r.hash);
  c.where = r.where;
  c.word = r.where.value;
  c.next = value_word;
  c.apart = true;
  frame::replaces(load(m_, *r.where.value), c);
  frame::commit(c, std::move(started));
  return status::ok;
}

}  // namespace durahash::gphash
