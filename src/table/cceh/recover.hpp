// CCEH: creation, opening, closing. Recovery walks the directory's buddy tree (paper §4, algorithm
// 1 and figure 5) and rolls forward the one split, merge or move that a crash may have left under
// way; what it left in segments and records that nothing refers to is free space.
//
// u64 tables   every segment is named by the directory: allocation state is whole after reading it.
// byte tables  records are found in the slots: after a crash (not after a clean close) they are
//              collected in the background. Reads and writes go on; until it is done, new records
//              take only space that is new.
#pragma once

#include <system_error>
#include <thread>

#include "table/cceh/table.hpp"
#include "table/settings.hpp"

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
      most_depth, depth_for(how.capacity, std::uint64_t{slots_per_bucket} << values[2], values[0]));
  made.engine_bytes = sizeof(root);
  return made;
}

template <medium M, class Kind>
table<M, Kind>::table(pool<M>& p)
    : frame(p),
      segment_log2_(static_cast<unsigned>(p.block().settings[setting::segment_log2])),
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
      !within(setting::first_depth, 0, most_depth) || p_.block().engine_bytes != sizeof(root))
    return {status::unusable,
            "cannot use " + path +
                " as a pool: its superblock holds settings that the engine cceh does not allow"};
  probe_ = static_cast<unsigned>(
      std::min<std::uint64_t>(settings[setting::probe], buckets_per_segment()));

  stripes_ = zeroed_array<stripe_state>(stripe_count);
  bool clean = p_.root().state == pool_state::clean;
  unsettled_.begin_with({&stripes_[0]}, !clean);
  bool restored = frame::begin_open(dropped);
  if (error e = recover_directory(path, restored, dropped); e.code != status::ok) return e;
  if (dropped != nullptr) {
    frame::finish_salvage(*dropped, size());
    return {status::ok, {}};
  }
  if (clean) records_at_open_ = p_.root().records;
  frame::finish_open(Kind::in_slot || restored, stripe_count,
                     segment_bytes() << directory().exponent());
  return {status::ok, {}};
}

namespace detail {

/// Looks at a node of level `n.level`: with L the level,
///   a split  leaves  S..S R..R, or S..S T..T R..R with all of the right half R: S has depth L; R,
///            T have L+1; T the left half's copy, or S itself
///   a merge  leaves  N..N A..A B..B, or all of the left half N, then N..N B..B: N has depth L; A,
///            B have L+1
///   a move   leaves  O..O N..N, both of depth L
/// The first two go on as a split: the right half becomes what its rightmost entry is, the left
/// half what its rightmost entry is, with L+1.
template <class EntryAt>
node_state examine(const node& n, EntryAt&& entry_at, checked_place& left, checked_place& right) {
  checked_place first = entry_at(n.begin), last = entry_at(n.begin + n.count - 1);
  if (first.none() || !first.sound() || first.exponent() < n.level) return node_state::damaged;
  if (first.exponent() > n.level) return n.count > 1 ? node_state::inner : node_state::damaged;
  /// Whether [from, to) is a run of `a` and then a run of `b`, each perhaps empty.
  auto runs = [&](std::uint64_t from, std::uint64_t to, checked_place a, checked_place b) {
    while (from < to && entry_at(from) == a) ++from;
    while (from < to && entry_at(from) == b) ++from;
    return from == to;
  };
  std::uint64_t middle = n.begin + n.count / 2, end = n.begin + n.count;
  left = right = last;
  if (last.none() || !last.sound()) return node_state::damaged;
  if (last == first)
    return runs(n.begin, end, first, first) ? node_state::whole : node_state::damaged;
  if (last.exponent() == n.level)
    return runs(n.begin, end, first, last) ? node_state::torn : node_state::damaged;
  if (n.count < 2 || last.exponent() != n.level + 1 || last.offset() == first.offset())
    return node_state::damaged;
  checked_place left_last = entry_at(middle - 1);
  if (left_last == first) {
    left = checked_place::of(first.offset(), n.level + 1);
    return runs(n.begin, middle, first, first) && runs(middle, end, first, last)
               ? node_state::torn
               : node_state::damaged;
  }
  left = left_last;
  bool sound = left_last.sound() && left_last.exponent() == n.level + 1 &&
               left_last.offset() != last.offset();
  return sound && runs(n.begin, middle, first, left_last) && runs(middle, end, last, last)
             ? node_state::torn
             : node_state::damaged;
}

/// Walks the tree below a node. `leaf(node, state, left, right)` hears of each that is not inner,
/// from left to right; it returns false to stop.
template <class EntryAt, class Leaf>
bool walk_tree(const node& n, EntryAt&& entry_at, Leaf&& leaf) {
  checked_place left, right;
  node_state state = examine(n, entry_at, left, right);
  if (state != node_state::inner) return leaf(n, state, left, right);
  std::uint64_t half = n.count / 2;
  return walk_tree(node{n.begin, half, n.level + 1}, entry_at, leaf) &&
         walk_tree(node{n.begin + half, half, n.level + 1}, entry_at, leaf);
}

}  // namespace detail

template <medium M, class Kind>
error table<M, Kind>::recover_directory(const std::string& path, bool restored,
                                        std::vector<std::string>* dropped) {
  auto damaged = [&](const std::string& what) -> error {
    return {status::unusable, "cannot use " + path + " as a pool: " + what};
  };
  checked_place made{load(m_, root_of_table().directory)};
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
  auto take = [&](std::uint64_t offset, std::uint64_t bytes) {
    return restored ? heap_.holds(offset, bytes) : heap_.adopt(offset, bytes);
  };
  std::string wrong_word;
  if (made.none()) wrong_word = "names no directory, as in a new pool";
  else if (!made.sound() || made.exponent() > most_depth) wrong_word = "is damaged (check bits)";
  else if (!in_pool(made.offset(), directory_bytes(made.exponent())))
    wrong_word = "points outside the pool";
  else if (!take(made.offset(), directory_bytes(made.exponent())))
    wrong_word = "names space that is not its own";
  if (!wrong_word.empty()) {
    wrong_word = "the directory's word at offset " + std::to_string(p_.block().engine_offset) +
                 " " + wrong_word;
    if (dropped == nullptr) return damaged(wrong_word);
    dropped->push_back(wrong_word + "; all records are lost");
    return salvage(path, {}, *dropped);
  }
  directory_.store(place_view::of(made, 0).word, std::memory_order_release);

  settle_directory();
  std::vector<leaf> leaves = read_tree();
  const std::uint64_t unit = std::min<std::uint64_t>(segment_bytes(), page_bytes);
  // a saved heap state knows what is in use, not by whom
  std::vector<bool> named(p_.end() / unit + 1);
  named[made.offset() / unit] = true;
  for (leaf& l : leaves) {
    if (M::planted("cceh-recovery-skips-the-last-segment") && &l == &leaves.back() &&
        leaves.size() > 1)
      break;
    std::string wrong;
    std::vector<std::uint64_t> taken;
    if (l.state == detail::node_state::damaged) wrong = "are damaged";
    for (checked_place half : {l.left, l.right}) {
      if (!wrong.empty()) break;
      if (!in_pool(half.offset(), segment_bytes())) wrong = "point outside the pool";
      else if (half.offset() % unit != 0 || named[half.offset() / unit] ||
               !take(half.offset(), segment_bytes()))
        wrong = "name space that is not their own";
      else {
        named[half.offset() / unit] = true;
        taken.push_back(half.offset());
      }
      if (l.left.offset() == l.right.offset()) break;  // one segment's
    }
    // What stands in front of a torn leaf's new entries is looked at where nobody may write, and
    // named anew where one may.
    checked_place first{load(m_, entries_of(made.offset())[l.where.begin])};
    if (wrong.empty() && l.state == detail::node_state::torn &&
        !in_pool(first.offset(), segment_bytes()))
      wrong = "point outside the pool";
    if (wrong.empty()) continue;
    std::string where = "the directory entries " + std::to_string(l.where.begin) + " to " +
                        std::to_string(l.where.begin + l.where.count - 1) + " at offset " +
                        std::to_string(made.offset() + 8 * l.where.begin) + " ";
    if (dropped == nullptr) return damaged(where + wrong);
    l.state = detail::node_state::damaged;
    for (std::uint64_t offset : taken) heap_.free(offset, segment_bytes());
    dropped->push_back(where + wrong + "; their records are lost");
  }
  if (dropped == nullptr && impossible_escapes() != 0)
    return damaged("its escape slots, behind the directory's word, hold keys that cannot be there");
  if (dropped != nullptr) return salvage(path, leaves, *dropped);
  for (const leaf& l : leaves) {
    std::uint64_t in_leaf = l.left == l.right ? 1 : 2;
    segments_ += in_leaf;
    if (l.left.exponent() == made.exponent()) deepest_ += in_leaf;
  }
  if (!p_.read_only() && !repair(leaves)) return damaged(std::string(message(status::io_error)));
  return {status::ok, {}};
}

/// The leaves of the buddy tree, from left to right. Large directories are walked by several
/// threads.
template <medium M, class Kind>
auto table<M, Kind>::read_tree() const -> std::vector<leaf> {
  place_view now = directory();
  pm<std::uint64_t>* entries = entries_of(now.offset());
  auto entry_at = [&](std::uint64_t i) { return checked_place{load(m_, entries[i])}; };
  auto walk = [&](const detail::node& n) {
    std::vector<leaf> found;
    detail::walk_tree(n, entry_at,
                      [&](const detail::node& at, detail::node_state state, checked_place left,
                          checked_place right) {
                        found.push_back({at, state, left, right});
                        return true;
                      });
    return found;
  };
  std::uint64_t count = std::uint64_t{1} << now.exponent();
  detail::node all{0, count, 0};
  constexpr std::uint64_t worth_threads = 1 << 17;
  checked_place left, right;
  if (count < worth_threads ||
      detail::examine(all, entry_at, left, right) != detail::node_state::inner)
    return walk(all);

  constexpr unsigned parts_log2 = 3;  // subtrees, but for what ends above them
  std::vector<detail::node> parts{all};
  for (unsigned level = 0; level < parts_log2; ++level) {
    std::vector<detail::node> deeper;
    for (const detail::node& n : parts) {
      if (n.level < level ||
          detail::examine(n, entry_at, left, right) != detail::node_state::inner) {
        deeper.push_back(n);
        continue;
      }
      deeper.push_back({n.begin, n.count / 2, n.level + 1});
      deeper.push_back({n.begin + n.count / 2, n.count / 2, n.level + 1});
    }
    parts = std::move(deeper);
  }
  std::vector<std::vector<leaf>> found(parts.size());
  std::vector<char> walked(parts.size());
  {
    std::vector<std::jthread> walkers;
    auto walk_part = [&](std::size_t i) {
      if_memory_allows([&] { found[i] = walk(parts[i]), walked[i] = true; });
    };
    std::size_t here = 1;  // parts that this thread walks: those that get none of their own, too
    for (std::size_t i = parts.size() - 1; i > 0; --i) try {
        walkers.emplace_back([&walk_part, i] { walk_part(i); });
      } catch (const std::system_error&) {
        here = i + 1;
        break;
      }
    for (std::size_t i = 0; i < here; ++i) walk_part(i);
  }
  if (std::count(walked.begin(), walked.end(), 0) != 0) throw std::bad_alloc();
  std::vector<leaf> together;
  for (auto& part : found) together.insert(together.end(), part.begin(), part.end());
  return together;
}

/// What a process that died left in the caches, and its successor builds on, is made durable first:
/// the root, the directory, the escape slots. Of a clean pool the word that says so may be all that
/// is not durable.
template <medium M, class Kind>
void table<M, Kind>::settle_directory() {
  place_view now = directory();
  flushed started = p_.flush_header();
  if (p_.root().state != pool_state::clean && !opens_durable<M>)
    started += flush(m_, extent{entries_of(now.offset()), std::size_t{8} << now.exponent()},
                     "cceh.inherit.directory");
  unsettled_.take_over(escape_stripe, fence(m_, std::move(started), "cceh.inherit.escapes"));
}

/// Rolls forward, in the order of a split: a crash on the way is one that recovery knows.
template <medium M, class Kind>
bool table<M, Kind>::repair(const std::vector<leaf>& leaves) {
  std::scoped_lock lock(directory_lock_);
  for (const leaf& l : leaves) {
    if (l.state != detail::node_state::torn) continue;
    if (!p_.may_change()) return false;
    entry_range all{l.where.begin, l.where.begin + l.where.count};
    bool mends_half = M::planted("cceh-recovery-mends-one-half");
    if (mends_half && l.left == l.right) continue;
    publish_entries(
        mends_half ? entry_range{all.middle(), all.end} : all, direction::leftward,
        [&](std::uint64_t i) { return i < all.middle() ? l.left : l.right; },
        after_nothing("segments that entries name are durable"));
  }
  return true;
}

/// Calls visit(segment) for each, from left to right, under a read_guard.
template <medium M, class Kind>
template <class Visit>
void table<M, Kind>::for_each_segment(Visit&& visit) const {
  std::uint64_t at = 0;
  do {
    [[maybe_unused]] read_guard guard = reading();
    segment s = segment_under_guard(at);
    visit(s);
    at = s.end();
  } while (at != 0);
}

/// Counts the records and, in byte tables, tells the heap of each. Writers wait stripe by stripe.
template <medium M, class Kind>
bool table<M, Kind>::count_units(const background* asking) {
  std::uint64_t at = 0;
  do {
    if (asking != nullptr && asking->stopping()) return false;
    segment s = lock_segment(at);
    auto held = held_by(s);
    count_once(s.stripe, [&] { count_stripe(s.stripe); });
    at = s.depth() <= stripe_bits ? s.end() : (std::uint64_t{s.stripe} + 1) << (64 - stripe_bits);
  } while (at != 0);
  std::scoped_lock lock(stripes_[escape_stripe].lock);
  count_once(escape_stripe, [&] {
    stripes_[escape_stripe].records.store(static_cast<std::int32_t>(escaped_count()),
                                          std::memory_order_relaxed);
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
  std::uint64_t at = std::uint64_t{stripe} << (64 - stripe_bits);
  do {
    segment s = segment_of(at);
    count_records(s, count);
    at = s.end();
  } while (at != 0 && stripe_of(at) == stripe);
  stripes_[stripe].records.store(count, std::memory_order_relaxed);
}

template <medium M, class Kind>
void table<M, Kind>::count_records(const segment& s, std::int32_t& count) {
  for_each_resident(s, [&](const resident& r) {
    ++count;
    frame::adopt_record(r.value_word);
  });
}

// ------------------------------------------------------------------------------------------- sizes

template <medium M, class Kind>
std::uint64_t table<M, Kind>::size() {
  await_count();
  auto sum = static_cast<std::int64_t>(records_at_open_);
  auto add = [&](stripe_index stripe) {
    sum += stripes_[stripe].records.load(std::memory_order_relaxed);
  };
  stripe_index last = escape_stripe;
  add(last);
  for_each_segment([&](const segment& s) {
    if (s.stripe != last) add(s.stripe);
    last = s.stripe;
  });
  return static_cast<std::uint64_t>(std::max<std::int64_t>(sum, 0));
}

template <medium M, class Kind>
std::uint64_t table<M, Kind>::slots() {
  std::uint64_t sum = 0;
  for_each_segment([&](const segment&) { sum += slots_per_segment(); });
  return sum;
}

// ------------------------------------------------------------------------------------- clean close

/// From left to right: what is locked stays as it is, and who holds one waits only for one to its
/// right.
template <medium M, class Kind>
void table<M, Kind>::lock_all() {
  std::uint64_t at = 0;
  stripe_index last = escape_stripe;
  do {
    segment s = last != escape_stripe && stripe_of(at) == last ? segment_of(at) : lock_segment(at);
    last = s.stripe;
    at = s.end();
  } while (at != 0);
  stripes_[escape_stripe].lock.lock();
  directory_lock_.lock();  // a directory may move without a stripe
}

template <medium M, class Kind>
void table<M, Kind>::unlock_all() {
  directory_lock_.unlock();
  stripe_index last = escape_stripe;
  for_each_segment([&](const segment& s) {
    if (s.stripe != last) lock_of(s).unlock();
    last = s.stripe;
  });
  stripes_[escape_stripe].lock.unlock();
}

// ----------------------------------------------------------------------------------------- salvage

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
      unsigned global_depth = directory().exponent();
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
    count_segments();
  } else {
    if (status s = build(once, 0, p_.flush_header()); s != status::ok) return refused(s);
    for (std::uint64_t offset : segments) heap_.free(offset, segment_bytes());
  }
  records_at_open_ = once.size() + escaped_count();
  return {status::ok, {}};
}

/// Empties the escape slots whose keys cannot be there. `build` makes that durable.
template <medium M, class Kind>
void table<M, Kind>::salvage_escapes(std::vector<std::string>& dropped) {
  bucket& b = root_of_table().escapes;
  for (std::uint32_t wrong = impossible_escapes(); wrong != 0; wrong &= wrong - 1) {
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
  for_each_resident(s, [&](const resident& r) {
    std::string why = in_window(r) ? fault_of(r) : "it is out of place";
    if (!why.empty()) return dropped.push_back(where(s, r.bucket) + ": dropped a record, " + why);
    kept.push_back(r);
    if (!on_path(s, r))
      dropped.push_back(where(s, r.bucket) + ": a record that lay in front of one here is lost");
  });
}

}  // namespace durahash::cceh
