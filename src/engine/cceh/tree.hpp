// CCEH: the directory as a buddy tree (paper §4, algorithm 1 and figure 5): what a crash may have
// left of a split, a merge or a move, and how it is rolled forward.
#pragma once

#include <algorithm>
#include <cstdint>
#include <new>
#include <vector>

#include "base/own_thread.hpp"
#include "engine/frame/lifecycle.hpp"
#include "engine/place.hpp"

namespace durahash::cceh {

namespace detail {

/// A node of the buddy tree: the entries [begin, begin + count), which share `level` bits.
struct node {
  std::uint64_t begin, count;
  unsigned level;
};
/// How they stand.
enum class node_state : std::uint8_t {
  inner,    // its halves are nodes of their own
  whole,    // one segment's
  torn,     // a split, merge or move was under way
  damaged,  // no crash leaves this
};

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

/// A leaf of the buddy tree, as recovery finds it.
struct leaf {
  detail::node where;
  detail::node_state state;
  checked_place left, right;  // what the halves are, or are to become
};

/// Calls visit(first, entries, entry) for the entries that name one segment side by side, from left
/// to right, of a directory of that depth in which nothing was under way; until it returns false.
/// Returns false where something was. But for the moments of a split, a merge or a move, reading
/// the entries in a row is all that a recovery needs.
template <class EntryAt, class Visit>
bool for_each_run(unsigned depth, EntryAt&& entry_at, Visit&& visit) {
  const std::uint64_t count = std::uint64_t{1} << depth;
  for (std::uint64_t first = 0, length = 0; first < count; first += length) {
    const checked_place entry = entry_at(first);
    if (entry.none() || !entry.sound() || entry.exponent() > depth) return false;
    length = count >> entry.exponent();
    if ((first & (length - 1)) != 0) return false;
    for (std::uint64_t n = first + 1; n < first + length; ++n)
      if (entry_at(n) != entry) return false;
    if (!visit(first, length, entry)) break;
  }
  return true;
}

namespace detail {

template <class EntryAt>
std::vector<leaf> leaves_of(const node& n, EntryAt&& entry_at) {
  std::vector<leaf> found;
  walk_tree(n, entry_at,
            [&](const node& at, node_state state, checked_place left, checked_place right) {
              found.push_back({at, state, left, right});
              return true;
            });
  return found;
}

/// Its subtrees, but for what ends above them.
template <class EntryAt>
std::vector<node> parts_of(const node& all, EntryAt&& entry_at) {
  constexpr unsigned parts_log2 = 3;
  checked_place left, right;
  std::vector<node> parts{all};
  for (unsigned level = 0; level < parts_log2; ++level) {
    std::vector<node> deeper;
    for (const node& n : parts) {
      if (n.level < level || examine(n, entry_at, left, right) != node_state::inner) {
        deeper.push_back(n);
        continue;
      }
      deeper.push_back({n.begin, n.count / 2, n.level + 1});
      deeper.push_back({n.begin + n.count / 2, n.count / 2, n.level + 1});
    }
    parts = std::move(deeper);
  }
  return parts;
}

template <class EntryAt>
std::vector<leaf> leaves_by_threads(const std::vector<node>& parts, EntryAt&& entry_at) {
  std::vector<std::vector<leaf>> found(parts.size());
  std::vector<char> walked(parts.size());
  {
    std::vector<own_thread> walkers(parts.size());
    auto walk_part = [&](std::size_t i) {
      if_memory_allows([&] { found[i] = leaves_of(parts[i], entry_at), walked[i] = true; });
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

}  // namespace detail

/// The leaves of the buddy tree, from left to right. Large directories are walked by several
/// threads.
template <class EntryAt>
std::vector<leaf> read_tree(unsigned depth, EntryAt&& entry_at) {
  const detail::node all{0, std::uint64_t{1} << depth, 0};
  constexpr std::uint64_t worth_threads = 1 << 17;
  checked_place left, right;
  if (all.count < worth_threads ||
      detail::examine(all, entry_at, left, right) != detail::node_state::inner)
    return detail::leaves_of(all, entry_at);
  return detail::leaves_by_threads(detail::parts_of(all, entry_at), entry_at);
}

}  // namespace durahash::cceh
