// GPHash: a damaged pool is opened with the records that verify. If there is something that does
// not, the whole table is built anew from them.
#pragma once

#include "engine/frame/refusals.hpp"
#include "engine/frame/salvage.hpp"
#include "engine/gphash/resize.hpp"
#include "engine/gphash/table.hpp"

namespace durahash::gphash {

template <medium M, class Kind>
class table<M, Kind>::salvager {
 public:
  /// What is dropped is told in `dropped`.
  salvager(table& t, const std::string& path, std::vector<std::string>& dropped)
      : t_(t), m_(t.m_), b_(t.buckets_), path_(path), dropped_(dropped) {}

  /// `found`: the levels that there are.
  error salvage(std::span<const level_view> found) {
    if (!t_.p_.may_change()) return cannot_salvage(path_, status::io_error);
    for (const level_view& l : found) read(l);
    std::stable_sort(kept_.begin(), kept_.end(), live_record::before);
    kept_ = each_once<Kind>(m_, t_.p_, t_.heap_, kept_, dropped_);
    drop_escapes();
    if (!dropped_.empty())
      if (error e = build_anew(found); e.code != status::ok) return e;
    sweep();
    t_.records_at_open_ = t_.sweep_.records();
    return {status::ok, {}};
  }

 private:
  /// Keeps what verifies.
  void read(const level_view& l) {
    for (std::uint64_t index = 0; index < l.buckets(); ++index)
      b_.for_each_resident(b_.at(l, index), [&](const resident<Kind>& r) {
        std::string why = b_.fault_of(r);
        if (why.empty() && !b_.belongs(l, index, r.hash)) why = "it is out of place";
        if (why.empty()) kept_.push_back(r);
        else dropped_.push_back(name_of_bucket(l, index) + ": dropped a record, " + why);
      });
  }

  void drop_escapes() {
    for (int i = 0; i < static_cast<int>(first_fingerprint); ++i) {
      if (!b_.is_impossible_escape(i)) continue;
      dropped_.push_back("escape slot " + std::to_string(i) +
                         ": dropped a record, its state is none");
      [[maybe_unused]] durable done =
          publish(m_, *b_.escape_slot(i).state, empty_state,
                  after_nothing("the record is given up"), "gphash.salvage.drop");
    }
  }

  error build_anew(std::span<const level_view> found) {
    const unsigned first_top = t_.cells_.first_top(),
                   top = found.empty() ? first_top : std::max(first_top, found.front().log2);
    const unsigned enough = top_for(kept_.size(), b_.form());
    if (status s = rebuilding(t_).build(kept_, std::min(top, enough)); s != status::ok)
      return cannot_salvage(path_, s);
    if (found.size() < b_.form().levels)  // build knew of none
      for (const level_view& l : found) t_.cells_.free(l);
    return {status::ok, {}};
  }

  void sweep() {
    if constexpr (Kind::in_slot) t_.sweep_.escapes();
    for (const level_view& l : t_.levels_.now().all()) t_.sweep_.buckets_of(l, 0, l.buckets());
  }

  table& t_;
  M& m_;
  const decltype(table::buckets_)& b_;
  const std::string& path_;
  std::vector<std::string>& dropped_;
  std::vector<record_of<Kind>> kept_;
};

}  // namespace durahash::gphash
