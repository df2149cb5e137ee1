#include "persist/free_space.hpp"

#include <bit>
#include <iterator>

#include "base/check.hpp"

namespace durahash {

unsigned free_space::order_of(std::uint64_t bytes) { return static_cast<unsigned>(std::bit_width(bytes / page_bytes)) - 1; }

free_space::iterator free_space::add(std::uint64_t offset, std::uint64_t bytes) {
  offsets_of_order_[order_of(bytes)].insert(offset);
  bytes_ += bytes;
  return by_offset_.emplace(offset, bytes).first;
}

void free_space::remove(iterator at) {
  offsets_of_order_[order_of(at->second)].erase(at->first);
  bytes_ -= at->second;
  by_offset_.erase(at);
}

void free_space::give(std::uint64_t offset, std::uint64_t bytes) {
  if (bytes == 0) return;
  check(offset % page_bytes == 0 && bytes % page_bytes == 0, "free extents are whole pages");
  auto next = by_offset_.lower_bound(offset);
  if (next != by_offset_.end()) {
    check(offset + bytes <= next->first, "an extent is given back once");
    if (offset + bytes == next->first) {
      bytes += next->second;
      remove(next);
    }
  }
  auto previous = by_offset_.lower_bound(offset);
  if (previous != by_offset_.begin()) {
    --previous;
    check(previous->first + previous->second <= offset, "an extent is given back once");
    if (previous->first + previous->second == offset) {
      offset = previous->first;
      bytes += previous->second;
      remove(previous);
    }
  }
  add(offset, bytes);
}

std::optional<std::uint64_t> free_space::take(std::uint64_t bytes, std::uint64_t alignment) {
  check(bytes > 0 && bytes % page_bytes == 0, "extents are whole pages");
  // An extent of this order may be long enough, one of a higher order is (alignment aside). The frontmost candidate wins.
  iterator best = by_offset_.end();
  for (unsigned order = order_of(bytes); order < offsets_of_order_.size(); ++order)
    if (iterator found = first_fit(order, bytes, alignment); found != by_offset_.end() && (best == by_offset_.end() || found->first < best->first))
      best = found;
  if (best == by_offset_.end()) return std::nullopt;
  return carve(best, align_up(best->first, alignment), bytes);
}

free_space::iterator free_space::first_fit(unsigned order, std::uint64_t bytes, std::uint64_t alignment) {
  constexpr int tries = 16;  // bounds the search among extents that are too short or badly aligned
  int left = tries;
  for (std::uint64_t offset : offsets_of_order_[order]) {
    if (left-- == 0) break;
    auto at = by_offset_.find(offset);
    if (align_up(offset, alignment) + bytes <= offset + at->second) return at;
  }
  return by_offset_.end();
}

std::uint64_t free_space::carve(iterator at, std::uint64_t start, std::uint64_t bytes) {
  auto [offset, whole] = *at;
  remove(at);
  if (start > offset) add(offset, start - offset);
  if (start + bytes < offset + whole) add(start + bytes, offset + whole - (start + bytes));
  return start;
}

std::uint64_t free_space::take_tail(std::uint64_t end) {
  if (by_offset_.empty()) return end;
  auto last = std::prev(by_offset_.end());
  if (last->first + last->second != end) return end;
  std::uint64_t start = last->first;
  remove(last);
  return start;
}

void free_space::clear() {
  by_offset_.clear();
  for (auto& offsets : offsets_of_order_) offsets.clear();
  bytes_ = 0;
}

}  // namespace durahash
