// Puts records in the order of their hashes. Hashes are spread evenly, so that the place of a
// record follows from its hash: few are compared, and few branches are mispredicted.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace durahash {

/// What it needs besides the records; the next call needs no memory again.
template <class Record>
class hash_order {
 public:
  /// Two records with one hash stay or swap.
  void sort(std::vector<Record>& records) {
    const std::size_t count = records.size();
    if (count < least) return sort_by_comparing(records);
    std::uint64_t differing = 0;
    for (const Record& r : records) differing |= r.hash ^ records.front().hash;
    if (differing == 0) return;
    const unsigned in_common = static_cast<unsigned>(std::countl_zero(differing)),
                   bin_bits = static_cast<unsigned>(std::bit_width(count)) - 1,
                   shift = 64 - std::min(64u, in_common + bin_bits);
    auto bin_of = [&](const Record& r) { return r.hash << in_common >> in_common >> shift; };
    ends_.assign(std::size_t{1} << bin_bits, 0);
    for (const Record& r : records) ++ends_[bin_of(r)];
    std::uint32_t first = 0;  // of a bin: moves to its end as records are put there
    for (std::uint32_t& of_bin : ends_) first += std::exchange(of_bin, first);
    if (sorted_.size() < count) sorted_.resize(count);
    for (const Record& r : records) sorted_[ends_[bin_of(r)]++] = r;
    records.swap(sorted_);
    records.resize(count);
    std::size_t moved = 0;
    for (std::size_t i = 1; i < count; ++i) {  // what is in one bin
      if (records[i - 1].hash <= records[i].hash) [[likely]]
        continue;
      const Record r = records[i];
      std::size_t to = i;
      for (; to > 0 && r.hash < records[to - 1].hash; --to) records[to] = records[to - 1];
      records[to] = r;
      moved += i - to;
      if (moved > 4 * count) return sort_by_comparing(records);  // they are not spread evenly
    }
  }

 private:
  static constexpr std::size_t least = 24;

  static void sort_by_comparing(std::vector<Record>& records) {
    std::sort(records.begin(), records.end(),
              [](const Record& a, const Record& b) { return a.hash < b.hash; });
  }

  std::vector<std::uint32_t> ends_;
  std::vector<Record> sorted_;
};

}  // namespace durahash
