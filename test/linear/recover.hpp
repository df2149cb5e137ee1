// Linear: creation, opening, salvage. Recovery reads one word: what a crash left of another array,
// and of records that no slot names, is free space. What a process that was killed left in the
// caches is made durable at once.
#pragma once

#include "engine/frame/arrays.hpp"
#include "engine/frame/salvage.hpp"
#include "engine/settings.hpp"
#include "test/linear/table.hpp"

namespace durahash::linear {

template <medium M, class Kind>
result<engine_plan> table<M, Kind>::plan(const options& how) {
  constexpr setting_rule rules[] = {{"reach", min_reach, max_reach}};
  std::uint64_t values[] = {usual_reach};
  if (error e = resolve_settings(kind_of_linear, rules, how.settings, values); e.code != status::ok)
    return e;
  engine_plan made;
  made.settings[setting::reach] = values[0];
  made.settings[setting::first_log2] = log2_for(how.capacity);
  made.engine_bytes = sizeof(root);
  return made;
}

template <medium M, class Kind>
table<M, Kind>::table(pool<M>& p)
    : frame(p),
      reach_(p.block().settings[setting::reach]),
      first_log2_(static_cast<unsigned>(p.block().settings[setting::first_log2])) {}

template <medium M, class Kind>
error table<M, Kind>::open(const std::string& path, std::vector<std::string>* dropped) {
  if (!settings_are_within(p_.block(), {{setting::reach, min_reach, max_reach},
                                        {setting::first_log2, min_log2, max_log2}}) ||
      p_.block().engine_bytes != sizeof(root))
    return refuse_settings(kind_of_linear, path);
  unsettled_.resize(1, false);
  bool clean = p_.root().state == pool_state::clean, restored = frame::begin_open(dropped);
  if (error e = open_array(path, restored, dropped); e.code != status::ok) return e;
  if (dropped != nullptr) {
    if (error e = salvage(path, *dropped); e.code != status::ok) return e;
    frame::finish_salvage(*dropped, size());
    return {status::ok, {}};
  }
  if (clean) records_ = static_cast<std::int64_t>(p_.root().records);
  frame::finish_open(Kind::in_slot || restored, 1, current().bytes());
  return {status::ok, {}};
}

template <medium M, class Kind>
error table<M, Kind>::open_array(const std::string& path, bool restored,
                                 std::vector<std::string>* dropped) {
  checked_place made{load(m_, root_of_table().array)};
  if (made.none() && dropped == nullptr) {
    if (std::string lost = frame::lost_root(); !lost.empty()) return cannot_use(path, lost);
    if (p_.read_only()) return cannot_use(path, "it has no array");
    if (!p_.may_change()) return cannot_use(path, status::io_error);
    status s = build({}, first_log2_, p_.flush_header());
    return s == status::ok ? error{s, {}} : frame::not_created(path, s, "array");
  }
  std::uint64_t bytes = sizeof(slot) << made.exponent(), offset = made.offset();
  std::string wrong;
  if (made.none()) wrong = "names no array, as in a new pool";
  else if (!made.sound() || made.exponent() < min_log2 || made.exponent() > max_log2)
    wrong = "is damaged (check bits)";
  else if (const char* fault = fault_of_place(p_, heap_, offset, bytes, restored)) wrong = fault;
  if (wrong.empty()) {
    array_.store(place_view::of(made, 0).word, std::memory_order_release);
    flushed started = p_.flush_header();
    if (p_.root().state != pool_state::clean && !opens_durable(m_))
      started += flush(m_, extent{p_.at(offset), bytes}, "linear.open.slots");
    [[maybe_unused]] durable all = fence(m_, std::move(started), "linear.open.all");
    return {status::ok, {}};
  }
  wrong = "the array's word at offset " + std::to_string(p_.block().engine_offset) + " " + wrong;
  if (dropped == nullptr) return cannot_use(path, wrong);
  dropped->push_back(wrong + "; all records are lost");
  return {status::ok, {}};
}

/// Writers wait for all of it.
template <medium M, class Kind>
bool table<M, Kind>::count_units(const background* asking) {
  if (asking != nullptr && asking->stopping()) return false;
  std::scoped_lock lock(lock_);
  frame::count_once(0, [&] {
    std::int64_t found = 0;
    for_each_resident(current(), [&](const resident& r) {
      ++found;
      frame::adopt_record(r.value_word);
    });
    records_ = found;
  });
  return true;
}

/// Tells the records that verify, and what does not.
template <medium M, class Kind>
void table<M, Kind>::salvage_array(const array& a, std::vector<live_record>& found,
                                   std::vector<std::string>& dropped) const {
  for (std::uint64_t index = 0; index < a.slots(); ++index)
    if (load(m_, a[index].state) > state_removed)
      dropped.push_back("slot " + std::to_string(index) + ": it is in no state that there is");
  for_each_resident(a, [&](const resident& r) {
    std::string which = "slot " + std::to_string(r.index) + ": ";
    std::string why = distance_of(a, r) < reach_in(a) ? fault_of(r) : "it is out of place";
    if (!why.empty()) return dropped.push_back(which + "dropped a record, " + why);
    found.push_back(r);
    if (!on_path(a, r)) dropped.push_back(which + "a record that lay in front of it is lost");
  });
}

/// Keeps the records that verify. If there is one that does not, they get an array of their own.
template <medium M, class Kind>
error table<M, Kind>::salvage(const std::string& path, std::vector<std::string>& dropped) {
  std::vector<live_record> found;
  array a = current();
  if (!a.place.none()) salvage_array(a, found, dropped);
  std::sort(found.begin(), found.end(), live_record::before);
  const std::vector<live_record> kept = each_once<Kind>(m_, p_, heap_, found, dropped);
  records_ = static_cast<std::int64_t>(kept.size());
  if (dropped.empty()) return {status::ok, {}};
  status s = status::io_error;
  if (p_.may_change()) s = build(kept, log2_for(kept.size()), p_.flush_header());
  return s == status::ok ? error{s, {}} : cannot_salvage(path, s);
}

}  // namespace durahash::linear
