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
#include "engine/level/check.hpp"
#include "engine/level/drain.hpp"
#include "engine/level/grow.hpp"
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
      in_place_(p.block().settings[setting::in_place] != 0),
      bottom_to_top_(p.block().settings[setting::bottom_to_top] != 0),
      dynamic_(p.block().settings[setting::dynamic] != 0),
      helper_(p.block().settings[setting::helper] != 0),
      first_log2_(static_cast<unsigned>(p.block().settings[setting::first_log2])),
      second_maps_({M::planted("level-places-of-another-day") ? seeds_.flip + p.root().sequence
                                                              : seeds_.flip,
                    seeds_.multiply, seeds_.spread},
                   p.block().incompat),
      filters_(m_, buckets_, second_maps_),
      stripes_(m_),
      levels_(stripes_),
      intents_(p),
      prepared_(heap_, buckets_.shape) {}

template <medium M, class Kind>
table<M, Kind>::~table() {
  background_.stop();
}

// ----------------------------------------------------------------------------------------- opening

template <medium M, class Kind>
error table<M, Kind>::open(const std::string& path, std::vector<std::string>* dropped) {
  const setting_words& settings = p_.block().settings;
  auto within = [&](std::size_t index, std::uint64_t least, std::uint64_t most) {
    return settings[index] >= least && settings[index] <= most;
  };
  if (!within(setting::slots, 1, max_slots) || !within(setting::first_log2, 2, level_sizes - 1) ||
      p_.block().engine_bytes != sizeof(root))
    return {status::unusable,
            "cannot use " + path +
                " as a pool: its superblock holds settings that the engine level does not allow"};

  const bool clean = p_.root().state == pool_state::clean;
  stripes_.open(
      p_.readers().template zeroes<stripe_state>(level::stripes<M>::most, p_.block().uuid),
      !clean && !opens_durable(m_));
  if (!p_.read_only()) {
    [[maybe_unused]] durable as_it_is = fence(m_, p_.flush_header(), "level.open.header");
  }
  bool restored = frame::begin_open(dropped);
  if (error e = recover_levels(path, restored, dropped); e.code != status::ok) return e;
  if (dropped != nullptr) {
    if (!p_.may_change())
      return {status::io_error,
              "cannot salvage " + path + ": " + std::string(message(status::io_error))};
    salvage(*dropped);
    frame::finish_salvage(*dropped, size());
    return {status::ok, {}};
  }
  if (clean) records_at_open_ = p_.root().records;
  std::uint64_t bytes = 0;
  for (const level_view& l : levels_.present()) bytes += buckets_.shape.level_bytes(l.log2);
  frame::finish_open(Kind::in_slot || restored, level::stripes<M>::most, bytes);
  if (!p_.read_only()) drainer<table>(*this).start_helper();
  return {status::ok, {}};
}

template <medium M, class Kind>
error table<M, Kind>::recover_levels(const std::string& path, bool restored,
                                     std::vector<std::string>* dropped) {
  auto damaged = [&](const std::string& what) -> error {
    return {status::unusable, "cannot use " + path + " as a pool: " + what};
  };
  std::vector<level_view> found;
  bool drain_largest = false;
  for (unsigned log2 = 0; log2 < level_sizes; ++log2) {
    pm<std::uint64_t>& word = root_of(p_).levels[log2];
    checked_place at{load(m_, word)};
    if (at.none()) continue;
    std::uint64_t bytes = buckets_.shape.level_bytes(log2);
    std::string wrong;
    if (!at.sound() || log2 == 0 || (at.exponent() & (draining - 1)) != log2)
      wrong = "is damaged (check bits)";
    else if (at.offset() < p_.block().heap_offset || bytes > p_.end() ||
             at.offset() > p_.end() - bytes)
      wrong = "points outside the pool";
    else if (std::any_of(found.begin(), found.end(),
                         [&](const level_view& l) { return l.offset == at.offset(); }) ||
             !(restored ? heap_.holds(at.offset(), bytes) : heap_.adopt(at.offset(), bytes)))
      wrong = "names space that is not its own";
    else if (found.size() == max_levels) wrong = "names one level too many";
    if (!wrong.empty()) {
      wrong = "the word of the level of 2^" + std::to_string(log2) + " buckets at offset " +
              std::to_string(p_.offset_of(&word)) + " " + wrong;
      if (dropped == nullptr) return damaged(wrong);
      dropped->push_back(wrong + "; its records are lost");
      if (!p_.may_change()) return damaged(std::string(message(status::io_error)));
      [[maybe_unused]] durable done =
          publish(m_, word, 0, after_nothing("the level is given up"), "level.salvage.drop-level");
      continue;
    }
    found.push_back(buckets_.view_of(at.offset(), log2));
    drain_largest = (at.exponent() & draining) != 0;  // the last one's counts
  }
  if (found.empty()) {
    if (std::string gone = frame::lost_root(); !gone.empty() && dropped == nullptr)
      return damaged(gone);
    if (p_.read_only()) return damaged("it has no levels");
    if (dropped != nullptr)
      dropped->push_back("no levels are named, as in a new pool; all records are lost");
  }
  if (!found.empty()) levels_.switch_to(growth<table>(*this).plan(found, drain_largest, false));
  if (!p_.read_only() && found.size() < 2) {  // a new pool, or what a crash left of one
    unsigned top = found.empty() ? first_log2_ : std::min(found.back().log2 + 1, level_sizes - 1);
    new_level made[] = {{top - 1, {}}, {top, found.empty() ? bucket_state{} : new_bucket}};
    if (status s = growth<table>(*this).add(std::span(made).subspan(found.empty() ? 0 : 1));
        s != status::ok)
      return frame::not_created(path, s, "levels");
  }
  if (!clear_intents()) return damaged(std::string(message(status::io_error)));
  if (dynamic_ && levels_.now().count > 1 && balance<table>(*this).favours_bottom(levels_.now()))
    levels_.switch_to(growth<table>(*this).plan(levels_.present(), drain_largest, true));
  return {status::ok, {}};
}

/// The level and number of the bucket at an offset.
template <medium M, class Kind>
bool table<M, Kind>::find_bucket(const levels_view& v, std::uint64_t offset, unsigned& level,
                                 std::uint64_t& index) const {
  for (level = 0; level < v.count; ++level) {
    const level_view& l = v.at[level];
    if (offset < l.offset || offset - l.offset >= std::uint64_t{1}
                                                      << (l.log2 + buckets_.shape.bytes_log2))
      continue;
    index = (offset - l.offset) >> buckets_.shape.bytes_log2;
    return true;
  }
  return false;
}

/// Finishes logged updates; then removes what a movement left twice. A pool that is only read is
/// left as it is.
template <medium M, class Kind>
bool table<M, Kind>::clear_intents() {
  const levels_view& v = levels_.now();
  for (intent& d : root_of(p_).intents) {
    unsigned level;
    std::uint64_t index, at = load(m_, d.logged_slot), key = load(m_, d.logged_key),
                         value = load(m_, d.logged_value);
    if (load(m_, d.logged_check) != log_check(at, key, value) || at % sizeof(slot) != 0 ||
        p_.read_only())
      continue;
    if (!find_bucket(v, at, level, index)) continue;
    if (!p_.may_change()) return false;
    bucket b = buckets_.at(v.at[level], index);
    auto n =
        static_cast<int>((at - p_.offset_of(b.state) - buckets_.shape.header_bytes) / sizeof(slot));
    bool there = at >= p_.offset_of(b.state) + buckets_.shape.header_bytes &&
                 (buckets_.state_of(b).tokens() >> n & 1) != 0 &&
                 load(m_, buckets_.slot_of(b, n).key) == key;
    if (there) {
      [[maybe_unused]] durable replaced =
          publish(m_, buckets_.slot_of(b, n).value, value, after_nothing("the value is one word"),
                  "level.log.undo");
    }
    [[maybe_unused]] durable done =
        publish(m_, d.logged_check, 0, after_nothing("the value is durable"), "level.log.undone");
  }
  for (intent& d : root_of(p_).intents) {
    unsigned level;
    std::uint64_t index;
    if (!find_bucket(v, load(m_, d.moving), level, index)) continue;
    bool refused = false;
    buckets_.for_each_resident(buckets_.at(v.at[level], index), [&](const resident& r) {
      const candidates s = second_maps_.candidates_of(r.hash, r.key_word);
      if (buckets_.copies_of(v, s, r) < 2) return;
      if (M::planted("level-a-record-stays-twice")) return;
      if (M::planted("level-only-the-first-item-is-looked-at") && r.slot != 0) return;
      if (p_.read_only()) {
        ++doubled_;
        return;
      }
      if (refused |= !p_.may_change(); refused) return;
      // the other one stays
      for (std::uint64_t place : s.place) stripes_.settle_inherited(v, v.stripe_of(place));
      bucket_state state = buckets_.state_of(r.where);
      [[maybe_unused]] durable once =
          publish(m_, *r.where.state, state.with_tokens(state.tokens() & ~(1u << r.slot)).word,
                  // COMMIT: it has moved
                  after_nothing("its copy is durable"), "level.moving.once");
    });
    if (refused) return false;
  }
  return true;
}

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
std::uint64_t table<M, Kind>::size() {
  await_count();
  return levels_.records(records_at_open_ - doubled_);
}

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

// ----------------------------------------------------------------------------------------- salvage

/// Keeps the records that verify.
template <medium M, class Kind>
void table<M, Kind>::salvage(std::vector<std::string>& dropped) {
  const levels_view& v = levels_.now();
  std::uint64_t kept = 0;
  flushed started;
  for (unsigned i = 0; i < v.count; ++i)
    for (std::uint64_t index = 0; index < std::uint64_t{1} << v.at[i].log2; ++index) {
      bucket b = buckets_.at(v.at[i], index);
      std::uint32_t tokens = buckets_.state_of(b).tokens() & buckets_.shape.all_tokens;
      buckets_.for_each_resident(b, [&](const resident& r) {
        candidates s = second_maps_.candidates_of(r.hash, r.key_word);
        std::string why = buckets_.fault_of(r);
        if (why.empty() && v.at[i].number(s.place[0]) != index &&
            v.at[i].number(s.place[1]) != index)
          why = "it is out of place";
        if (why.empty() && buckets_.copies_of(v, s, r) > 1) why = "its key is there twice";
        if (why.empty() && !Kind::in_slot &&
            !heap_.adopt(r.value_word, record_at(m_, p_, r.value_word)->bytes()))
          why = "its bytes are another's";
        if (why.empty()) {
          ++kept;
          buckets_.store_slot(b, r.slot, s, r.value_word);  // its tag may be what is damaged
          return;
        }
        dropped.push_back(name_of_bucket(v.at[i], index) + ": dropped a record, " + why);
        tokens &= ~(1u << r.slot);
        store(m_, *b.state, buckets_.state_of(b).with_tokens(tokens).word);
      });
      store(m_, *b.state, buckets_.state_of(b).next(tokens, new_bucket.filter()).word);
      started += flush(m_, buckets_.bytes_of(b), "level.salvage.buckets");
    }
  [[maybe_unused]] durable done = fence(m_, std::move(started), "level.salvage.all");
  records_at_open_ = kept;
}

}  // namespace durahash::level
