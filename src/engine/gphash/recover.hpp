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

#include "engine/gphash/count.hpp"
#include "engine/gphash/resize.hpp"
#include "engine/gphash/salvage.hpp"
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
      buckets_(p,
               detail::shape_of(
                   p.block().settings[setting::levels], p.block().settings[setting::hashes],
                   p.block().settings[setting::slots], p.block().settings[setting::key_bytes])
                   .value_or(gphash::shape{}),
               seeds_),
      levels_(shape(), Kind::in_slot,
              Kind::in_slot ? static_cast<unsigned>(
                                  std::min<std::uint64_t>(p.block().settings[setting::cache], 90))
                            : 0,
              static_cast<replacement_policy>(p.block().settings[setting::cache_policy] % 3)),
      cells_(p, heap_, shape()),
      need_(p.block().settings[setting::stop_to_grow] == 0),
      claims_(p, buckets_, need_),
      tells_(levels_.has_copies()),
      sweep_(p, buckets_) {}

// ----------------------------------------------------------------------------------------- opening

/// Finds the levels that the root names. With `dropped`, those that cannot be are told there and
/// left out.
template <medium M, class Kind>
class table<M, Kind>::recovery {
 public:
  recovery(table& t, const std::string& path, std::vector<std::string>* dropped)
      : t_(t), m_(t.m_), p_(t.p_), path_(path), dropped_(dropped) {}

  /// What the superblock says a table of this kind can be.
  error read_settings() const {
    const gphash::shape& form = t_.shape();
    if (form.levels == 0 || (form.key_bytes != 0) != Kind::fixed_key ||
        !settings_are_within(
            p_.block(), {{setting::first_top, min_bottom + form.levels - 1, level_sizes - 1}}) ||
        p_.block().engine_bytes != sizeof(root))
      return refuse_settings(engine_kind::gphash, path_);
    return {status::ok, {}};
  }

  error read_levels(bool restored) {
    const geometry g = t_.cells_.named();
    const unsigned levels = t_.shape().levels;
    if (g.none()) return make_first_levels();
    if (!g.sound() || g.bottom() < min_bottom || g.bottom() + levels > level_sizes) {
      std::string wrong = "the word that says where its levels begin, at offset " +
                          std::to_string(p_.offset_of(&root_of(p_).geometry)) +
                          ", is damaged (check bits)";
      if (dropped_ == nullptr) return unusable(wrong);
      dropped_->push_back(wrong + "; all records are lost");
      return {status::ok, {}};
    }
    for (unsigned n = 0; n < levels; ++n) {
      const unsigned log2 = g.bottom() + levels - 1 - n;
      if (error e = read_level(log2, t_.cells_.word_of(g.bank(), log2), restored);
          e.code != status::ok)
        return e;
    }
    if (found_.size() == levels) t_.levels_.switch_to(t_.levels_.plan(found_));
    return {status::ok, {}};
  }

  error read_escapes() const {
    for (int i = 0; i < static_cast<int>(first_fingerprint); ++i)
      if (t_.buckets_.is_impossible_escape(i))
        return unusable("its escape slot " + std::to_string(i) + " holds what cannot be there");
    return {status::ok, {}};
  }

  std::span<const level_view> found() const noexcept { return found_; }

 private:
  error unusable(const std::string& what) const { return cannot_use(path_, what); }

  /// Of a new pool.
  error make_first_levels() {
    if (std::string lost = t_.lost_root(); !lost.empty() && dropped_ == nullptr)
      return unusable(lost);
    if (p_.read_only()) return unusable("it has no levels");
    if (dropped_ != nullptr)
      dropped_->push_back("no levels are named, as in a new pool; all records are lost");
    if (status s = rebuilding(t_).build({}, t_.cells_.first_top()); s != status::ok)
      return table::not_created(path_, s, "levels");
    const std::span<const level_view> made = t_.levels_.now().all();
    found_.assign(made.begin(), made.end());
    return {status::ok, {}};
  }

  error read_level(unsigned log2, pm<std::uint64_t>& word, bool restored) {
    const checked_place at{load(m_, word)};
    std::string wrong = fault_of(at, log2, restored);
    if (wrong.empty()) {
      found_.push_back(t_.cells_.view_of(at.offset(), log2));
      return {status::ok, {}};
    }
    wrong = "the word of the level of 2^" + std::to_string(log2) + " buckets at offset " +
            std::to_string(p_.offset_of(&word)) + " " + wrong;
    if (dropped_ == nullptr) return unusable(wrong);
    dropped_->push_back(wrong + "; its records are lost");
    return {status::ok, {}};
  }

  /// What is wrong with that; nothing, if the level is found.
  std::string fault_of(checked_place at, unsigned log2, bool restored) {
    const std::uint64_t bytes = t_.cells_.bytes_of(log2);
    if (at.none() || !at.sound() || at.exponent() != log2) return "is damaged (check bits)";
    for (const level_view& l : found_)
      if (l.offset == at.offset()) return "names space that is not its own";
    const char* fault = fault_of_place(p_, t_.heap_, at.offset(), bytes, restored);
    return fault == nullptr ? "" : fault;
  }

  table& t_;
  M& m_;
  pool<M>& p_;
  const std::string& path_;
  std::vector<std::string>* dropped_;
  std::vector<level_view> found_;
};

template <medium M, class Kind>
error table<M, Kind>::open(const std::string& path, std::vector<std::string>* dropped) {
  recovery found(*this, path, dropped);
  if (error e = found.read_settings(); e.code != status::ok) return e;
  constexpr std::size_t stripes = std::size_t{1} << stripe_bits_on<M>;
  using states = zeroed_array<stripe_state<M>>;
  if constexpr (Kind::in_slot)
    levels_.open(p_.readers().template zeroes<stripe_state<M>>(stripes, p_.block().uuid));
  else levels_.open(states(stripes));
  bool clean = p_.root().state == pool_state::clean;
  if (!p_.read_only()) {
    [[maybe_unused]] durable as_it_is = fence(m_, p_.flush_header(), "gphash.open.header");
  }
  bool restored = frame::begin_open(dropped);
  if (error e = found.read_levels(restored); e.code != status::ok) return e;
  if (dropped != nullptr) {
    if (error e = salvager(*this, path, *dropped).salvage(found.found()); e.code != status::ok)
      return e;
    frame::finish_salvage(*dropped, size());
    return {status::ok, {}};
  }
  if (error e = found.read_escapes(); e.code != status::ok) return e;
  if (clean) records_at_open_ = p_.root().records;
  else counting(*this).begin();
  std::uint64_t bytes = 0, buckets = 0;
  for (const level_view& l : levels_.now().all())
    bytes += cells_.bytes_of(l.log2), buckets += l.buckets();
  frame::finish_open(Kind::in_slot || restored, buckets >> counting::unit_log2, bytes);
  return {status::ok, {}};
}

template <medium M, class Kind>
void table<M, Kind>::lock_all() {
  await_count();  // it stores, and locks no stripe
  levels_.lock_all();
}

}  // namespace durahash::gphash
