// Filters: what a bucket says of the one below it. The filter has a bit for each class of records,
// and says of every record one level below whose place is this bucket's that it may be there (L3):
// a search for any other need not go there. Whoever changes one holds the stripe's lock.
#pragma once

#include "engine/level/buckets.hpp"

namespace durahash::level {

template <medium M, class Kind>
class filters {
 public:
  filters(M& m, const buckets<M, Kind>& all, const second_maps& maps) noexcept
      : m_(m), buckets_(all), maps_(maps) {}

  /// A new item without its token. Not flushed: a group writes back when all is stored, since
  /// stores wait for write-backs that came before them.
  item_lines fill(const levels_view<M>& v, unsigned level, const candidates& s, unsigned which,
                  int index, std::uint64_t value_word) const {
    item_lines lines{
        buckets_.store_slot(v.at[level].bucket_of(s.place[which]), index, s, value_word), {}};
    if (!v.under_previous(level)) return lines;
    bucket above = v.at[level - 1].bucket_of(s.place[which]);
    bucket_state state = buckets_.state_of(above);
    if (state.admits(s.filter_class)) return lines;
    // crash: a filter that says too much costs a look
    store(m_, *above.state, state.with_class(s.filter_class).word);
    lines.above = above;
    return lines;
  }

  /// A record of this class has left the level: the filter above says so, if it was the last one
  /// there. Not flushed: on the medium it may go on saying too much.
  [[gnu::noinline]] void drop_class(const levels_view<M>& v, unsigned level, std::uint64_t place,
                                    unsigned filter_class) const {
    const bucket below = v.at[level].bucket_of(place), b = v.at[level - 1].bucket_of(place);
    for (std::uint32_t left = buckets_.state_of(below).tokens() & buckets_.shape.all_tokens;
         left != 0;) {
      const std::uint64_t key_word = load(m_, buckets_.slot_of(below, take_lowest(left)).key);
      const std::uint64_t hash = buckets_.hash_of_slot(key_word);
      if (class_of(mixed(hash)) != filter_class) [[likely]]
        continue;
      for (std::uint64_t its : maps_.candidates_of(hash, key_word).place)
        if (v.at[level - 1].bucket_of(its) == b) return;
    }
    const bucket_state state = buckets_.state_of(b);
    if (state.admits(filter_class))
      store(m_, *b.state, state.next(state.tokens(), state.filter() & ~(1u << filter_class)).word);
  }

  /// Of the two buckets above the one with this number: the classes of what it holds. Not flushed:
  /// on the medium a filter may go on saying too much.
  void refresh(const level_view& above, const level_view& lower, std::uint64_t below) const {
    const bucket b = buckets_.at(lower, below);
    const std::uint64_t here = below << lower.shift;
    std::uint64_t classes = 0;  // of the first in the low half, of the second in the high one
    for (std::uint32_t left = buckets_.state_of(b).tokens() & buckets_.shape.all_tokens;
         left != 0;) {
      const std::uint64_t hash =
          buckets_.hash_of_slot(load(m_, buckets_.slot_of(b, take_lowest(left)).key));
      const std::uint64_t place = maps_.place_beside(here, hash);
      classes |= std::uint64_t{1} << (class_of(mixed(hash)) | (above.number(place) & 1) << 5);
    }
    for (unsigned n = 0; n < 2; ++n, classes >>= 32) {
      const bucket over = buckets_.at(above, below << 1 | n);
      const bucket_state state = buckets_.state_of(over);
      const auto filter = static_cast<std::uint32_t>(classes);
      if (filter != state.filter()) store(m_, *over.state, state.next(state.tokens(), filter).word);
    }
  }

 private:
  M& m_;
  const buckets<M, Kind> buckets_;  // copied: what it needs is here then
  const second_maps& maps_;
};

}  // namespace durahash::level
