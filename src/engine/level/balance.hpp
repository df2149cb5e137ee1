// Level hashing: whether the table is right as it is. Looked at now and then after writes, in a few
// of its buckets.
#pragma once

#include "engine/level/drain.hpp"
#include "engine/level/grow.hpp"
#include "engine/level/shrink.hpp"
#include "engine/level/table.hpp"

namespace durahash::level {

template <medium M, class Kind>
class table<M, Kind>::balance {
 public:
  explicit balance(table& t) noexcept : t_(t) {}

  /// Which level to search first, whether a new level will be needed soon, whether the table is too
  /// large. Nothing is locked.
  void look_around() {
    const auto* v = &t_.levels_.now();
    double top = 0, bottom = 0;
    {
      [[maybe_unused]] read_guard guard = t_.reading();
      if (v->count != 2) return;
      top = load_of(v->at[0]), bottom = load_of(v->at[1]);
    }
    const double load = (2 * top + bottom) / 3;
    constexpr double nearly_full = 0.85;
    if (v->bottom_first && !mostly_below(top, bottom)) {
      std::scoped_lock lock(t_.levels_.changing());
      if (&t_.levels_.now() == v)
        t_.levels_.switch_to(growth(t_).plan(t_.levels_.present(), false, false));
    }
    if (load > nearly_full) growth(t_).prepare_ahead();
    if (!is_too_large(*v, load) || t_.levels_.shrinking.exchange(true)) return;
    // this object may be gone by then
    auto begin = [&t = t_](const background&) { balance(t).begin_to_shrink(); };
    if (!worth_a_thread(t_.buckets_.shape.level_bytes(v->at[0].log2), at_once_bytes + 1) ||
        !t_.background_.submit(begin))
      begin(t_.background_);
  }

  /// Whether a search of these levels had better begin in the bottom.
  bool favours_bottom(const levels_view& v) {
    const double top = load_of(v.at[0]);
    return mostly_below(top, load_of(v.at[1]));
  }

 private:
  /// Whether three fifths of the records lie in the bottom, of levels so full: then a search had
  /// better begin there. One that begins in the top passes most of the bottom's buckets by.
  static bool mostly_below(double top, double bottom) noexcept { return 3 * top < bottom; }

  /// From a few of its buckets.
  double load_of(const level_view& l) {
    constexpr unsigned buckets = 32;
    int tokens = 0;
    std::uint64_t at = t_.levels_.looks.fetch_add(1, std::memory_order_relaxed);
    for (unsigned n = 0; n < buckets; ++n) {
      const bucket b = l.bucket_of(mixed(at * buckets + n + 1));
      tokens += std::popcount(t_.buckets_.state_of(b).tokens() & t_.buckets_.shape.all_tokens);
    }
    return static_cast<double>(tokens) / (buckets * t_.buckets_.shape.slots);
  }

  /// And has not changed its size too often.
  bool is_too_large(const levels_view& v, double load) {
    constexpr double nearly_empty = 0.125;
    const std::uint64_t switches = t_.levels_.switches();
    const bool too_often =
        switches * switches / 64 > t_.levels_.looks.load(std::memory_order_relaxed);
    return load <= nearly_empty && !too_often && v.at[0].log2 > t_.how_.first_log2 &&
           t_.counted() && t_.size() * 8 <= t_.slots();
  }

  void begin_to_shrink() {
    if_memory_allows([&] {
      {
        std::unique_lock lock(t_.levels_.changing(), std::try_to_lock);
        // a pool that was synced meanwhile is left in peace
        if (lock && t_.p_.changing()) shrinking(t_).begin();
      }
      drainer(t_).start_helper();
    });
    t_.levels_.shrinking = false;
  }

  table& t_;
};

}  // namespace durahash::level
