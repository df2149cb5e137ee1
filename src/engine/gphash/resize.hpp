// GPHash: size on demand: levels that are built anew from all records, and levels that move to the
// front of the pool. Everybody is kept out, and no level is coming (grow.hpp).
#pragma once

#include "engine/gphash/grow.hpp"
#include "engine/gphash/table.hpp"

namespace durahash::gphash {

template <medium M, class Kind>
class table<M, Kind>::rebuilding {
 public:
  using records = std::vector<record_of<Kind>>;
  /// Everybody is kept out, and no level is coming.
  struct levels_held {
    everybody_kept_out alone;
    explicit levels_held(table& t) : alone(t) { growth(t).drop(); }
  };

  explicit rebuilding(table& t) noexcept
      : t_(t), m_(t.m_), b_(t.buckets_), levels_(t.levels_), cells_(t.cells_) {}

  /// New levels, of at least that size, for these records, in place of what there is. Nobody else
  /// writes. crash before the geometry is published: what was there stays, and the new levels are
  /// unreachable, hence free.
  status build(const records& of, unsigned top) {
    image made;
    for (; top < level_sizes && !lay_out(of, top, made); ++top)
      if (growth_is_vain(b_.form(), top, of.size())) return status::no_space;
    if (top >= level_sizes) return status::no_space;
    const levels_view* before = levels_.if_any();
    unsigned other_bank = cells_.bank() ^ 1;  // of what the root names now, whole or damaged
    std::vector<loose_cell<M>> places;
    std::vector<level_view> now;
    places.reserve(b_.form().levels);
    for (unsigned l = 0; l < b_.form().levels; ++l) {
      auto place = cells_.allocate(top - l);
      if (!place) return status::no_space;
      places.push_back(std::move(*place));
      now.push_back(cells_.view_of(places.back().offset(), top - l));
    }
    const levels_view& planned = levels_.plan(now);
    if (!t_.p_.may_change()) return status::io_error;
    flushed started;
    for (unsigned l = 0; l < b_.form().levels; ++l) {
      started += cells_.write(now[l].first, made.words[l]);
      store(m_, cells_.word_of(other_bank, top - l),
            checked_place::of(places[l].keep(), top - l).word);
      started += flush(m_, extent_of(cells_.word_of(other_bank, top - l)), "gphash.build.places");
    }
    durable written = fence(m_, std::move(started), "gphash.build.levels");
    // COMMIT
    [[maybe_unused]] durable done = publish(
        m_, root_of(t_.p_).geometry, geometry::of(top + 1 - b_.form().levels, other_bank).word,
        after(std::move(written)), "gphash.build.commit");
    levels_.switch_to(planned);
    if (before != nullptr)
      for (const level_view& l : before->all()) cells_.give_back(l);
    return status::ok;
  }

  /// Levels with room for so many records, unless these have it.
  status grow_for(std::uint64_t count) {
    const unsigned top = top_for(count, b_.form());
    return top <= levels_.now().at[0].log2 ? status::ok : build(all_records(), top);
  }

  /// Levels with as few slots as the records need.
  status shrink() {
    const unsigned top = levels_.now().at[0].log2;
    const records all = all_records();
    unsigned least = min_bottom + b_.form().levels - 1;
    while (least < top && slots_of(b_.form(), least) < all.size()) ++least;
    image fits;
    while (least < top && !lay_out(all, least, fits)) ++least;
    return least < top ? build(all, least) : status::ok;
  }

  /// Writes the level anew if there is room in front of it. COMMIT: its word in the root.
  void move_down(const level_view& l) {
    const levels_view& v = levels_.now();
    if (!t_.heap_.has_room_before(l.offset, cells_.bytes_of(l.log2))) return;
    auto place = cells_.allocate(l.log2);
    if (!place) return;
    level_view made = cells_.view_of(place->offset(), l.log2), gone = l;
    std::vector<level_view> now(v.at, v.at + v.count);
    for (level_view& each : now)
      if (each.log2 == made.log2) each = made;
    const levels_view& planned = levels_.plan(now);
    std::vector<std::uint64_t> words(b_.form().bucket_words());
    if (!t_.p_.may_change()) return;
    flushed started;
    for (std::uint64_t index = 0; index < l.buckets(); ++index) {
      for (std::size_t i = 0; i < words.size(); ++i) words[i] = load(m_, b_.at(l, index)[i]);
      started += cells_.write(b_.at(made, index), words);
    }
    durable written = fence(m_, std::move(started), "gphash.compact.level");
    [[maybe_unused]] durable done =
        publish(m_, cells_.word_of(l), checked_place::of(place->keep(), l.log2).word,
                after(std::move(written)), "gphash.compact.commit");
    levels_.switch_to(planned);
    cells_.give_back(gone);
  }

 private:
  /// Levels as they are to be written, from the top down: the words of each.
  struct image {
    unsigned top = 0;
    std::array<std::vector<std::uint64_t>, max_levels> words;
  };

  records all_records() const {
    records all;
    for (const level_view& l : levels_.now().all())
      for (std::uint64_t index = 0; index < l.buckets(); ++index)
        b_.for_each_resident(b_.at(l, index), [&](const resident<Kind>& r) { all.push_back(r); });
    return all;
  }

  /// Returns false when some record finds no room.
  bool lay_out(const records& all, unsigned top, image& made) const {
    std::size_t words_per_bucket = b_.form().bucket_words();
    made.top = top;
    for (unsigned l = 0; l < b_.form().levels; ++l)
      made.words[l].assign(words_per_bucket << (top - l), empty_state);
    for (const record_of<Kind>& r : all) {
      candidates s = b_.candidates_of(r.hash);
      std::uint64_t* roomiest = nullptr;
      std::ptrdiff_t most = 0;
      for (unsigned l = 0; l < b_.form().levels; ++l)
        for (unsigned which = 0; which < b_.form().hashes; ++which) {
          std::uint64_t* bucket_words =
              &made.words[l][bucket_number(s.place[which], top - l) * words_per_bucket];
          std::ptrdiff_t empty =
              std::count(bucket_words, bucket_words + b_.form().slots, empty_state);
          if (empty <= most) continue;
          most = empty;
          roomiest = bucket_words;
        }
      if (roomiest == nullptr) return false;
      b_.write_record(roomiest,
                      static_cast<unsigned>(
                          std::find(roomiest, roomiest + b_.form().slots, empty_state) - roomiest),
                      r);
    }
    return true;
  }

  table& t_;
  M& m_;
  const decltype(table::buckets_)& b_;
  decltype(table::levels_)& levels_;
  decltype(table::cells_)& cells_;
};

// ------------------------------------------------------------------------ what the frame asks for

template <medium M, class Kind>
status table<M, Kind>::make_room_for(std::uint64_t records) {
  unsigned top = top_for(records, shape());
  await_count();
  std::uint64_t bytes = 0;
  for (unsigned l = 0; l < shape().levels; ++l) bytes += cells_.bytes_of(top - l);
  if (top <= levels_.now().at[0].log2) return status::ok;
  if (status s = p_.reserve(bytes); s != status::ok) return s;
  typename rebuilding::levels_held held(*this);
  return rebuilding(*this).grow_for(records);
}

template <medium M, class Kind>
status table<M, Kind>::shrink_to_fit() {
  typename rebuilding::levels_held held(*this);
  return rebuilding(*this).shrink();
}

template <medium M, class Kind>
status table<M, Kind>::move_arrays_down() {
  typename rebuilding::levels_held held(*this);
  for (unsigned l = 0; l < shape().levels; ++l) rebuilding(*this).move_down(levels_.now().at[l]);
  return status::ok;
}

template <medium M, class Kind>
template <class Visit>
void table<M, Kind>::for_each_locked(Visit&& visit) {
  everybody_kept_out alone(*this);
  for (const level_view& l : levels_.now().all())
    for (std::uint64_t index = 0; index < l.buckets(); ++index)
      buckets_.for_each_resident(buckets_.at(l, index), visit);
}

template <medium M, class Kind>
status table<M, Kind>::replace_value(const resident<Kind>& r, std::uint64_t value_word,
                                     flushed started) {
  change c;
  c.stripe = &levels_.state_of(levels_.now(), r.hash);
  c.where = r.where;
  c.word = r.where.value;
  c.next = value_word;
  c.apart = true;
  frame::replaces(load(m_, *r.where.value), c);
  frame::commit(c, std::move(started));
  return status::ok;
}

}  // namespace durahash::gphash
