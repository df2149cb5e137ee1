// Linear: verifies every invariant, and tells figures and what lies where.
#pragma once

#include "engine/frame/reached.hpp"
#include "test/linear/table.hpp"

namespace durahash::linear {

/// N2: whether a search for the record gets as far as its slot.
template <medium M, class Kind>
bool table<M, Kind>::on_path(const array& a, const resident& r) const {
  for (std::uint64_t n = 0; n < distance_of(a, r); ++n)
    if (load(m_, a[a.home_of(r.hash) + n].state) == state_empty) return false;
  return distance_of(a, r) < reach_in(a);
}

template <medium M, class Kind>
std::uint64_t table<M, Kind>::check_units(violations& violated, std::uint64_t& reached_bytes) {
  array a = current();
  checked_place on_medium{load(m_, root_of_table().array)};
  if (!on_medium.sound() || !a.place.mirrors(on_medium))
    violated("the root does not name the array in use");
  reached_parts<M, Kind> reached(p_, heap_, violated, reached_bytes);
  reached.add(a.place.offset(), a.bytes(), [] { return std::string("the array"); });
  for (std::uint64_t index = 0; index < a.slots(); ++index)
    if (load(m_, a[index].state) > state_removed)
      violated("slot " + std::to_string(index) + " is in no state that there is");
  std::vector<live_record> found;
  for_each_resident(a, [&](const resident& r) {
    found.push_back(r);
    const std::string which = "slot " + std::to_string(r.index);
    if (!on_path(a, r)) violated(which + ": a search for its key ends before it gets here");
    if (std::string fault = fault_of(r); !fault.empty()) violated(which + ": " + fault);
    reached.add_record(r, [&] { return which; });
  });
  reached.each_is_there_once(found, "");
  return found.size();
}

template <medium M, class Kind>
void table<M, Kind>::describe(table_stats& stats) {
  [[maybe_unused]] auto guard = reading();
  array a = current();
  std::uint64_t removed = 0, live = 0, distances = 0;
  for (std::uint64_t index = 0; index < a.slots(); ++index)
    removed += load(m_, a[index].state) == state_removed;
  for_each_resident(a, [&](const resident& r) {
    ++live;
    distances += distance_of(a, r) + 1;
  });
  add_figures(stats,
              {{"removed_slots", removed},
               {"positive_probe_mean", live == 0 ? 0 : static_cast<double>(distances) / live},
               {"resizes", resizes_.load()}});
}

// ------------------------------------------------------------------------------- what lies where

template <medium M, class Kind>
void table<M, Kind>::each_part_of_table(part_visitor& v) {
  array a = current();
  std::uint64_t root_word = p_.offset_of(&root_of_table().array);
  v.visit({.kind = "root", .offset = root_word, .bytes = sizeof(root), .listed = true},
          [&](pool_part& into) {
            into.name = "root";
            into.add("array", a.place.offset());
            into.add("reach", reach_);
          });
  v.visit({.kind = "array",
           .offset = a.place.offset(),
           .bytes = a.bytes(),
           .named_by = root_word,
           .listed = true},
          [&](pool_part& into) {
            into.name = "array";
            into.add("slots", a.slots());
          });
  for (std::uint64_t index = 0; index < a.slots(); ++index) each_part_of_slot(a, index, nullptr, v);
}

template <medium M, class Kind>
void table<M, Kind>::each_part_of_slot(const array& a, std::uint64_t index, const key_type* wanted,
                                       part_visitor& v) const {
  slot& s = a[index];
  auto r = resident_at(a, index);
  v.visit({.kind = "slot",
           .offset = p_.offset_of(&s),
           .bytes = sizeof s,
           .state = r                                  ? "live"
                    : load(m_, s.state) == state_empty ? "empty"
                                                       : "removed"},
          [&](pool_part& into) {
            into.name = "slot " + std::to_string(index & (a.slots() - 1));
            if (!r) return;
            into.add("hash", hex(r->hash));
            add_record<Kind>(m_, p_, *r, wanted, into);
          });
  if (r) visit_record<Kind>(m_, p_, *r, p_.offset_of(&s.value), v);
}

template <medium M, class Kind>
void table<M, Kind>::each_candidate(key_type key, part_visitor& v) {
  std::uint64_t hash = target_of(key);
  array a = current();
  lookup at = walk(a, hash, key);
  v.visit({.kind = "search",
           .offset = p_.offset_of(&root_of_table().array),
           .bytes = 0,
           .listed = true},
          [&](pool_part& into) {
            into.name = "search";
            into.add("hash", hex(hash));
            into.add("home_slot", a.home_of(hash));
            into.add("slots", at.looked);
          });
  for (std::uint64_t n = 0; n < at.looked; ++n) each_part_of_slot(a, a.home_of(hash) + n, &key, v);
}

}  // namespace durahash::linear
