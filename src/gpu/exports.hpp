// The host's part of handing records out: buckets into arrays, until those are half full.
#pragma once

#include <algorithm>

#include "gpu/device.hpp"

namespace durahash::gpu {

/// The least room that an export can do with: that of a bucket, or of all escape slots.
inline constexpr std::size_t least_export = 32;

/// From `at` on. `to` has room for n; its counter is not looked at.
inline error export_some(device& d, const leased_table& table, map::export_cursor& at,
                         std::size_t n, exported to, std::size_t& count, stream on) {
  count = 0;
  const lent_array<std::uint64_t> counter(d, 1, memory_kind::shared);
  if (counter.data() == nullptr) return {status::no_space, std::string(message(status::no_space))};
  to.count = counter.data();
  *to.count = 0;
  const std::uint64_t buckets = visited_buckets(table);
  const unsigned most_of_one =
      std::max(table.where.form().slots, unsigned{gphash::first_fingerprint});
  while (at.next < buckets && n - count >= std::max(least_export, n / 2)) {
    const std::uint64_t some =
        std::min<std::uint64_t>(buckets - at.next, (n - count) / most_of_one);
    d.export_records(table, at.next, some, to, on);
    if (error waited = d.wait(on); waited.code != status::ok) return waited;
    count = *to.count;
    at.next += some;
  }
  at.done = at.next >= buckets;
  return {status::ok, {}};
}

}  // namespace durahash::gpu
