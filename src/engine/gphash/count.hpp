// GPHash: records are counted after a crash, or without what a clean close saves: in the
// background, a unit of some buckets after the other. Reads and writes go on (recover.hpp, S1, S2).
#pragma once

#include "engine/gphash/table.hpp"

namespace durahash::gphash {

template <medium M, class Kind>
class table<M, Kind>::counting {
 public:
  static constexpr unsigned unit_log2 = min_bottom;  // of buckets that are counted together

  explicit counting(table& t) noexcept : t_(t), levels_(t.levels_) {}

  /// The pool was not closed: its buckets are to be swept.
  void begin() {
    if constexpr (Kind::in_slot) t_.sweep_.escapes();
    levels_.begin_count();
  }

  /// Returns whether it came to the end.
  bool count_all(const background* asking) {
    if (Kind::in_slot && !levels_.are_after_crash()) return true;  // nothing is to be swept
    const levels_view& v = levels_.now();                          // growth waits for this
    for (unsigned l = 0; l < v.count; ++l)
      for (std::uint64_t index = 0; index < v.at[l].buckets(); index += 1 << unit_log2) {
        if (asking != nullptr && asking->stopping()) return false;
        count_unit(v, l, index);
      }
    if (!levels_.are_after_crash()) return true;  // the pool was clean
    t_.records_at_open_ = t_.sweep_.records();
    levels_.end_count();
    return true;
  }

  /// Those that a write of a key with these places is about to look at (S1).
  [[gnu::noinline]] static void count_places(table& t, const levels_view& v, const candidates& s) {
    if (M::planted("gphash-a-write-overtakes-the-sweep")) return;
    for (unsigned l = 0; s.escape < 0 && l < v.count; ++l)
      for (unsigned which = 0; which < t.shape().hashes; ++which)
        counting(t).count_unit(v, l, bucket_number(s.place[which], v.at[l].log2));
  }

 private:
  /// The unit that the bucket lies in is counted when this returns. Stripes may be locked.
  void count_unit(const levels_view& v, unsigned level, std::uint64_t index) {
    constexpr std::uint64_t buckets = 1 << unit_log2;
    const level_view& l = v.at[level];
    const std::uint64_t unit = (v.first_bucket[level] + index) >> unit_log2;
    std::scoped_lock lock(t_.sweep_.lock_of(unit));
    t_.count_once(unit, [&] {
      const std::uint64_t first = index & ~(buckets - 1);
      if constexpr (!Kind::in_slot)
        for (std::uint64_t n = first; n < first + buckets; ++n)
          t_.buckets_.for_each_resident(t_.buckets_.at(l, n), [&](const resident<Kind>& r) {
            t_.adopt_record(r.value_word);
          });
      if (levels_.are_after_crash()) t_.sweep_.buckets_of(l, first, buckets);
    });
  }

  table& t_;
  decltype(table::levels_)& levels_;
};

}  // namespace durahash::gphash
