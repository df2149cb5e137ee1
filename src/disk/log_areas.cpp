#include "disk/log_areas.hpp"

#include <algorithm>

#include "base/bits.hpp"
#include "disk/log_format.hpp"
#include "disk/planted.hpp"

namespace durahash {

std::size_t log_areas::area_of(std::uint64_t place) const noexcept {
  std::size_t n = count - 1;
  while (n > 0 && place < all[n].first) --n;
  return n;
}

std::uint64_t log_areas::slot_of(std::uint64_t place) const noexcept {
  const log_area& a = all[area_of(place)];
  return (a.slot + (place - a.first)) % a.slots;
}

std::uint64_t log_areas::run_from(std::uint64_t place) const noexcept {
  std::size_t n = area_of(place);
  std::uint64_t to_lap_end = all[n].slots - slot_of(place);
  return n + 1 == count ? to_lap_end : std::min(to_lap_end, all[n + 1].first - place);
}

std::uint64_t log_areas::end(std::uint64_t from) const noexcept {
  const log_area& a = newest();
  bool older_needed = from < a.first && !disk_bug("a-grown-log-goes-round-too-early");
  return older_needed ? a.first + (a.slots - a.slot) : from + a.slots;
}

void log_areas::forget_before(std::uint64_t from) noexcept {
  std::uint64_t n = area_of(from);
  if (disk_bug("an-area-forgotten-too-early")) n = count - 1;
  std::copy(all.begin() + n, all.begin() + count, all.begin());
  count -= n;
  std::fill(all.begin() + count, all.end(), log_area{});
}

/// At a page of entries: those of one are written whole, and stand together.
void log_areas::grow(std::uint64_t from, std::uint64_t slots) noexcept {
  all[count] = {align_down(end(from), page_of_entries), this->slots(), slots};
  ++count;
}

bool log_areas::is_sound() const noexcept {
  if (count == 0 || count > max_count) return false;
  for (std::size_t n = 0; n < count; ++n) {
    const log_area& a = all[n];
    if (a.slots == 0 || a.slots % min_slots != 0 || a.slots > max_slots || a.slot >= a.slots ||
        a.slot % page_of_entries != 0 || a.first % page_of_entries != 0)
      return false;
    if (n > 0 && (a.first <= all[n - 1].first || a.slot != all[n - 1].slots)) return false;
  }
  return true;
}

}  // namespace durahash
