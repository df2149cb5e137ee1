// CCEH: the directory as a buddy tree (paper §4, algorithm 1 and figure 5): what a crash may have
// left of a split, a merge or a move, and how it is rolled forward.
#pragma once

#include "base/own_thread.hpp"
#include "engine/cceh/table.hpp"

namespace durahash::cceh {

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

/// Calls visit(first, entries, entry) for the entries that name one segment side by side, from left
/// to right, of a directory in which nothing was under way; until it returns false. Returns false
/// where something was. But for the moments of a split, a merge or a move, reading the entries in a
/// row is all that a recovery needs.
template <medium M, class Kind>
template <class Visit>
bool table<M, Kind>::for_each_run(Visit&& visit) const {
  const directory_view now = segments_.directory();
  const pm<std::uint64_t>* const entries = segments_.entries_of(now.offset());
  const std::uint64_t count = std::uint64_t{1} << now.exponent();
  for (std::uint64_t first = 0, length = 0; first < count; first += length) {
    const checked_place entry{load(m_, entries[first])};
    if (entry.none() || !entry.sound() || entry.exponent() > now.exponent()) return false;
    length = count >> entry.exponent();
    if ((first & (length - 1)) != 0) return false;
    for (std::uint64_t n = first + 1; n < first + length; ++n)
      if (load(m_, entries[n]) != entry.word) return false;
    if (!visit(first, length, entry)) break;
  }
  return true;
}

/// The leaves of the buddy tree, from left to right. Large directories are walked by several
/// threads.
template <medium M, class Kind>
auto table<M, Kind>::read_tree() const -> std::vector<leaf> {
  directory_view now = segments_.directory();
  pm<std::uint64_t>* entries = segments_.entries_of(now.offset());
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
    std::vector<own_thread> walkers(parts.size());
    auto walk_part = [&](std::size_t i) {
      if_memory_allows([&] { found[i] = walk(parts[i]), walked[i] = true; });
    };
    std::size_t here = 1;  // parts that this thread walks: those that get none of their own, too
    for (std::size_t i = parts.size() - 1; i > 0; --i)
      if (!walkers[i].start([&walk_part, i] { walk_part(i); })) {
        here = i + 1;
        break;
      }
    for (std::size_t i = 0; i < here; ++i) walk_part(i);
    for (own_thread& walker : walkers)
      if (walker.joinable()) walker.join();
  }
  if (std::count(walked.begin(), walked.end(), 0) != 0) throw std::bad_alloc();
  std::vector<leaf> together;
  for (auto& part : found) together.insert(together.end(), part.begin(), part.end());
  return together;
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

}  // namespace durahash::cceh
