// CCEH: creation, opening, the count after a crash, closing. What an opening makes of the directory
// is recover.hpp's.
//
// u64 tables   every segment is named by the directory: allocation state is whole after reading it.
// byte tables  records are found in the slots: after a crash (not after a clean close) they are
//              collected in the background. Reads and writes go on; until it is done, new records
//              take only space that is new.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "engine/cceh/recover.hpp"
#include "engine/cceh/table.hpp"
#include "engine/settings.hpp"

namespace durahash::cceh {

namespace detail {

inline constexpr setting_rule rules[] = {
    {"probe", 1, 256},        // buckets
    {"copy_on_write", 0, 1},  // 0: splits in place, with lazy deletion
    {"segment", 2, 12},       // log2 of its buckets
};

}  // namespace detail

template <medium M, class Kind>
result<engine_plan> table<M, Kind>::plan(const options& how) {
  std::uint64_t values[] = {8, 1, 8};
  if (error e = resolve_settings(engine_kind::cceh, detail::rules, how.settings, values);
      e.code != status::ok)
    return e;
  engine_plan made;
  made.settings[setting::probe] = values[0];
  made.settings[setting::copy_on_write] = values[1];
  made.settings[setting::segment_log2] = values[2];
  made.settings[setting::first_depth] = std::min(
      max_depth, depth_for(how.capacity, std::uint64_t{slots_per_bucket} << values[2], values[0]));
  made.engine_bytes = sizeof(root);
  return made;
}

template <medium M, class Kind>
table<M, Kind>::table(pool<M>& p)
    : frame(p),
      segments_(p, heap_),
      reader_(m_, seeds_, segments_),
      directory_(p, heap_, segments_),
      first_depth_(static_cast<unsigned>(p.block().settings[setting::first_depth])),
      copy_on_write_(p.block().settings[setting::copy_on_write] != 0) {}

// ----------------------------------------------------------------------------------------- opening

template <medium M, class Kind>
error table<M, Kind>::open(const std::string& path, std::vector<std::string>* dropped) {
  if (!settings_are_within(p_.block(), {{setting::probe, 1, 256},
                                        {setting::segment_log2, 2, 12},
                                        {setting::first_depth, 0, max_depth}}) ||
      p_.block().engine_bytes != sizeof(root))
    return refuse_settings(engine_kind::cceh, path);
  bool clean = p_.root().state == pool_state::clean;
  segments_.stripes().begin(!clean && !opens_durable(m_));
  bool restored = frame::begin_open(dropped);
  if (error e = recovery(*this, path, restored, dropped).run(); e.code != status::ok) return e;
  if (dropped != nullptr) {
    frame::finish_salvage(*dropped, size());
    return {status::ok, {}};
  }
  if (clean) records_at_open_ = p_.root().records;
  frame::finish_open(Kind::in_slot || restored, stripes::count,
                     segments_.shape().bytes() << segments_.directory().exponent());
  return {status::ok, {}};
}

// ------------------------------------------------------------------------------------------- count

/// Counts the records and, in byte tables, tells the heap of each. Writers wait stripe by stripe.
template <medium M, class Kind>
bool table<M, Kind>::count_units(const background* asking) {
  std::uint64_t at = 0;
  do {
    if (asking != nullptr && asking->stopping()) return false;
    segment s = segments_.lock(at);
    auto held = held_by(s);
    count_once(s.stripe, [&] { count_stripe(s.stripe); });
    at = segments_.end_of_stripe(s);
  } while (at != 0);
  std::scoped_lock lock(segments_.stripes()[stripes::of_escapes].lock);
  count_once(stripes::of_escapes, [&] {
    segments_.stripes()[stripes::of_escapes].records.store(
        static_cast<std::int32_t>(reader_.escaped_count()), std::memory_order_relaxed);
  });
  records_at_open_ = 0;
  return true;
}

/// What a slot no longer names is free only if no crash can bring the slot's old word back: the
/// stripe, which is locked, is made durable first.
template <medium M, class Kind>
void table<M, Kind>::count_stripe(stripe_index stripe) {
  segments_.settle_inherited(stripe);
  std::int32_t count = 0;
  segments_.for_each_of(stripe, [&](const segment& s) {
    reader_.for_each(s, [&](const resident& r) {
      ++count;
      frame::adopt_record(r.value_word);
    });
  });
  segments_.stripes()[stripe].records.store(count, std::memory_order_relaxed);
}

// ------------------------------------------------------------------------------------------- sizes

template <medium M, class Kind>
std::uint64_t table<M, Kind>::slots() {
  std::uint64_t sum = 0;
  segments_.for_each([&](const segment&) { sum += segments_.shape().slots(); });
  return sum;
}

// ------------------------------------------------------------------------------------- clean close

/// From left to right: what is locked stays as it is, and who holds one waits only for one to its
/// right.
template <medium M, class Kind>
void table<M, Kind>::lock_all() {
  std::uint64_t at = 0;
  stripe_index last = stripes::of_escapes;
  do {
    segment s = last != stripes::of_escapes && stripes::of(at) == last ? segments_.of(at)
                                                                       : segments_.lock(at);
    last = s.stripe;
    at = s.end();
  } while (at != 0);
  segments_.stripes()[stripes::of_escapes].lock.lock();
  directory_.lock();  // a directory may move without a stripe
}

/// Of a stripe its first segment tells the name and the end: once it is unlocked others may merge
/// what lies behind.
template <medium M, class Kind>
void table<M, Kind>::unlock_all() {
  directory_.unlock();
  std::uint64_t at = 0;
  do {
    const segment s = segments_.of(at);
    at = segments_.end_of_stripe(s);
    segments_.lock_of(s).unlock();
  } while (at != 0);
  segments_.stripes()[stripes::of_escapes].lock.unlock();
}

}  // namespace durahash::cceh
