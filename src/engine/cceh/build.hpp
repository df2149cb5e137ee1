// CCEH: a whole table from its records.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "engine/cceh/table.hpp"

namespace durahash::cceh {

/// Builds a directory and segments of at least that depth, in place of what there is. Nobody is at
/// work. crash before the root's word is published: what was there stays.
template <medium M, class Kind>
class table<M, Kind>::builder {
 public:
  builder(table& t, unsigned min_depth) noexcept : t_(t), min_depth_(min_depth) {}

  /// Durable together with what was `started`.
  status build(std::vector<live_record> records, flushed started) {
    started_ = std::move(started);
    std::sort(records.begin(), records.end(), live_record::before);
    if (status s = build_segments(records, 0, 0); s != status::ok) return s;
    unsigned depth = 0;
    for (checked_place l : leaves_) depth = std::max(depth, l.exponent());
    if (depth > t_.segments_.directory().exponent() && !in_proportion(depth, leaves_.size()))
      return status::no_space;
    std::vector<std::uint64_t> entries;
    for (checked_place l : leaves_)
      entries.insert(entries.end(), std::size_t{1} << (depth - l.exponent()), l.word);
    durahash::check(entries.size() == std::size_t{1} << depth,
                    "the leaves fill the directory (C1)");
    if (!t_.directory_.switch_to(
            depth, [&](std::uint64_t i) { return entries[i]; }, std::move(started_)))
      return status::no_space;
    t_.directory_.count_segments();
    return status::ok;
  }

 private:
  /// The segments for the records of one prefix.
  status build_segments(std::span<const live_record> records, std::uint64_t prefix,
                        unsigned depth) {
    if (depth >= min_depth_ && records.size() <= t_.segments_.shape().slots()) {
      auto made = t_.segments_.make();
      if (!made) return status::no_space;
      if (made->lay_out(records)) {
        started_ += made->finish();
        leaves_.push_back(checked_place::of(made->offset(), depth));
        made->keep();
        return status::ok;
      }
    }
    if (depth == max_depth) return status::no_space;
    std::uint64_t right = right_half_of(prefix, depth + 1);
    auto middle =
        std::lower_bound(records.begin(), records.end(), right,
                         [](const live_record& r, std::uint64_t hash) { return r.hash < hash; });
    if (status s = build_segments({records.begin(), middle}, prefix, depth + 1); s != status::ok)
      return s;
    return build_segments({middle, records.end()}, right, depth + 1);
  }

  table& t_;
  const unsigned min_depth_;
  flushed started_;
  std::vector<checked_place> leaves_;  // from left to right
};

}  // namespace durahash::cceh
