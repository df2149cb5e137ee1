// CCEH: creation, opening, closing. Recovery walks the directory's buddy tree (paper §4, algorithm
// 1 and figure 5) and rolls forward the one split, merge or move that a crash may have left under
// way; what it left in segments and records that nothing refers to is free space.
//
// u64 tables   every segment is named by the directory: allocation state is whole after reading it.
// byte tables  records are found in the slots: after a crash (not after a clean close) they are
//              collected in the background. Reads and writes go on; until it is done, new records
//              take only space that is new.
#pragma once

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
      directory_(m_, heap_, segments_),
      first_depth_(static_cast<unsigned>(p.block().settings[setting::first_depth])),
      copy_on_write_(p.block().settings[setting::copy_on_write] != 0) {}

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
  if (!within(setting::probe, 1, 256) || !within(setting::segment_log2, 2, 12) ||
      !within(setting::first_depth, 0, max_depth) || p_.block().engine_bytes != sizeof(root))
    return {status::unusable,
            "cannot use " + path +
                " as a pool: its superblock holds settings that the engine cceh does not allow"};
  bool clean = p_.root().state == pool_state::clean;
  segments_.stripes().begin(!clean && !opens_durable(m_));
  bool restored = frame::begin_open(dropped);
  if (error e = recover_directory(path, restored, dropped); e.code != status::ok) return e;
  if (dropped != nullptr) {
    frame::finish_salvage(*dropped, size());
    return {status::ok, {}};
  }
  if (clean) records_at_open_ = p_.root().records;
  frame::finish_open(Kind::in_slot || restored, stripes::count,
                     segments_.shape().bytes() << segments_.directory().exponent());
  return {status::ok, {}};
}

template <medium M, class Kind>
error table<M, Kind>::recover_directory(const std::string& path, bool restored,
                                        std::vector<std::string>* dropped) {
  auto damaged = [&](const std::string& what) -> error {
    return {status::unusable, "cannot use " + path + " as a pool: " + what};
  };
  checked_place made{load(m_, segments_.root_of_table().directory)};
  if (made.none() && dropped == nullptr) {
    if (std::string lost = frame::lost_root(); !lost.empty()) return damaged(lost);
    if (p_.read_only()) return damaged("it has no directory");
    if (!p_.may_change()) return damaged(std::string(message(status::io_error)));
    status s = build({}, first_depth_, p_.flush_header());
    return s == status::ok ? error{s, {}} : frame::not_created(path, s, "segments");
  }
  auto in_pool = [&](std::uint64_t offset, std::uint64_t bytes) {
    return offset >= p_.block().heap_offset && bytes <= p_.end() && offset <= p_.end() - bytes;
  };
  using taking = typename heap<M>::taking;
  std::string wrong_word;
  if (made.none()) wrong_word = "names no directory, as in a new pool";
  else if (!made.sound() || made.exponent() > max_depth) wrong_word = "is damaged (check bits)";
  else if (!in_pool(made.offset(), directory_bytes(made.exponent())))
    wrong_word = "points outside the pool";
  else if (!taking(heap_, restored)(made.offset(), directory_bytes(made.exponent())))
    wrong_word = "names space that is not its own";
  if (!wrong_word.empty()) {
    wrong_word = "the directory's word at offset " + std::to_string(p_.block().engine_offset) +
                 " " + wrong_word;
    if (dropped == nullptr) return damaged(wrong_word);
    dropped->push_back(wrong_word + "; all records are lost");
    return salvage(path, {}, *dropped);
  }
  segments_.show(directory_view::of(made, 0));

  settle_directory();
  const std::uint64_t unit = std::min<std::uint64_t>(segments_.shape().bytes(), page_bytes);
  auto unit_of = [shift = std::countr_zero(unit)](std::uint64_t offset) { return offset >> shift; };
  // a saved heap state knows what is in use, not by whom
  std::vector<bool> named(unit_of(p_.end()) + 1);
  named[unit_of(made.offset())] = true;
  auto fault_of_segment = [&](taking& take, std::uint64_t offset) -> const char* {
    if (!in_pool(offset, segments_.shape().bytes())) return "point outside the pool";
    if ((offset & (unit - 1)) != 0 || named[unit_of(offset)] ||
        !take(offset, segments_.shape().bytes()))
      return "name space that is not their own";
    named[unit_of(offset)] = true;
    return nullptr;
  };
  auto name_of = [&](std::uint64_t first, std::uint64_t entries) {
    return "the directory entries " + std::to_string(first) + " to " +
           std::to_string(first + entries - 1) + " at offset " +
           std::to_string(made.offset() + 8 * first) + " ";
  };
  if (dropped == nullptr) {
    std::string wrong;
    bool whole = false;
    std::uint64_t segment_count = 0, deepest = 0;
    {
      taking take(heap_, restored);
      const std::uint64_t count = std::uint64_t{1} << made.exponent();
      whole = for_each_run(
          made.exponent(), segments_.entry_reader(),
          [&](std::uint64_t first, std::uint64_t entries, checked_place entry) {
            const bool last = first + entries == count;
            if (const std::uint64_t soon = first + 8 * entries; soon < count)
              take.ask_for(
                  checked_place{load(m_, segments_.entries_of(made.offset())[soon])}.offset());
            if (M::planted("cceh-recovery-skips-the-last-segment") && last && first > 0)
              return true;
            const char* fault = fault_of_segment(take, entry.offset());
            if (fault != nullptr) wrong = name_of(first, entries) + fault;
            ++segment_count, deepest += entries == 1;
            return fault == nullptr;
          });
    }
    if (!wrong.empty()) return damaged(wrong);
    directory_.begin_with(segment_count, deepest);
    if (whole) return escapes_are_possible(path);
    // something was under way: from the beginning, by the tree
    named.assign(named.size(), false);
    named[unit_of(made.offset())] = true;
    if (!restored) {
      heap_.begin_recovery();
      heap_.adopt(made.offset(), directory_bytes(made.exponent()));
    }
  }
  std::vector<leaf> leaves = read_tree(segments_.directory().exponent(), segments_.entry_reader());
  for (leaf& l : leaves) {
    if (M::planted("cceh-recovery-skips-the-last-segment") && &l == &leaves.back() &&
        leaves.size() > 1)
      break;
    std::string wrong;
    std::vector<std::uint64_t> taken;
    if (l.state == detail::node_state::damaged) wrong = "are damaged";
    for (checked_place half : {l.left, l.right}) {
      if (!wrong.empty()) break;
      taking take(heap_, restored);
      if (const char* fault = fault_of_segment(take, half.offset()); fault != nullptr)
        wrong = fault;
      else taken.push_back(half.offset());
      if (l.left.offset() == l.right.offset()) break;  // one segment's
    }
    // What stands in front of a torn leaf's new entries is looked at where nobody may write, and
    // named anew where one may.
    checked_place first{load(m_, segments_.entries_of(made.offset())[l.where.begin])};
    if (wrong.empty() && l.state == detail::node_state::torn &&
        !in_pool(first.offset(), segments_.shape().bytes()))
      wrong = "point outside the pool";
    if (wrong.empty()) continue;
    std::string where = name_of(l.where.begin, l.where.count);
    if (dropped == nullptr) return damaged(where + wrong);
    l.state = detail::node_state::damaged;
    for (std::uint64_t offset : taken) heap_.free(offset, segments_.shape().bytes());
    dropped->push_back(where + wrong + "; their records are lost");
  }
  if (dropped != nullptr) return salvage(path, leaves, *dropped);
  if (error e = escapes_are_possible(path); e.code != status::ok) return e;
  std::uint64_t segment_count = 0, deepest = 0;
  for (const leaf& l : leaves) {
    std::uint64_t in_leaf = l.left == l.right ? 1 : 2;
    segment_count += in_leaf;
    if (l.left.exponent() == made.exponent()) deepest += in_leaf;
  }
  directory_.begin_with(segment_count, deepest);
  if (!p_.read_only() && !repair(leaves)) return damaged(std::string(message(status::io_error)));
  return {status::ok, {}};
}

template <medium M, class Kind>
error table<M, Kind>::escapes_are_possible(const std::string& path) const {
  if (impossible_escapes<Kind>(m_, segments_.root_of_table().escapes) == 0) return {status::ok, {}};
  return {status::unusable,
          "cannot use " + path +
              " as a pool: its escape slots, behind the directory's word, hold keys that cannot be "
              "there"};
}

/// What a process that died left in the caches, and its successor builds on, is made durable first:
/// the root, the directory, the escape slots. Of a clean pool the word that says so may be all that
/// is not durable.
template <medium M, class Kind>
void table<M, Kind>::settle_directory() {
  directory_view now = segments_.directory();
  flushed started = p_.flush_header();
  if (p_.root().state != pool_state::clean && !opens_durable(m_))
    started +=
        flush(m_, extent{segments_.entries_of(now.offset()), std::size_t{8} << now.exponent()},
              "cceh.inherit.directory");
  segments_.marks().take_over(stripes::of_escapes,
                              fence(m_, std::move(started), "cceh.inherit.escapes"));
}

/// Rolls forward, in the order of a split: a crash on the way is one that recovery knows.
template <medium M, class Kind>
bool table<M, Kind>::repair(const std::vector<leaf>& leaves) {
  std::scoped_lock lock(directory_);
  for (const leaf& l : leaves) {
    if (l.state != detail::node_state::torn) continue;
    if (!p_.may_change()) return false;
    entry_range all{l.where.begin, l.where.begin + l.where.count};
    bool mends_half = M::planted("cceh-recovery-mends-one-half");
    if (mends_half && l.left == l.right) continue;
    directory_.publish_entries(
        mends_half ? entry_range{all.middle(), all.end} : all, direction::leftward,
        [&](std::uint64_t i) { return i < all.middle() ? l.left : l.right; },
        after_nothing("segments that entries name are durable"));
  }
  return true;
}

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
  settle_inherited(stripe);
  std::int32_t count = 0;
  segments_.for_each_of(stripe, [&](const segment& s) { count_records(s, count); });
  segments_.stripes()[stripe].records.store(count, std::memory_order_relaxed);
}

template <medium M, class Kind>
void table<M, Kind>::count_records(const segment& s, std::int32_t& count) {
  reader_.for_each(s, [&](const resident& r) {
    ++count;
    frame::adopt_record(r.value_word);
  });
}

// ------------------------------------------------------------------------------------------- sizes

template <medium M, class Kind>
std::uint64_t table<M, Kind>::size() {
  await_count();
  return segments_.stripes().sum_of_records(records_at_open_);
}

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
