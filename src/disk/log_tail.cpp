#include "disk/log_tail.hpp"

#include <cstring>

#include "disk/planted.hpp"

namespace durahash {

void log_tail::clear() noexcept {
  lines_.clear();
  waiting_.clear();
  forgotten_ = 0;
}

void log_tail::forget_before(std::uint64_t place) {
  if (place == forgotten_) return;
  forgotten_ = place;
  std::erase_if(lines_, [&](const auto& l) { return l.second.place < place; });
}

void log_tail::put_onto(std::uint64_t page, std::byte* at) const noexcept {
  if (lines_.empty() || disk_bug("a-page-without-its-log")) return;
  for (std::uint64_t n = 0; n < lines_per_page; ++n)
    if (auto found = lines_.find(page * lines_per_page + n); found != lines_.end())
      std::memcpy(at + n * line_bytes, found->second.words.data(), line_bytes);
}

}  // namespace durahash
