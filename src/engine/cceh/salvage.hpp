// CCEH: salvage. What verifies is kept, and the rest is told.
#pragma once

#include "engine/cceh/check.hpp"
#include "engine/cceh/table.hpp"

namespace durahash::cceh {

/// Keeps the records that verify. If there is one that does not, the whole table is built anew from
/// the others.
template <medium M, class Kind>
error table<M, Kind>::salvage(const std::string& path, const std::vector<leaf>& leaves,
                              std::vector<std::string>& dropped) {
  std::vector<live_record> kept;
  std::vector<std::uint64_t> segments;
  for (const leaf& l : leaves) {
    if (l.state == detail::node_state::damaged) continue;
    for (std::uint64_t i = l.where.begin; i < l.where.begin + l.where.count;
         i += std::max<std::uint64_t>(l.where.count / 2, 1)) {
      bool in_left = i < l.where.begin + (l.where.count + 1) / 2;
      checked_place half = in_left ? l.left : l.right;
      if (!in_left && l.left == l.right) continue;
      unsigned global_depth = segments_.directory().exponent();
      segment s;
      s.entry = half;
      s.prefix = prefix_of(global_depth == 0 ? 0 : i << (64 - global_depth), half.exponent());
      segments.push_back(half.offset());
      salvage_segment(s, kept, dropped);
    }
  }
  std::sort(segments.begin(), segments.end());
  segments.erase(std::unique(segments.begin(), segments.end()), segments.end());
  std::sort(kept.begin(), kept.end(), live_record::before);
  std::vector<live_record> once;
  for (const live_record& r : kept) {
    once.push_back(r);
    std::string why;
    if (seen_before<Kind>(m_, p_, once, once.size() - 1)) why = "its key is there twice";
    if constexpr (!Kind::in_slot)
      if (why.empty() && !heap_.adopt(r.value_word, record_at(m_, p_, r.value_word)->bytes()))
        why = "its bytes are another's";
    if (why.empty()) continue;
    once.pop_back();
    dropped.push_back("dropped a record, " + why);
  }
  auto refused = [&](status s) -> error {
    return {s, "cannot salvage " + path + ": " + std::string(message(s))};
  };
  if (!p_.may_change()) return refused(status::io_error);
  salvage_escapes(dropped);
  if (dropped.empty()) {
    repair(leaves);
    directory_.count_segments();
  } else {
    if (status s = build(once, 0, p_.flush_header()); s != status::ok) return refused(s);
    for (std::uint64_t offset : segments) heap_.free(offset, segments_.shape().bytes());
  }
  records_at_open_ = once.size() + reader_.escaped_count();
  return {status::ok, {}};
}

/// Empties the escape slots whose keys cannot be there. `build` makes that durable.
template <medium M, class Kind>
void table<M, Kind>::salvage_escapes(std::vector<std::string>& dropped) {
  bucket& b = segments_.root_of_table().escapes;
  for (std::uint32_t wrong = impossible_escapes<Kind>(m_, b); wrong != 0; wrong &= wrong - 1) {
    slot& at = b.slots[std::countr_zero(wrong)];
    dropped.push_back("escape slot at offset " + std::to_string(p_.offset_of(&at)) +
                      ": dropped a record, its key cannot be there");
    store(m_, at.key, empty_word);
  }
}

/// Tells the records of a segment that verify.
template <medium M, class Kind>
void table<M, Kind>::salvage_segment(const segment& s, std::vector<live_record>& kept,
                                     std::vector<std::string>& dropped) const {
  reader_.for_each(s, [&](const resident& r) {
    std::string why = segments_.shape().may_hold(r.bucket, r.hash)
                          ? durahash::fault_of<Kind>(m_, p_, seeds_, r, hash_of<Kind>)
                          : "it is out of place";
    if (!why.empty())
      return dropped.push_back(place_of(s, r.bucket) + ": dropped a record, " + why);
    kept.push_back(r);
    if (!reader_.reaches(s, r))
      dropped.push_back(place_of(s, r.bucket) + ": a record that lay in front of one here is lost");
  });
}

}  // namespace durahash::cceh
