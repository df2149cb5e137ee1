// GPHash: growth (paper §3.2.3, "Resizing"), and size on demand.
//
// Growth, with all stripes held; readers go on in the old levels:
//   1  a level of twice the top's size written, with a copy of each record of the bottom level at
//      the place that led there; its word in the root stored; flushed, fenced
//        crash: unreachable, hence free
//   2  COMMIT: the geometry word: the levels begin one higher
//      crash before: old state; after: new state
//   3  the old bottom level is free
//
// A bucket of the new level gets records of one bucket of the bottom alone: there is always room,
// and nothing to resume (hole GPHash 2).
#pragma once

#include "engine/gphash/table.hpp"

namespace durahash::gphash {

namespace detail {

/// A cell's offset is a multiple of its bytes, or of a page's: place words name blocks.
constexpr bool every_level_begins_at_a_block() {
  for (unsigned slots_log2 = 1; slots_log2 <= 4; ++slots_log2)
    for (unsigned key_bytes = 0; key_bytes <= max_key_bytes; key_bytes += 8)
      for (unsigned log2 = min_bottom; log2 < level_sizes; ++log2)
        if (cell_bytes_for(shape{1, 1, 1u << slots_log2, slots_log2, key_bytes}.level_bytes(log2)) %
                block_bytes !=
            0)
          return false;
  return true;
}
static_assert(every_level_begins_at_a_block());

}  // namespace detail

/// Of a level that readers may still see.
template <medium M, class Kind>
void table<M, Kind>::give_back(const level_view& l) noexcept {
  p_.before_reuse();
  if constexpr (Kind::in_slot)
    // readers notice by the levels; the bytes stay mapped
    heap_.free(l.offset, shape_.level_bytes(l.log2));
  else heap_.retire(l.offset, shape_.level_bytes(l.log2));
}

template <medium M, class Kind>
flushed table<M, Kind>::write_words(pm<std::uint64_t>* at, std::span<const std::uint64_t> words) {
  for (std::size_t i = 0; i < words.size(); ++i) store(m_, at[i], words[i]);
  return flush(m_, extent{at, words.size() * 8}, "gphash.level.words");
}

template <medium M, class Kind>
void table<M, Kind>::lock_stripes(const levels_view& v) noexcept {
  // in order; groups never wait while they hold one
  for (stripe_index s = 0; s < stripes_of(v); ++s) locks_[s].lock();
}

template <medium M, class Kind>
void table<M, Kind>::unlock_stripes(const levels_view& v) noexcept {
  for (stripe_index s = 0; s < stripes_of(v); ++s) locks_[s].unlock();
}

/// A level more on top of these, unless somebody has put one there. The caller holds nothing.
template <medium M, class Kind>
status table<M, Kind>::grow(const levels_view& seen) {
  await_count();  // the stripes stay what they are while records are collected
  everybody_kept_out alone(*this);
  return &levels() == &seen ? put_level_on_top(seen) : status::ok;
}

template <medium M, class Kind>
status table<M, Kind>::put_level_on_top(const levels_view& v) {
  auto place = allocate_top(v, size());
  if (!place) return p_.sound() ? status::no_space : status::io_error;
  level_view made = view_of(place->offset(), v.at[0].log2 + 1);
  const levels_view& planned = plan_top(v, made);
  const level_view& bottom = v.at[shape_.levels - 1];
  flushed started;
  std::vector<std::uint64_t> words;
  for (std::uint64_t index = 0; index < bottom.buckets(); ++index)
    started += copy_bucket(bottom, index, made, words);
  place->keep();
  adopt_top(v, planned, std::move(started));
  return status::ok;
}

/// A level of twice the top's size, of which every word is to be written; nothing if there is no
/// space, or no use.
template <medium M, class Kind>
std::optional<loose_cell<M>> table<M, Kind>::allocate_top(const levels_view& v,
                                                          std::uint64_t records) {
  unsigned top = v.at[0].log2 + 1;
  if (top == level_sizes || growth_is_vain(shape_, top - 1, records) || !p_.may_change())
    return std::nullopt;
  return allocate_loose(heap_, shape_.level_bytes(top));
}

/// These levels, when that one has been put on top.
template <medium M, class Kind>
auto table<M, Kind>::plan_top(const levels_view& v, const level_view& made) -> const levels_view& {
  level_view now[max_levels] = {made};
  std::copy_n(v.at, shape_.levels - 1, now + 1);
  return plan_levels({now, shape_.levels});
}

/// The levels are to be as planned, with a new top. `started`: the write-back of all of it.
template <medium M, class Kind>
void table<M, Kind>::adopt_top(const levels_view& v, const levels_view& planned,
                               flushed started) noexcept {
  level_view made = planned.at[0], bottom = v.at[shape_.levels - 1];
  durahash::check(planned.count == shape_.levels && made.log2 == v.at[0].log2 + 1,
                  "the levels are as many as before, the top twice as large");
  store(m_, level_word(bank(), made.log2), checked_place::of(made.offset, made.log2).word);
  started += flush(m_, extent_of(level_word(bank(), made.log2)), "gphash.grow.place");
  durable written = fence(m_, std::move(started), "gphash.grow.level");
  // COMMIT
  [[maybe_unused]] durable done =
      publish(m_, root_of_table().geometry, geometry::of(bottom.log2 + 1, bank()).word,
              after(std::move(written)), "gphash.grow.commit");
  switch_levels(planned);
  give_back(bottom);
  resizes_.fetch_add(1, std::memory_order_relaxed);
}

/// The buckets of the new level that lie over one of the bottom, with its records. They lie side by
/// side.
template <medium M, class Kind>
flushed table<M, Kind>::copy_bucket(const level_view& from, std::uint64_t index,
                                    const level_view& to, std::vector<std::uint64_t>& words) {
  std::uint64_t first = index << (to.log2 - from.log2), words_per_bucket = shape_.bucket_words();
  words.assign(words_per_bucket << (to.log2 - from.log2), empty_state);
  for_each_resident(bucket_at(from, index), [&](const resident& r) {
    candidates s = candidates_of(r.hash);
    unsigned which = 0;
    // the one that led here: they differ in every level
    while (which < shape_.hashes && number(from, s.place[which]) != index) ++which;
    // out of place: nobody finds it, and check would have told
    if (which == shape_.hashes) return damage_found_.store(true);
    std::uint64_t* bucket_words = &words[(number(to, s.place[which]) - first) * words_per_bucket];
    unsigned free_slot = 0;
    while (free_slot < shape_.slots && bucket_words[free_slot] != empty_state) ++free_slot;
    durahash::check(free_slot < shape_.slots, "a bucket of a new level has room for all of one");
    write_slot(bucket_words, free_slot, r);
    rehashed_.fetch_add(1, std::memory_order_relaxed);
  });
  return write_words(bucket_at(to, first), words);
}

/// Into a bucket that is not in the pool yet.
template <medium M, class Kind>
void table<M, Kind>::write_slot(std::uint64_t* bucket_words, unsigned index,
                                const found_record& r) const {
  bucket_words[index] = r.hash;
  bucket_words[shape_.slots + index] = r.value_word;
  if constexpr (Kind::fixed_key)
    std::memcpy(bucket_words + 2 * shape_.slots + index * shape_.key_words(), r.key.data(),
                r.key.size());
}

/// What the levels are to become; nobody sees it yet.
template <medium M, class Kind>
auto table<M, Kind>::plan_levels(std::span<const level_view> now) -> const levels_view& {
  durahash::check(now.size() == shape_.levels, "a table has as many levels as its settings say");
  levels_view& made = views_.emplace_back();
  std::copy(now.begin(), now.end(), made.at);
  made.count = static_cast<unsigned>(now.size());
  std::fill(made.at + made.count, made.at + max_levels, now.back());
  made.stripe_bits = std::min(made.at[0].log2, max_stripe_bits);
  made.stripe_shift = 64 - made.stripe_bits;
  made.byte_shift = 64 - made.at[0].log2 - shape_.words_log2() - 3;
  made.is_short = Kind::in_slot && shape_ == short_shape && cache_percent_ == 0;
  if (made.is_short) made.last_long = first_fingerprint - 1;
  std::uint64_t buckets = 0;
  for (unsigned l = 0; l < made.count; ++l)
    made.first_in_cache[l] = buckets, buckets += made.at[l].buckets();
  if (cache_percent_ != 0)
    made.cache = &caches_.emplace_back(buckets, shape_.slots, cache_percent_, cache_policy_);
  return made;
}

template <medium M, class Kind>
void table<M, Kind>::switch_levels(const levels_view& planned) noexcept {
  const levels_view* before = levels_.load(std::memory_order_relaxed);
  counting_stripes_ = std::max(counting_stripes_.load(), stripes_of(planned));
  levels_.store(&planned, std::memory_order_release);
  if (before != nullptr && before->cache != nullptr) before->cache->give_back_memory();
}

/// Copies of the buckets that are looked at most by now, in place of others.
template <medium M, class Kind>
void table<M, Kind>::load_cache(const levels_view& v) {
  std::scoped_lock lock(resize_lock_);
  if (&levels() != &v) return;
  auto writers_passed = [&] {
    if (M::planted("gphash-a-copy-opens-before-its-writers-know")) return;
    for (stripe_index s = 0; s < stripes_of(v); ++s) std::scoped_lock passed(locks_[s]);
  };
  v.cache->load(writers_passed, [&](std::uint64_t in_cache, std::uint64_t* words) {
    unsigned l = v.count - 1;
    while (in_cache < v.first_in_cache[l]) --l;
    bucket b = bucket_at(v.at[l], in_cache - v.first_in_cache[l]);
    for (unsigned n = 0; n < 2 * shape_.slots; ++n)
      __atomic_store_n(&words[n], load(m_, b[n]), __ATOMIC_RELAXED);
  });
}

// ---------------------------------------------------------------------------------- size on demand

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
  everybody_kept_out alone(*this);
  return top <= top_log2() ? status::ok : build(all_records(levels().all()), top);
}

template <medium M, class Kind>
status table<M, Kind>::shrink_to_fit() {
  everybody_kept_out alone(*this);
  std::vector<found_record> all = all_records(levels().all());
  unsigned least = min_bottom + shape_.levels - 1;
  while (least < top_log2() && slots_of(shape_, least) < all.size()) ++least;
  image fits;
  while (least < top_log2() && !lay_out(all, least, fits)) ++least;
  return least < top_log2() ? build(all, least) : status::ok;
}

template <medium M, class Kind>
status table<M, Kind>::move_arrays_down() {
  everybody_kept_out alone(*this);
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
