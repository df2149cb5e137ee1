// GPHash: growth (paper §3.2.3, "Resizing"), beside readers and writers.
//
//   0  a level of twice the top's size is allocated. Every stripe is locked and unlocked once: all
//      writers know of it (W2)
//   1  bucket by bucket, under the bucket's lock: a copy of each record of the bottom is written at
//      the place that led there; flushed, fenced. What a write changes in a bucket that is copied
//      it changes in the copy, too, and flushes both
//        crash: unreachable, hence free
//   2  all stripes held: the level's word in the root stored, flushed, fenced
//   3  COMMIT: the geometry word: the levels begin one higher
//        crash before: old state; after: new state
//   4  the old bottom level is free
//
// It begins before it is needed, and each write copies four buckets then. A write that finds no
// room begins it, if nobody has, and copies all that is left. With the setting `stop_to_grow` it
// does so with all stripes held, as in the paper.
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
  p_.readers().before_reuse();
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
  if (stop_to_grow_) {
    everybody_kept_out alone(*this);
    return &levels() == &seen ? put_level_on_top(seen) : status::ok;
  }
  {
    std::scoped_lock lock(resize_lock_);
    if (&levels() != &seen) return status::ok;
    if (status s = begin_growth(); s != status::ok) return s;
  }
  copy_buckets(~std::uint64_t{0});
  return finish_growth();
}

template <medium M, class Kind>
status table<M, Kind>::put_level_on_top(const levels_view& v) {
  auto place = allocate_top(v, size());
  if (!place) return p_.sound() ? status::no_space : status::io_error;
  level_view made = view_of(place->offset(), v.at[0].log2 + 1);
  const levels_view& planned = plan_top(v, made);
  const level_view& bottom = v.at[shape_.levels - 1];
  flushed started;
  std::vector<std::uint64_t> words(shape_.bucket_words() << shape_.levels);
  for (std::uint64_t index = 0; index < bottom.buckets(); ++index)
    started += copy_bucket(bottom, index, made, words);
  place->keep();
  adopt_top(v, planned, std::move(started));
  return status::ok;
}

// ---------------------------------------------------------------------------------- beside writers

/// Step 0, unless a level is coming. Under resize_lock_.
template <medium M, class Kind>
status table<M, Kind>::begin_growth() {
  if (coming_.is_begun()) return status::ok;
  const levels_view& v = levels();
  auto place = allocate_top(v, size());
  if (!place) return p_.sound() ? status::no_space : status::io_error;
  coming_.begin(v.at[shape_.levels - 1].buckets());
  top_to_be_ = view_of(place->keep(), v.at[0].log2 + 1);
  tells_ = true;
  if (!M::planted("gphash-copying-begins-before-its-writers-know"))
    for (stripe_index s = 0; s < stripes_of(v); ++s) std::scoped_lock passed(locks_[s]);
  coming_.open();
  wants_help_ = true;
  return status::ok;
}

/// Step 1, of up to so many buckets.
template <medium M, class Kind>
void table<M, Kind>::copy_buckets(std::uint64_t most) {
  // the bucket's copies; with room for them nothing is taken that is not copied
  std::uint64_t small[64];
  const std::size_t words_wanted = shape_.bucket_words() << shape_.levels;
  std::vector<std::uint64_t> large(words_wanted > std::size(small) ? words_wanted : 0);
  const std::span words(large.empty() ? small : large.data(), words_wanted);
  coming_level::part part(coming_);
  flushed started;
  std::uint64_t count = 0;
  for (; count < most; ++count) {
    const std::optional<std::uint64_t> index = part.take();
    if (!index) break;
    const level_view& bottom = levels().at[shape_.levels - 1];  // now that one is taken, it stays
    std::scoped_lock lock(coming_.lock_of(*index));
    started += copy_bucket(bottom, *index, top_to_be_, words);
    coming_.mark_copied(*index);
  }
  if (count == 0) return;
  part.count_done(count, fence(m_, std::move(started), "gphash.grow.copied"));
}

/// Steps 2 to 4, if all is copied when those are done who copy. Else another level is coming.
template <medium M, class Kind>
status table<M, Kind>::finish_growth() {
  everybody_kept_out alone(*this);
  if (!coming_.is_begun()) return status::ok;
  coming_.close();
  if (!coming_.is_complete()) return coming_.open(), status::ok;
  const levels_view& v = levels();
  const levels_view& planned = plan_top(v, top_to_be_);
  if (!p_.may_change()) return drop_growth(), status::io_error;
  end_growth();
  adopt_top(v, planned, {});
  return status::ok;
}

/// The level that is coming is given up. Nobody writes.
template <medium M, class Kind>
void table<M, Kind>::drop_growth() noexcept {
  if (!coming_.is_begun()) return;
  coming_.close();
  heap_.free(top_to_be_.offset, shape_.level_bytes(top_to_be_.log2));
  end_growth();
}
template <medium M, class Kind>
void table<M, Kind>::end_growth() noexcept {
  coming_.end();
  tells_ = cache_percent_ != 0;
  wants_help_ = false;
  asked_for_growth_ = false;
  notes_ = notes_in_vain_ = 0;
}

/// An insertion finds that few of its key's slots are empty: soon one will find none.
template <medium M, class Kind>
[[gnu::noinline]] void table<M, Kind>::note_nearly_full() noexcept {
  constexpr std::uint64_t one_of = 256, most = 16;  // of small tables one note is enough
  const std::uint64_t bottom = levels().at[shape_.levels - 1].buckets();
  const std::uint64_t enough = std::max(std::min(bottom / one_of, most), notes_in_vain_.load());
  if (!stop_to_grow_ && notes_.fetch_add(1) + 1 >= enough) wants_help_ = true;
}

/// Behind some writes: what they do for growth that is asked for or under way. Nothing is locked.
template <medium M, class Kind>
[[gnu::noinline]] status table<M, Kind>::help_growth(std::uint64_t writes, status answer) noexcept {
  constexpr std::uint64_t buckets_by_a_write = 4;
  if_memory_allows([&] {
    if (!p_.changing()) return;  // synced meanwhile
    if (coming_.is_open()) copy_buckets(writes * buckets_by_a_write);
    if (coming_.is_complete()) finish_growth();
    else if (!coming_.is_begun()) ask_for_growth();
  });
  return answer;
}

/// A large level is allocated in the background, and nobody waits there: who holds the lock may do
/// so for long (a check), or for as long as a device works. The next write asks again.
template <medium M, class Kind>
void table<M, Kind>::ask_for_growth() {
  constexpr std::uint64_t at_once_bytes = 1 << 20;
  if (!counted() || asked_for_growth_.exchange(true)) return;
  auto begin = [this](const background&) {
    if_memory_allows([&] {
      std::unique_lock lock(resize_lock_, std::try_to_lock);
      if (!lock) return;
      // a pool that was synced meanwhile is left in peace
      const bool wanted = p_.changing() && size() * 2 >= slots();
      if (wanted && begin_growth() == status::ok) return;
      notes_in_vain_ = 2 * notes_ + 1;
      wants_help_ = false;
    });
    asked_for_growth_ = false;
  };
  if (!worth_a_thread(shape_.level_bytes(top_log2() + 1), at_once_bytes + 1) ||
      !background_.submit(begin))
    begin(background_);
}

/// A change of the bottom: of the level that is coming, too, if it has the bucket. Its stripe is
/// locked.
template <medium M, class Kind>
template <class Publish>
flushed table<M, Kind>::publish_twice(const level_view& bottom, std::uint64_t index,
                                      const change& c, Publish& publish) {
  std::scoped_lock lock(coming_.lock_of(index));
  const std::uint64_t state = load(m_, *c.where.state), value = load(m_, *c.where.value);
  flushed started = publish();
  if (coming_.is_copied(index) && !M::planted("gphash-a-copied-bucket-is-not-told"))
    started += tell_coming_level(bottom, index, c, state, value);
  return started;
}

/// `state` and `value`: of the slot, before it was changed.
template <medium M, class Kind>
flushed table<M, Kind>::tell_coming_level(const level_view& bottom, std::uint64_t index,
                                          const change& c, std::uint64_t state,
                                          std::uint64_t value) {
  const bool is_new = c.records > 0;
  const std::uint64_t fingerprint = is_new ? c.next : state;
  const std::optional<std::uint64_t> over = bucket_over(bottom, index, top_to_be_, fingerprint);
  if (!over) return damage_found_ = true, flushed();
  const bucket b = bucket_at(top_to_be_, *over);
  unsigned slot = 0;
  auto is_the_one = [&] {
    const std::uint64_t there = load(m_, b[slot]);
    return is_new ? there == empty_state
                  : there == fingerprint && load(m_, b[shape_.slots + slot]) == value;
  };
  while (slot < shape_.slots && !is_the_one()) ++slot;
  if (slot == shape_.slots) return damage_found_ = true, flushed();
  flushed started;
  auto tell = [&](pm<std::uint64_t>& word, std::uint64_t now) {
    store(m_, word, now);
    started += flush_in_line(m_, word, "gphash.grow.told");
  };
  const slot_ref at = slot_at(b, slot);
  if constexpr (Kind::fixed_key)
    for (unsigned n = 0; is_new && n < shape_.key_words(); ++n)
      tell(at.key[n], load(m_, c.where.key[n]));
  if (c.records >= 0) tell(*at.value, load(m_, *c.where.value));
  if (c.records != 0) tell(*at.state, c.next);
  return started;
}

// ------------------------------------------------------------------------------------- the new top

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

/// Of those the one where a record of the bottom's bucket goes; nothing if no place of its hash led
/// there.
template <medium M, class Kind>
std::optional<std::uint64_t> table<M, Kind>::bucket_over(const level_view& from,
                                                         std::uint64_t index, const level_view& to,
                                                         std::uint64_t hash) const {
  const int which = places_.place_in(hash, from.log2, index);
  if (which < 0) return std::nullopt;
  return bucket_number(places_.place(hash, static_cast<unsigned>(which)), to.log2);
}

/// The buckets of the new level that lie over one of the bottom, with its records. They lie side by
/// side.
template <medium M, class Kind>
flushed table<M, Kind>::copy_bucket(const level_view& from, std::uint64_t index,
                                    const level_view& to, std::span<std::uint64_t> words) {
  std::uint64_t first = index << (to.log2 - from.log2), words_per_bucket = shape_.bucket_words();
  std::fill(words.begin(), words.end(), empty_state);
  for_each_resident(bucket_at(from, index), [&](const resident& r) {
    const std::optional<std::uint64_t> over = bucket_over(from, index, to, r.hash);
    // out of place: nobody finds it, and check would have told
    if (!over) return damage_found_.store(true);
    std::uint64_t* bucket_words = &words[(*over - first) * words_per_bucket];
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
  made.stripe_bits = std::min(made.at[0].log2, stripe_bits_on<M>);
  made.stripe_shift = 64 - made.stripe_bits;
  made.byte_shift = 64 - made.at[0].log2 - shape_.words_log2() - 3;
  made.is_short = Kind::in_slot && shape_ == short_shape && cache_percent_ == 0;
  if (made.is_short) made.last_long = first_fingerprint - 1;
  std::uint64_t buckets = 0;
  for (unsigned l = 0; l < made.count; ++l)
    made.first_bucket[l] = buckets, buckets += made.at[l].buckets();
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

/// Copies of the buckets that are looked at most by now, in place of others. In the background,
/// where nobody waits for the lock (ask_for_growth).
template <medium M, class Kind>
void table<M, Kind>::load_cache(const levels_view& v) {
  v.cache->put_off_load();  // whatever comes of this one
  std::unique_lock lock(resize_lock_, std::try_to_lock);
  if (!lock || &levels() != &v) return;
  auto writers_passed = [&] {
    if (M::planted("gphash-a-copy-opens-before-its-writers-know")) return;
    for (stripe_index s = 0; s < stripes_of(v); ++s) std::scoped_lock passed(locks_[s]);
  };
  v.cache->load(writers_passed, [&](std::uint64_t in_cache, std::uint64_t* words) {
    unsigned l = v.count - 1;
    while (in_cache < v.first_bucket[l]) --l;
    bucket b = bucket_at(v.at[l], in_cache - v.first_bucket[l]);
    for (unsigned n = 0; n < 2 * shape_.slots; ++n)
      __atomic_store_n(&words[n], load(m_, b[n]), __ATOMIC_RELAXED);
  });
}

}  // namespace durahash::gphash
