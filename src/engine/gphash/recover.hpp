// GPHash: creation, opening, closing. After a crash recovery looks at every state (paper §3.2.3,
// "Recovery"): slots that were claimed are emptied, in every level (hole GPHash 3), what was
// visible is made durable, and records are counted. It does so in the background, a unit of some
// buckets after the other; reads and writes go on.
//
//   S1  A write looks at its key's buckets when they are counted: no slot is claimed, and no
//       record changed, in one that is not.
//   S2  What of a counted bucket was visible when the pool was opened is durable. Until all are
//       counted, readers make durable what they read.
//
// byte tables  the heap is told of the records, too, also after a clean close that saved nothing.
//              Until all is counted, new records take only space that is new.
// Growth, leases and all that is done to a whole table wait for the count.
#pragma once

#include "engine/gphash/table.hpp"
#include "engine/settings.hpp"

namespace durahash::gphash {

namespace detail {

inline constexpr setting_rule rules[] = {
    {"levels", 1, max_levels},
    {"hashes", 1, max_hashes},  // places of a key
    {"slots", 2, max_slots},    // of a bucket
    {"cache", 0, 90},           // copies in DRAM for so many percent of the buckets
    {"cache_policy", 0, 2},     // which ones: replacement_policy
    // of every key of a byte table, which then lies in its slot; 0: keys of any length, in the heap
    {"key_bytes", 0, max_key_bytes},
    {"stop_to_grow", 0, 1},  // writers wait while the table grows, as in the paper
};

/// What a pool of these settings looks like; nothing if no pool can.
inline std::optional<shape> shape_of(std::uint64_t levels, std::uint64_t hashes,
                                     std::uint64_t slots, std::uint64_t key_bytes = 0) {
  if (levels < 1 || levels > max_levels || hashes < 1 || hashes > max_hashes || slots < 2 ||
      slots > max_slots || !std::has_single_bit(slots))
    return {};
  if (levels * hashes * slots > host_warp::lanes) return {};
  if (key_bytes % 8 != 0 || key_bytes > max_key_bytes) return {};
  return shape{static_cast<unsigned>(levels), static_cast<unsigned>(hashes),
               static_cast<unsigned>(slots), static_cast<unsigned>(std::countr_zero(slots)),
               static_cast<unsigned>(key_bytes)};
}

}  // namespace detail

template <medium M, class Kind>
result<engine_plan> table<M, Kind>::plan(const options& how) {
  std::uint64_t values[] = {2, 2, 8, 0, 0, 0, 0};
  if (error e = resolve_settings(engine_kind::gphash, detail::rules, how.settings, values);
      e.code != status::ok)
    return e;
  auto shape = detail::shape_of(values[0], values[1], values[2]);
  if (!shape)
    return error{status::invalid_argument,
                 "the settings levels, hashes and slots must multiply to at most " +
                     std::to_string(host_warp::lanes) + ", and slots must be a power of two; not " +
                     std::to_string(values[0]) + ", " + std::to_string(values[1]) + " and " +
                     std::to_string(values[2])};
  std::uint64_t key_bytes = values[5];
  if (key_bytes % 8 != 0)
    return error{status::invalid_argument,
                 "the setting key_bytes must be 0 or a multiple of 8 from " +
                     std::to_string(min_key_bytes) + " to " + std::to_string(max_key_bytes) +
                     ", not " + std::to_string(key_bytes)};
  if (key_bytes != 0 && how.key.value_or(data_kind::bytes) != data_kind::bytes)
    return error{status::invalid_argument,
                 "the setting key_bytes is for tables whose keys are bytes; a u64 key lies in its "
                 "slot anyway"};
  if ((!Kind::in_slot || key_bytes != 0) && values[3] != 0)
    return error{status::invalid_argument, "the setting cache is for tables of u64 to u64"};
  engine_plan made;
  std::copy(values, values + 3, made.settings.begin());
  made.settings[setting::cache] = values[3];
  made.settings[setting::cache_policy] = values[4];
  made.settings[setting::key_bytes] = key_bytes;
  made.settings[setting::stop_to_grow] = values[6];
  made.settings[setting::first_top] = top_for(how.capacity, *shape);
  made.engine_bytes = sizeof(root);
  return made;
}

template <medium M, class Kind>
table<M, Kind>::table(pool<M>& p)
    : frame(p),
      shape_(detail::shape_of(
                 p.block().settings[setting::levels], p.block().settings[setting::hashes],
                 p.block().settings[setting::slots], p.block().settings[setting::key_bytes])
                 .value_or(shape{})),
      places_(shape_, seeds_),
      first_top_(static_cast<unsigned>(p.block().settings[setting::first_top])),
      cache_percent_(Kind::in_slot ? static_cast<unsigned>(std::min<std::uint64_t>(
                                         p.block().settings[setting::cache], 90))
                                   : 0),
      cache_policy_(static_cast<replacement_policy>(p.block().settings[setting::cache_policy] % 3)),
      stop_to_grow_(p.block().settings[setting::stop_to_grow] != 0),
      tells_(cache_percent_ != 0) {}

template <medium M, class Kind>
table<M, Kind>::~table() {
  background_.stop();
}

// ----------------------------------------------------------------------------------------- opening

template <medium M, class Kind>
error table<M, Kind>::open(const std::string& path, std::vector<std::string>* dropped) {
  if (shape_.levels == 0 || (shape_.key_bytes != 0) != Kind::fixed_key ||
      first_top_ + 1 < min_bottom + shape_.levels || first_top_ >= level_sizes ||
      p_.block().engine_bytes != sizeof(root))
    return {status::unusable,
            "cannot use " + path +
                " as a pool: its superblock holds settings that the engine gphash does not allow"};

  locks_ = zeroed_array<spin_lock>(std::size_t{1} << stripe_bits_on<M>);
  constexpr std::size_t stripes = std::size_t{1} << stripe_bits_on<M>;
  if constexpr (Kind::in_slot)
    stripes_ = p_.readers().template zeroes<stripe_state>(stripes, p_.block().uuid);
  else stripes_ = zeroed_array<stripe_state>(stripes);
  bool clean = p_.root().state == pool_state::clean;
  if (!p_.read_only()) {
    [[maybe_unused]] durable as_it_is = fence(m_, p_.flush_header(), "gphash.open.header");
  }
  bool restored = frame::begin_open(dropped);
  std::vector<level_view> found;
  if (error e = read_levels(path, restored, dropped, found); e.code != status::ok) return e;
  for (int i = 0; dropped == nullptr && i < static_cast<int>(first_fingerprint); ++i)
    if (impossible_escape(i))
      return {status::unusable, "cannot use " + path + " as a pool: its escape slot " +
                                    std::to_string(i) + " holds what cannot be there"};
  if (dropped != nullptr) {
    if (error e = salvage(path, found, *dropped); e.code != status::ok) return e;
    frame::finish_salvage(*dropped, size());
    return {status::ok, {}};
  }
  if (clean) records_at_open_ = p_.root().records;
  else begin_sweep();
  std::uint64_t bytes = 0, buckets = 0;
  for (const level_view& l : levels().all())
    bytes += shape_.level_bytes(l.log2), buckets += l.buckets();
  frame::finish_open(Kind::in_slot || restored, buckets >> unit_log2, bytes);
  return {status::ok, {}};
}

/// The levels that the root names; the first ones of a new pool are made. With `dropped`, those
/// that cannot be are told there and left out.
template <medium M, class Kind>
error table<M, Kind>::read_levels(const std::string& path, bool restored,
                                  std::vector<std::string>* dropped,
                                  std::vector<level_view>& found) {
  auto damaged = [&](const std::string& what) -> error {
    return {status::unusable, "cannot use " + path + " as a pool: " + what};
  };
  geometry g{load(m_, root_of_table().geometry)};
  if (g.none()) {
    if (std::string lost = frame::lost_root(); !lost.empty() && dropped == nullptr)
      return damaged(lost);
    if (p_.read_only()) return damaged("it has no levels");
    if (dropped != nullptr)
      dropped->push_back("no levels are named, as in a new pool; all records are lost");
    if (status s = build({}, first_top_); s != status::ok)
      return frame::not_created(path, s, "levels");
    found.assign(levels().at, levels().at + levels().count);
    return {status::ok, {}};
  }
  if (!g.sound() || g.bottom() < min_bottom || g.bottom() + shape_.levels > level_sizes) {
    std::string wrong = "the word that says where its levels begin, at offset " +
                        std::to_string(p_.offset_of(&root_of_table().geometry)) +
                        ", is damaged (check bits)";
    if (dropped == nullptr) return damaged(wrong);
    dropped->push_back(wrong + "; all records are lost");
    return {status::ok, {}};
  }
  for (unsigned n = 0; n < shape_.levels; ++n) {
    unsigned log2 = g.bottom() + shape_.levels - 1 - n;
    pm<std::uint64_t>& word = level_word(g.bank(), log2);
    checked_place at{load(m_, word)};
    std::uint64_t bytes = shape_.level_bytes(log2);
    std::string wrong;
    if (at.none() || !at.sound() || at.exponent() != log2) wrong = "is damaged (check bits)";
    else if (at.offset() < p_.block().heap_offset || bytes > p_.end() ||
             at.offset() > p_.end() - bytes)
      wrong = "points outside the pool";
    else if (std::any_of(found.begin(), found.end(),
                         [&](const level_view& l) { return l.offset == at.offset(); }) ||
             !(restored ? heap_.holds(at.offset(), bytes) : heap_.adopt(at.offset(), bytes)))
      wrong = "names space that is not its own";
    if (wrong.empty()) {
      found.push_back(view_of(at.offset(), log2));
      continue;
    }
    wrong = "the word of the level of 2^" + std::to_string(log2) + " buckets at offset " +
            std::to_string(p_.offset_of(&word)) + " " + wrong;
    if (dropped == nullptr) return damaged(wrong);
    dropped->push_back(wrong + "; its records are lost");
  }
  if (found.size() == shape_.levels) switch_levels(plan_levels(found));
  return {status::ok, {}};
}

/// Neither what a record there is, nor what a crash leaves.
template <medium M, class Kind>
bool table<M, Kind>::impossible_escape(int index) const {
  std::uint64_t state = load(m_, *escape_slot(index).state);
  return state != empty_state &&
         !(Kind::in_slot && (state == claimed_state || state == escape_fingerprint));
}

/// Returns whether it holds a record; makes it empty if it was neither that nor empty.
template <medium M, class Kind>
bool table<M, Kind>::sweep_slot(const slot_ref& at) {
  std::uint64_t state = load(m_, *at.state);
  if (state >= first_fingerprint) return true;
  if (state != empty_state && !p_.read_only()) {
    durahash::check(p_.changing(), "a pool that a crash left is changing");
    if (!M::planted("gphash-claimed-slots-stay-claimed")) store(m_, *at.state, empty_state);
    if (opens_durable(m_)) [[maybe_unused]]
      flushed with_the_next_commit = flush(m_, extent_of(*at.state), "gphash.sweep.slot");
  }
  return false;
}

/// After a crash: until all buckets are counted, no operation takes the short way.
template <medium M, class Kind>
void table<M, Kind>::begin_sweep() {
  if constexpr (Kind::in_slot) sweep_escapes();
  when_counted_ = &levels();
  levels_view& until_then = views_.emplace_back(levels());
  until_then.is_short = false, until_then.last_long = ~std::uint64_t{0};
  until_then.cache = nullptr;
  levels_.store(&until_then, std::memory_order_release);
}

template <medium M, class Kind>
void table<M, Kind>::sweep_escapes() {
  for (int i = 0; i < static_cast<int>(first_fingerprint); ++i)
    counted_records_ += sweep_slot(escape_slot(i));
  // emptied for good: a pool may be clean from now on
  if (sweep_writes_back())
    end_sweep(flush(m_, extent_of(root_of_table().escapes), "gphash.sweep.escapes"));
}

/// Of buckets side by side. What the process that died had made visible and perhaps not durable is
/// written back (hole X1).
template <medium M, class Kind>
void table<M, Kind>::sweep_buckets(const level_view& l, std::uint64_t first, std::uint64_t count) {
  std::uint64_t records = 0;
  for (std::uint64_t index = first; index < first + count; ++index)
    for (unsigned i = 0; i < shape_.slots; ++i)
      records += sweep_slot(slot_at(bucket_at(l, index), i));
  if (sweep_writes_back())
    end_sweep(flush(m_, extent{bucket_at(l, first), shape_.bucket_bytes() * count},
                    "gphash.sweep.levels"));
  counted_records_.fetch_add(records, std::memory_order_relaxed);
}

/// The unit that the bucket lies in is counted when this returns. Stripes may be locked.
template <medium M, class Kind>
void table<M, Kind>::count_unit(const levels_view& v, unsigned level, std::uint64_t index) {
  constexpr std::uint64_t buckets = 1 << unit_log2;
  const level_view& l = v.at[level];
  const std::uint64_t unit = (v.first_bucket[level] + index) >> unit_log2;
  std::scoped_lock lock(unit_locks_[unit % std::size(unit_locks_)]);
  count_once(unit, [&] {
    const std::uint64_t first = index & ~(buckets - 1);
    if constexpr (!Kind::in_slot)
      for (std::uint64_t n = first; n < first + buckets; ++n)
        for_each_resident(bucket_at(l, n),
                          [&](const resident& r) { frame::adopt_record(r.value_word); });
    if (when_counted_ != nullptr) sweep_buckets(l, first, buckets);
  });
}

/// Those that a write of a key with these places is about to look at (S1).
template <medium M, class Kind>
[[gnu::noinline]] void table<M, Kind>::count_places(const levels_view& v, const candidates& s) {
  if (M::planted("gphash-a-write-overtakes-the-sweep")) return;
  for (unsigned l = 0; s.escape < 0 && l < v.count; ++l)
    for (unsigned which = 0; which < shape_.hashes; ++which)
      count_unit(v, l, number(v.at[l], s.place[which]));
}

template <medium M, class Kind>
bool table<M, Kind>::count_units(const background* asking) {
  if (Kind::in_slot && when_counted_ == nullptr) return true;  // nothing is to be swept
  const levels_view& v = levels();                             // growth waits for this
  for (unsigned l = 0; l < v.count; ++l)
    for (std::uint64_t index = 0; index < v.at[l].buckets(); index += 1 << unit_log2) {
      if (asking != nullptr && asking->stopping()) return false;
      count_unit(v, l, index);
    }
  if (when_counted_ == nullptr) return true;  // the pool was clean
  records_at_open_ = counted_records_;
  levels_.store(when_counted_, std::memory_order_release);
  return true;
}

// ------------------------------------------------------------------------------------------- sizes

template <medium M, class Kind>
std::uint64_t table<M, Kind>::size() {
  await_count();
  return records_of(records_at_open_, stripes_, counting_stripes_);
}

template <medium M, class Kind>
std::uint64_t table<M, Kind>::slots() {
  return slots_of(shape_, top_log2());
}

// ------------------------------------------------------------------------------------- clean close

template <medium M, class Kind>
void table<M, Kind>::lock_all() {
  await_count();  // it stores, and locks no stripe
  resize_lock_.lock();
  lock_stripes(levels());
  locked_ = &levels();
}

template <medium M, class Kind>
void table<M, Kind>::unlock_all() {
  unlock_stripes(*locked_);  // others may be in use since
  resize_lock_.unlock();
}

// ----------------------------------------------------------------------------------------- salvage

/// Keeps the records that verify. If there is something that does not, the whole table is built
/// anew from them.
template <medium M, class Kind>
error table<M, Kind>::salvage(const std::string& path, std::span<const level_view> found,
                              std::vector<std::string>& dropped) {
  if (!p_.may_change())
    return {status::io_error,
            "cannot salvage " + path + ": " + std::string(message(status::io_error))};
  std::vector<found_record> kept;
  for (const level_view& l : found)
    for (std::uint64_t index = 0; index < l.buckets(); ++index)
      for_each_resident(bucket_at(l, index), [&](const resident& r) {
        std::string why = fault_of(r);
        if (why.empty() && !belongs(l, index, r.hash)) why = "it is out of place";
        if (why.empty()) kept.push_back(r);
        else dropped.push_back(where(l, index) + ": dropped a record, " + why);
      });
  std::stable_sort(kept.begin(), kept.end(), live_record::before);
  std::vector<found_record> once;
  for (const found_record& r : kept) {
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
  for (int i = 0; i < static_cast<int>(first_fingerprint); ++i) {
    if (!impossible_escape(i)) continue;
    dropped.push_back("escape slot " + std::to_string(i) + ": dropped a record, its state is none");
    [[maybe_unused]] durable done =
        publish(m_, *escape_slot(i).state, empty_state, after_nothing("the record is given up"),
                "gphash.salvage.drop");
  }
  if (!dropped.empty()) {
    unsigned top = found.empty() ? first_top_ : std::max(first_top_, found.front().log2);
    if (status s = build(once, std::min(top, top_for(once.size(), shape_))); s != status::ok)
      return {s, "cannot salvage " + path + ": " + std::string(message(s))};
    if (found.size() < shape_.levels)
      // build knew of none
      for (const level_view& l : found) heap_.free(l.offset, shape_.level_bytes(l.log2));
  }
  if constexpr (Kind::in_slot) sweep_escapes();
  for (const level_view& l : levels().all()) sweep_buckets(l, 0, l.buckets());
  records_at_open_ = counted_records_;
  return {status::ok, {}};
}

}  // namespace durahash::gphash
