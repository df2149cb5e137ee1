#include "persist/free_space.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <limits>
#include <utility>

#include "base/check.hpp"

namespace durahash {

unsigned free_space::order_of(std::uint64_t bytes) noexcept { return static_cast<unsigned>(std::bit_width(bytes / page_bytes)) - 1; }

free_space::spare free_space::make_spare() {
  extents made;
  made.emplace(0, 0);
  made.emplace(1, 0);
  spare s;
  s.nodes_ = {made.extract(0), made.extract(1)};
  return s;
}

void free_space::add(nodes n, std::uint64_t offset, std::uint64_t bytes) noexcept {
  for (extents::node_type* node : {&n.by_offset, &n.of_order}) node->key() = offset, node->mapped() = bytes;
  by_offset_.insert(std::move(n.by_offset));
  of_order_[order_of(bytes)].insert(std::move(n.of_order));
  bytes_ += bytes;
}

free_space::nodes free_space::remove(extents::iterator at) noexcept {
  bytes_ -= at->second;
  extents::node_type of_order = of_order_[order_of(at->second)].extract(at->first);
  return {by_offset_.extract(at), std::move(of_order)};
}

void free_space::give(std::uint64_t offset, std::uint64_t bytes, spare& memory) noexcept {
  if (bytes == 0) return;
  check(offset % page_bytes == 0 && bytes % page_bytes == 0, "free extents are whole pages");
  auto next = by_offset_.lower_bound(offset);
  bool joins_previous = false, joins_next = false;
  if (next != by_offset_.end()) {
    check(offset + bytes <= next->first, "an extent is given back once");
    joins_next = offset + bytes == next->first;
  }
  if (next != by_offset_.begin()) {
    auto previous = std::prev(next);
    check(previous->first + previous->second <= offset, "an extent is given back once");
    joins_previous = previous->first + previous->second == offset;
  }
  if (!joins_previous && !joins_next) return add(std::exchange(memory.nodes_, {}), offset, bytes);
  nodes reused;
  if (joins_previous) {
    auto previous = std::prev(next);
    offset = previous->first;
    bytes += previous->second;
    reused = remove(previous);
  }
  if (joins_next) {
    bytes += next->second;
    reused = remove(next);
  }
  add(std::move(reused), offset, bytes);
}

/// The frontmost that fits of those that are tried.
bool free_space::first_fit(const extents& candidates, int tries, std::uint64_t bytes, std::uint64_t alignment, std::uint64_t& found) const noexcept {
  for (auto [offset, has] : candidates) {
    if (tries-- == 0) break;
    if (align_up(offset, alignment) + bytes > offset + has) continue;
    found = std::min(found, offset);
    return true;
  }
  return false;
}

/// An extent of this order may be long enough, one of a higher order is, alignment aside.
std::optional<std::uint64_t> free_space::find(std::uint64_t bytes, std::uint64_t alignment) const noexcept {
  constexpr int few = 16, all = std::numeric_limits<int>::max();
  for (int tries : {few, all}) {
    std::uint64_t front = std::numeric_limits<std::uint64_t>::max();
    bool any = false;
    for (unsigned order = order_of(bytes); order < of_order_.size(); ++order) any |= first_fit(of_order_[order], tries, bytes, alignment, front);
    if (any) return front;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> free_space::take(std::uint64_t bytes, std::uint64_t alignment) {
  check(bytes > 0 && bytes % page_bytes == 0, "extents are whole pages");
  auto found = find(bytes, alignment);
  if (!found) return std::nullopt;
  auto at = by_offset_.find(*found);
  auto [offset, whole] = *at;
  std::uint64_t start = align_up(offset, alignment), end = offset + whole;
  bool leaves_front = start > offset, leaves_back = start + bytes < end;
  nodes more = leaves_front && leaves_back ? make_spare().nodes_ : nodes();
  nodes reused = remove(at);
  if (leaves_back) add(leaves_front ? std::move(more) : std::move(reused), start + bytes, end - (start + bytes));
  if (leaves_front) add(std::move(reused), offset, start - offset);
  return start;
}

std::uint64_t free_space::take_tail(std::uint64_t end) noexcept {
  if (by_offset_.empty()) return end;
  auto last = std::prev(by_offset_.end());
  if (last->first + last->second != end) return end;
  std::uint64_t start = last->first;
  remove(last);
  return start;
}

}  // namespace durahash
