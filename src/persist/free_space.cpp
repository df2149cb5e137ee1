#include "persist/free_space.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <limits>
#include <utility>

#include "base/check.hpp"

namespace durahash {

namespace {
constexpr unsigned steps = 8;  // of a power of two
}

free_space::size_class free_space::class_of(std::uint64_t bytes) noexcept {
  std::uint64_t pages = bytes / page_bytes;
  if (pages < 2 * steps) return static_cast<size_class>(pages);
  int shift = std::bit_width(pages / (2 * steps));
  return static_cast<size_class>(shift) * steps + static_cast<size_class>(pages >> shift);
}

std::uint64_t free_space::min_bytes(size_class c) noexcept {
  if (c < 2 * steps) return c * page_bytes;
  return (std::uint64_t{steps + c % steps} << (c / steps - 1)) * page_bytes;
}

free_space::spare free_space::make_spare() {
  extents one;
  classified other;
  one.emplace();
  other.emplace();
  spare s;
  s.nodes_ = {one.extract(one.begin()), other.extract(other.begin())};
  return s;
}

void free_space::add(nodes n, std::uint64_t offset, std::uint64_t bytes) noexcept {
  n.by_offset.key() = offset;
  n.by_class.key() = {class_of(bytes), offset};
  n.by_offset.mapped() = n.by_class.mapped() = bytes;
  by_offset_.insert(std::move(n.by_offset));
  by_class_.insert(std::move(n.by_class));
  bytes_ += bytes;
}

free_space::nodes free_space::remove(extents::iterator at) noexcept {
  bytes_ -= at->second;
  auto of_class = by_class_.extract({class_of(at->second), at->first});
  return {by_offset_.extract(at), std::move(of_class)};
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

/// First the classes of which every extent is long enough, wherever it begins: then few of the
/// others are left to look at, those in front of what was found.
std::optional<std::uint64_t> free_space::find(std::uint64_t bytes,
                                              std::uint64_t alignment) const noexcept {
  constexpr std::uint64_t nowhere = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t front = nowhere;
  size_class fits = class_of(bytes + alignment - page_bytes);
  if (min_bytes(fits) < bytes + alignment - page_bytes) ++fits;
  for (auto at = first_from(fits); at != by_class_.end(); at = first_from(at->first.first + 1))
    front = std::min(front, at->first.second);
  for (auto at = first_from(class_of(bytes)); at != by_class_.end() && at->first.first < fits;) {
    auto [of_class, offset] = at->first;
    bool in_front = offset < front,
         holds = align_up(offset, alignment) + bytes <= offset + at->second;
    if (in_front && holds) front = offset;
    at = in_front && !holds ? std::next(at) : first_from(of_class + 1);
  }
  return front == nowhere ? std::nullopt : std::optional(front);
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
  if (leaves_back)
    add(leaves_front ? std::move(more) : std::move(reused), start + bytes, end - (start + bytes));
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
