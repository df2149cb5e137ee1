#include "disk/log_tail.hpp"

#include <algorithm>
#include <cstring>

#include "disk/planted.hpp"

namespace durahash {

void log_tail::clear() noexcept {
  lines_.clear();
  index_.clear();
  waiting_.clear();
  kept_ = 0;
  forgotten_ = 0;
}

void log_tail::forget_before(std::uint64_t place) {
  forgotten_ = place;
  constexpr std::size_t few = 1024;
  if (lines_.size() < std::max(2 * kept_, few)) return;
  std::erase_if(lines_, [&](const known& k) { return k.place < place; });
  kept_ = lines_.size();
  index_all(index_.size());
}

std::size_t log_tail::slot_of(std::uint64_t number) const noexcept {
  const std::size_t mask = index_.size() - 1;
  std::size_t slot = hash_of(number);
  while (index_[slot] != 0 && lines_[index_[slot] - 1].number != number) slot = (slot + 1) & mask;
  return slot;
}

void log_tail::index_all(std::size_t slots) {
  index_.assign(slots, 0);
  for (std::size_t n = 0; n < lines_.size(); ++n)
    index_[slot_of(lines_[n].number)] = static_cast<std::uint32_t>(n + 1);
}

auto log_tail::find(std::uint64_t number) const noexcept -> const known* {
  if (lines_.empty()) return nullptr;
  const std::uint32_t found = index_[slot_of(number)];
  return found == 0 || lines_[found - 1].place < forgotten_ ? nullptr : &lines_[found - 1];
}

auto log_tail::known_of(std::uint64_t number) -> known& {
  constexpr std::size_t least = 1024;
  if (2 * (lines_.size() + 1) > index_.size()) index_all(std::max(2 * index_.size(), least));
  const std::size_t slot = slot_of(number);
  if (index_[slot] == 0) {
    lines_.push_back({number, 0, {}});
    index_[slot] = static_cast<std::uint32_t>(lines_.size());
  }
  return lines_[index_[slot] - 1];
}

void log_tail::put_onto(std::uint64_t page, std::byte* at) const noexcept {
  if (disk_bug("a-page-without-its-log")) return;
  for (std::uint64_t n = 0; n < lines_per_page; ++n)
    if (const known* k = find(page * lines_per_page + n))
      std::memcpy(at + n * line_bytes, k->words.data(), line_bytes);
}

}  // namespace durahash
