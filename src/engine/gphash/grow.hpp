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

template <medium M, class Kind>
class table<M, Kind>::growth {
 public:
  explicit growth(table& t) noexcept
      : t_(t), m_(t.m_), p_(t.p_), b_(t.buckets_), levels_(t.levels_) {}

  /// A level more on top of these, unless somebody has put one there. The caller holds nothing.
  status grow(const levels_view& seen) {
    t_.await_count();  // the stripes stay what they are while records are collected
    if (!t_.need_.is_early()) {
      everybody_kept_out alone(t_);
      return &levels_.now() == &seen ? put_level_on_top(seen) : status::ok;
    }
    {
      std::scoped_lock lock(levels_.changing());
      if (&levels_.now() != &seen) return status::ok;
      if (status s = begin(); s != status::ok) return s;
    }
    copy_buckets(~std::uint64_t{0});
    return finish();
  }

  /// For growth that is asked for or under way. Nothing is locked.
  void help(std::uint64_t writes) {
    constexpr std::uint64_t buckets_by_a_write = 4;
    if (!p_.changing()) return;  // synced meanwhile
    if (t_.coming_.is_open()) copy_buckets(writes * buckets_by_a_write);
    if (t_.coming_.is_complete()) finish();
    else if (!t_.coming_.is_begun()) ask();
  }

  /// The level that is coming is given up. Nobody writes.
  void drop() noexcept {
    if (!t_.coming_.is_begun()) return;
    t_.coming_.close();
    t_.cells_.free(t_.coming_.level());
    end();
  }

  /// A level of twice the top's size, of which every word is to be written; nothing if there is no
  /// space, or no use.
  std::optional<loose_cell<M>> allocate_top(const levels_view& v, std::uint64_t records) {
    unsigned top = v.at[0].log2 + 1;
    if (top == level_sizes || growth_is_vain(b_.form(), top - 1, records) || !p_.may_change())
      return std::nullopt;
    return t_.cells_.allocate(top);
  }

  /// The levels are to be as planned, with a new top. `started`: the write-back of all of it.
  void adopt_top(const levels_view& v, const levels_view& planned, flushed started) noexcept {
    level_view made = planned.at[0], bottom = v.bottom();
    durahash::check(planned.count == b_.form().levels && made.log2 == v.at[0].log2 + 1,
                    "the levels are as many as before, the top twice as large");
    store(m_, t_.cells_.word_of(made), checked_place::of(made.offset, made.log2).word);
    started += flush(m_, extent_of(t_.cells_.word_of(made)), "gphash.grow.place");
    durable written = fence(m_, std::move(started), "gphash.grow.level");
    // COMMIT
    [[maybe_unused]] durable done =
        publish(m_, root_of(p_).geometry, geometry::of(bottom.log2 + 1, t_.cells_.bank()).word,
                after(std::move(written)), "gphash.grow.commit");
    levels_.switch_to(planned);
    t_.cells_.give_back(bottom);
    t_.resizes_.fetch_add(1, std::memory_order_relaxed);
  }

 private:
  status put_level_on_top(const levels_view& v) {
    auto place = allocate_top(v, t_.size());
    if (!place) return p_.sound() ? status::no_space : status::io_error;
    level_view made = t_.cells_.view_of(place->offset(), v.at[0].log2 + 1);
    const levels_view& planned = levels_.plan_top(v, made);
    flushed started;
    std::vector<std::uint64_t> words(b_.form().bucket_words() << b_.form().levels);
    for (std::uint64_t index = 0; index < v.bottom().buckets(); ++index)
      started += copy_bucket(v.bottom(), index, made, words);
    place->keep();
    adopt_top(v, planned, std::move(started));
    return status::ok;
  }

  /// Step 0, unless a level is coming. Nobody else changes the levels.
  status begin() {
    if (t_.coming_.is_begun()) return status::ok;
    const levels_view& v = levels_.now();
    auto place = allocate_top(v, t_.size());
    if (!place) return p_.sound() ? status::no_space : status::io_error;
    t_.coming_.begin(v.bottom().buckets(), t_.cells_.view_of(place->offset(), v.at[0].log2 + 1));
    place->keep();
    t_.tells_ = true;
    if (!M::planted("gphash-copying-begins-before-its-writers-know")) levels_.let_writers_pass(v);
    t_.coming_.open();
    t_.need_.begin();
    return status::ok;
  }

  /// Step 1, of up to so many buckets.
  void copy_buckets(std::uint64_t most) {
    // the bucket's copies; with room for them nothing is taken that is not copied
    std::uint64_t small[64];
    const std::size_t words_wanted = b_.form().bucket_words() << b_.form().levels;
    std::vector<std::uint64_t> large(words_wanted > std::size(small) ? words_wanted : 0);
    const std::span words(large.empty() ? small : large.data(), words_wanted);
    coming_level::part part(t_.coming_);
    flushed started;
    std::uint64_t count = 0;
    for (; count < most; ++count) {
      const std::optional<std::uint64_t> index = part.take();
      if (!index) break;
      const level_view& bottom = levels_.now().bottom();  // now that one is taken, it stays
      std::scoped_lock lock(t_.coming_.lock_of(*index));
      started += copy_bucket(bottom, *index, t_.coming_.level(), words);
      t_.coming_.mark_copied(*index);
    }
    if (count == 0) return;
    part.count_done(count, fence(m_, std::move(started), "gphash.grow.copied"));
  }

  /// Steps 2 to 4, if all is copied when those are done who copy. Else another level is coming.
  status finish() {
    everybody_kept_out alone(t_);
    if (!t_.coming_.is_begun()) return status::ok;
    t_.coming_.close();
    if (!t_.coming_.is_complete()) return t_.coming_.open(), status::ok;
    const levels_view& v = levels_.now();
    const levels_view& planned = levels_.plan_top(v, t_.coming_.level());
    if (!p_.may_change()) return drop(), status::io_error;
    end();
    adopt_top(v, planned, {});
    return status::ok;
  }

  void end() noexcept {
    t_.coming_.end();
    t_.tells_ = levels_.has_copies();
    t_.need_.end();
  }

  /// A large level is allocated in the background, and nobody waits there: who holds the lock may
  /// do so for long (a check), or for as long as a device works. The next write asks again.
  void ask() {
    constexpr std::uint64_t at_once_bytes = 1 << 20;
    if (!t_.counted() || !t_.need_.ask()) return;
    auto begin_there = [&t = t_](const background&) {
      if_memory_allows([&] {
        std::unique_lock lock(t.levels_.changing(), std::try_to_lock);
        if (!lock) return;
        // a pool that was synced meanwhile is left in peace
        const bool wanted = t.p_.changing() && t.size() * 2 >= t.slots();
        if (wanted && growth(t).begin() == status::ok) return;
        t.need_.was_in_vain();
      });
      t.need_.answered();
    };
    if (!worth_a_thread(t_.cells_.bytes_of(levels_.now().at[0].log2 + 1), at_once_bytes + 1) ||
        !t_.background_.submit(begin_there))
      begin_there(t_.background_);
  }

  /// The buckets of the new level that lie over one of the bottom, with its records. They lie side
  /// by side.
  flushed copy_bucket(const level_view& from, std::uint64_t index, const level_view& to,
                      std::span<std::uint64_t> words) {
    std::uint64_t first = index << (to.log2 - from.log2),
                  words_per_bucket = b_.form().bucket_words();
    std::fill(words.begin(), words.end(), empty_state);
    b_.for_each_resident(b_.at(from, index), [&](const resident<Kind>& r) {
      const std::optional<std::uint64_t> over = b_.bucket_over(from, index, to, r.hash);
      // out of place: nobody finds it, and check would have told
      if (!over) return t_.damage_found_.store(true);
      std::uint64_t* bucket_words = &words[(*over - first) * words_per_bucket];
      unsigned free_slot = 0;
      while (free_slot < b_.form().slots && bucket_words[free_slot] != empty_state) ++free_slot;
      durahash::check(free_slot < b_.form().slots,
                      "a bucket of a new level has room for all of one");
      b_.write_record(bucket_words, free_slot, r);
      t_.rehashed_.fetch_add(1, std::memory_order_relaxed);
    });
    return t_.cells_.write(b_.at(to, first), words);
  }

  table& t_;
  M& m_;
  pool<M>& p_;
  const decltype(table::buckets_)& b_;
  decltype(table::levels_)& levels_;
};

// ------------------------------------------------------------------------- what the table calls it

/// Behind some writes. Returns `answer`.
template <medium M, class Kind>
[[gnu::noinline]] status table<M, Kind>::help_growth(std::uint64_t writes, status answer) noexcept {
  if_memory_allows([&] { growth(*this).help(writes); });
  return answer;
}

}  // namespace durahash::gphash
