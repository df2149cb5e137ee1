// Level hashing: creation, opening, closing. Recovery reads the levels' words and the intents
// (holes Level 1, Level 5 and Level 6): what a movement left twice is removed, a logged update is
// finished. Drains go on with the next write.
//
// u64 tables   every level is named by the root: allocation state is whole after reading it.
// byte tables  records are found in the slots: after a crash (not after a clean close) they are
//              collected in the background. Reads and writes go on; until it is done, new records
//              take only space that is new.
#pragma once

#include "engine/level/balance.hpp"
#include "engine/level/drain.hpp"
#include "engine/level/grow.hpp"
#include "engine/level/salvage.hpp"
#include "engine/level/search.hpp"
#include "engine/level/table.hpp"
#include "engine/settings.hpp"

namespace durahash::level {

namespace detail {

inline constexpr setting_rule rules[] = {
    {"slots", 1, max_slots},  // of a bucket
    {"in_place", 0, 1},       // 0: updates as in the paper
    {"bottom_to_top", 0, 1},  // movement
    {"dynamic", 0, 1},        // search order
    {"helper", 0, 1},         // a thread that drains
};

}  // namespace detail

/// What an opening finds in the root, and mends. With `dropped`, what does not verify is dropped
/// and told there.
template <medium M, class Kind>
class table<M, Kind>::recovery {
 public:
  recovery(table& t, const std::string& path, std::vector<std::string>* dropped)
      : t_(t), m_(t.m_), path_(path), dropped_(dropped) {}

  /// `restored`: the heap knows of all cells.
  error recover(bool restored) {
    if (error e = read_words(restored); e.code != status::ok) return e;
    if (!found_.empty()) t_.levels_.switch_to(growth(t_).plan(found_, drain_largest_, false));
    if (error e = make_levels(); e.code != status::ok) return e;
    if (!finish_updates() || !remove_copies()) return unsound();
    if (t_.how_.dynamic && t_.levels_.now().count > 1 &&
        balance(t_).favours_bottom(t_.levels_.now()))
      t_.levels_.switch_to(growth(t_).plan(t_.levels_.present(), drain_largest_, true));
    return {status::ok, {}};
  }

 private:
  error damaged(const std::string& what) const { return cannot_use(path_, what); }
  error unsound() const { return cannot_use(path_, status::io_error); }

  error read_words(bool restored) {
    for (unsigned log2 = 0; log2 < level_sizes; ++log2)
      if (error e = read_word(log2, restored); e.code != status::ok) return e;
    if (!found_.empty()) return {status::ok, {}};
    if (std::string gone = t_.lost_root(); !gone.empty() && dropped_ == nullptr)
      return damaged(gone);
    if (t_.p_.read_only()) return damaged("it has no levels");
    if (dropped_ != nullptr)
      dropped_->push_back("no levels are named, as in a new pool; all records are lost");
    return {status::ok, {}};
  }

  error read_word(unsigned log2, bool restored) {
    pm<std::uint64_t>& word = root_of(t_.p_).levels[log2];
    const checked_place at{load(m_, word)};
    if (at.none()) return {status::ok, {}};
    std::string wrong = fault_of(at, log2, restored);
    if (wrong.empty()) {
      found_.push_back(t_.buckets_.view_of(at.offset(), log2));
      drain_largest_ = (at.exponent() & draining) != 0;  // the last one's counts
      return {status::ok, {}};
    }
    wrong = "the word of the level of 2^" + std::to_string(log2) + " buckets at offset " +
            std::to_string(t_.p_.offset_of(&word)) + " " + wrong;
    if (dropped_ == nullptr) return damaged(wrong);
    dropped_->push_back(wrong + "; its records are lost");
    if (!t_.p_.may_change()) return unsound();
    [[maybe_unused]] durable done =
        publish(m_, word, 0, after_nothing("the level is given up"), "level.salvage.drop-level");
    return {status::ok, {}};
  }

  /// The heap knows of the level's space then, if nothing is wrong.
  std::string fault_of(checked_place at, unsigned log2, bool restored) {
    const std::uint64_t bytes = t_.buckets_.shape.level_bytes(log2);
    if (!at.sound() || log2 == 0 || (at.exponent() & (draining - 1)) != log2)
      return "is damaged (check bits)";
    for (const level_view& l : found_)
      if (l.offset == at.offset()) return "names space that is not its own";
    if (const char* fault = fault_of_place(t_.p_, t_.heap_, at.offset(), bytes, restored))
      return fault;
    return found_.size() == max_levels ? "names one level too many" : "";
  }

  /// Those that a new pool lacks, or what a crash left of one.
  error make_levels() {
    if (t_.p_.read_only() || found_.size() >= 2) return {status::ok, {}};
    const bool is_new = found_.empty();
    const unsigned top =
        is_new ? t_.how_.first_log2 : std::min(found_.back().log2 + 1, level_sizes - 1);
    const new_level made[] = {{top - 1, {}}, {top, is_new ? bucket_state{} : new_bucket}};
    const status added = growth(t_).add(std::span(made).subspan(is_new ? 0 : 1));
    if (added != status::ok) return table::not_created(path_, added, "levels");
    return {status::ok, {}};
  }

  /// Logged ones.
  bool finish_updates() {
    for (intent& d : t_.intents_.all())
      if (!finish_update(d)) return false;
    return true;
  }

  bool finish_update(intent& d) {
    const std::uint64_t at = load(m_, d.logged_slot), key = load(m_, d.logged_key),
                        value = load(m_, d.logged_value);
    if (load(m_, d.logged_check) != log_check(at, key, value) || at % sizeof(slot) != 0 ||
        t_.p_.read_only())
      return true;
    const std::optional<bucket> b = bucket_at(at);
    if (!b) return true;
    if (!t_.p_.may_change()) return false;
    const std::uint64_t first = t_.p_.offset_of(b->state) + t_.buckets_.shape.header_bytes;
    const auto n = static_cast<int>((at - first) / sizeof(slot));
    const bool there = at >= first && (t_.buckets_.state_of(*b).tokens() >> n & 1) != 0 &&
                       load(m_, t_.buckets_.slot_of(*b, n).key) == key;
    if (there) {
      [[maybe_unused]] durable replaced =
          publish(m_, t_.buckets_.slot_of(*b, n).value, value,
                  after_nothing("the value is one word"), "level.log.undo");
    }
    [[maybe_unused]] durable done =
        publish(m_, d.logged_check, 0, after_nothing("the value is durable"), "level.log.undone");
    return true;
  }

  /// What a movement left twice. A pool that is only read is left as it is.
  bool remove_copies() {
    for (intent& d : t_.intents_.all())
      if (const std::optional<bucket> moving = bucket_at(load(m_, d.moving)))
        if (!remove_copies(*moving)) return false;
    return true;
  }

  /// Those in this bucket: the others stay.
  bool remove_copies(bucket moving) {
    const auto& v = t_.levels_.now();
    bool refused = false;
    t_.buckets_.for_each_resident(moving, [&](const resident& r) {
      const candidates s = t_.second_maps_.candidates_of(r.hash, r.key_word);
      if (copies_of(t_.buckets_, v, s, r) < 2) return;
      if (M::planted("level-a-record-stays-twice")) return;
      if (M::planted("level-only-the-first-item-is-looked-at") && r.slot != 0) return;
      if (t_.p_.read_only()) {
        ++t_.doubled_;
        return;
      }
      if (refused |= !t_.p_.may_change(); refused) return;
      for (std::uint64_t place : s.place) t_.stripes_.settle_inherited(v, v.stripe_of(place));
      const bucket_state state = t_.buckets_.state_of(r.where);
      [[maybe_unused]] durable once =
          publish(m_, *r.where.state, state.with_tokens(state.tokens() & ~(1u << r.slot)).word,
                  // COMMIT: it has moved
                  after_nothing("its copy is durable"), "level.moving.once");
    });
    return !refused;
  }

  std::optional<bucket> bucket_at(std::uint64_t offset) const {
    const auto& v = t_.levels_.now();
    const unsigned bytes_log2 = t_.buckets_.shape.bytes_log2;
    for (unsigned level = 0; level < v.count; ++level) {
      const level_view& l = v.at[level];
      if (offset >= l.offset && offset - l.offset < l.buckets() << bytes_log2)
        return t_.buckets_.at(l, (offset - l.offset) >> bytes_log2);
    }
    return std::nullopt;
  }

  table& t_;
  M& m_;
  const std::string& path_;
  std::vector<std::string>* dropped_;
  std::vector<level_view> found_;
  bool drain_largest_ = false;
};

template <medium M, class Kind>
result<engine_plan> table<M, Kind>::plan(const options& how) {
  std::uint64_t values[] = {7, 1, 1, 1, 0};
  if (error e = resolve_settings(engine_kind::level, detail::rules, how.settings, values);
      e.code != status::ok)
    return e;
  engine_plan made;
  std::copy(std::begin(values), std::end(values), made.settings.begin());
  made.settings[setting::first_log2] =
      std::min(top_for(how.capacity, static_cast<unsigned>(values[0])), level_sizes - 1);
  made.engine_bytes = sizeof(root);
  made.incompat = has_telling_tags;
  return made;
}

template <medium M, class Kind>
table<M, Kind>::table(pool<M>& p)
    : frame(p),
      buckets_(p, seeds_),
      how_(choices::of(p.block().settings)),
      second_maps_({M::planted("level-places-of-another-day") ? seeds_.flip + p.root().sequence
                                                              : seeds_.flip,
                    seeds_.multiply, seeds_.spread},
                   p.block().incompat),
      filters_(m_, buckets_, second_maps_),
      stripes_(m_),
      levels_(stripes_),
      intents_(p),
      prepared_(heap_, buckets_.shape) {}

// ----------------------------------------------------------------------------------------- opening

template <medium M, class Kind>
error table<M, Kind>::open(const std::string& path, std::vector<std::string>* dropped) {
  if (!settings_are_within(p_.block(), {{setting::slots, 1, max_slots},
                                        {setting::first_log2, 2, level_sizes - 1}}) ||
      p_.block().engine_bytes != sizeof(root))
    return refuse_settings(engine_kind::level, path);
  const bool clean = p_.root().state == pool_state::clean;
  stripes_.open(
      p_.readers().template zeroes<stripe_state>(level::stripes<M>::most, p_.block().uuid),
      !clean && !opens_durable(m_));
  if (!p_.read_only()) {
    [[maybe_unused]] durable as_it_is = fence(m_, p_.flush_header(), "level.open.header");
  }
  bool restored = frame::begin_open(dropped);
  if (error e = recovery(*this, path, dropped).recover(restored); e.code != status::ok) return e;
  if (dropped != nullptr) {
    if (!p_.may_change()) return cannot_salvage(path, status::io_error);
    salvager(*this, *dropped).salvage();
    frame::finish_salvage(*dropped, size());
    return {status::ok, {}};
  }
  if (clean) records_at_open_ = p_.root().records;
  std::uint64_t bytes = 0;
  for (const level_view& l : levels_.present()) bytes += buckets_.shape.level_bytes(l.log2);
  frame::finish_open(Kind::in_slot || restored, level::stripes<M>::most, bytes);
  if (!p_.read_only()) drainer(*this).start_helper();
  return {status::ok, {}};
}

// ---------------------------------------------------------------------------------------- counting

/// Counts the records and, in byte tables, tells the heap of each. Writers wait stripe by stripe.
template <medium M, class Kind>
bool table<M, Kind>::count_units(const background* asking) {
  // they stay what they are until this is done
  for (stripe_index stripe = 0; stripe < levels_.now().stripes(); ++stripe) {
    if (asking != nullptr && asking->stopping()) return false;
    std::scoped_lock lock(stripes_.lock_of(stripe));
    count_once(stripe, [&] { count_stripe(levels_.now(), stripe); });
  }
  records_at_open_ = 0;
  return true;
}

/// Of a stripe that is locked.
template <medium M, class Kind>
void table<M, Kind>::count_stripe(const levels_view& v, stripe_index stripe) {
  // what a slot no longer names is free only if no crash can bring its token back
  stripes_.settle_inherited(v, stripe);
  std::int32_t count = 0;
  v.for_each_bucket(v.place_of(stripe), v.stripe_bits,
                    [&](const level_view& l, std::uint64_t index) {
                      buckets_.for_each_resident(buckets_.at(l, index), [&](const resident& r) {
                        ++count;
                        frame::adopt_record(r.value_word);
                      });
                    });
  stripes_[stripe].records.store(count, std::memory_order_relaxed);
}

// ------------------------------------------------------------------------------------------- sizes

template <medium M, class Kind>
std::uint64_t table<M, Kind>::slots() {
  std::uint64_t sum = 0;
  const levels_view& v = levels_.now();
  for (unsigned i = 0; i < v.count; ++i) sum += std::uint64_t{buckets_.shape.slots} << v.at[i].log2;
  return sum;
}

// ------------------------------------------------------------------------------------- clean close

template <medium M, class Kind>
void table<M, Kind>::lock_all() {
  levels_.changing().lock();
  stripes_.lock_all(levels_.now());
}

template <medium M, class Kind>
void table<M, Kind>::unlock_all() {
  stripes_.unlock_all(levels_.now());
  levels_.changing().unlock();
}

}  // namespace durahash::level
