// CCEH: salvage. What verifies is kept, and the rest is told.
#pragma once

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "engine/cceh/build.hpp"
#include "engine/cceh/table.hpp"
#include "engine/frame/refusals.hpp"
#include "engine/frame/salvage.hpp"

namespace durahash::cceh {

/// Keeps the records of an opening that verify. If there is one that does not, the whole table is
/// built anew from the others.
template <medium M, class Kind>
class table<M, Kind>::salvager {
 public:
  salvager(table& t, const std::string& path, std::vector<std::string>& dropped)
      : t_(t), m_(t.m_), segments_(t.segments_), path_(path), dropped_(dropped) {}

  error run(const std::vector<leaf>& leaves) {
    for (const leaf& l : leaves) read(l);
    std::sort(offsets_.begin(), offsets_.end());
    offsets_.erase(std::unique(offsets_.begin(), offsets_.end()), offsets_.end());
    std::sort(kept_.begin(), kept_.end(), live_record::before);
    const std::vector<live_record> once = each_once<Kind>(m_, t_.p_, t_.heap_, kept_, dropped_);
    if (!t_.p_.may_change()) return cannot_salvage(path_, status::io_error);
    empty_impossible_escapes();
    if (dropped_.empty()) {
      t_.directory_.repair(leaves);
      t_.directory_.count_segments();
    } else {
      if (status s = builder(t_, 0).build(once, t_.p_.flush_header()); s != status::ok)
        return cannot_salvage(path_, s);
      for (std::uint64_t offset : offsets_) t_.heap_.free(offset, segments_.shape().bytes());
    }
    t_.records_at_open_ = once.size() + t_.reader_.escaped_count();
    return {status::ok, {}};
  }

 private:
  /// Its segment, or those of its two halves.
  void read(const leaf& l) {
    if (l.state == detail::node_state::damaged) return;
    const unsigned global_depth = segments_.directory().exponent();
    for (std::uint64_t i = l.where.begin; i < l.where.begin + l.where.count;
         i += std::max<std::uint64_t>(l.where.count / 2, 1)) {
      bool in_left = i < l.where.begin + (l.where.count + 1) / 2;
      checked_place half = in_left ? l.left : l.right;
      if (!in_left && l.left == l.right) continue;
      segment s;
      s.entry = half;
      s.prefix = prefix_of(global_depth == 0 ? 0 : i << (64 - global_depth), half.exponent());
      offsets_.push_back(half.offset());
      read(s);
    }
  }

  /// Keeps those of its records that verify.
  void read(const segment& s) {
    t_.reader_.for_each(s, [&](const resident& r) {
      std::string why = segments_.shape().may_hold(r.bucket, r.hash)
                            ? fault_of<Kind>(m_, t_.p_, t_.seeds_, r, hash_of<Kind>)
                            : "it is out of place";
      if (!why.empty())
        return dropped_.push_back(place_of(s, r.bucket) + ": dropped a record, " + why);
      kept_.push_back(r);
      if (!t_.reader_.reaches(s, r))
        dropped_.push_back(place_of(s, r.bucket) +
                           ": a record that lay in front of one here is lost");
    });
  }

  /// Those whose keys cannot be there. What follows makes that durable.
  void empty_impossible_escapes() {
    bucket& b = segments_.root_of_table().escapes;
    for (std::uint32_t wrong = impossible_escapes<Kind>(m_, b); wrong != 0; wrong &= wrong - 1) {
      slot& at = b.slots[std::countr_zero(wrong)];
      dropped_.push_back("escape slot at offset " + std::to_string(t_.p_.offset_of(&at)) +
                         ": dropped a record, its key cannot be there");
      store(m_, at.key, empty_word);
    }
  }

  table& t_;
  M& m_;
  segments_type& segments_;
  const std::string& path_;
  std::vector<std::string>& dropped_;
  std::vector<live_record> kept_;
  std::vector<std::uint64_t> offsets_;  // of the segments that were read
};

}  // namespace durahash::cceh
