// Rows of numbers, gathered: the sum or the mean of those of a bag, by one warp.
#pragma once

#include "gpu/elements.hpp"
#include "gpu/rows.hpp"

namespace durahash::gpu {

/// Arrays that the device reads and writes.
struct gather_batch {
  std::size_t count;  // of keys
  const std::uint64_t* keys;
  gathering how;
  std::byte* rows;  // of a bag each
  status* answers;
  missed_keys missed;
  std::uint32_t now = 0;  // the batch's number, for the cache

  constexpr std::size_t bags() const noexcept { return how.offsets == nullptr ? count : how.bags; }
  constexpr std::uint64_t row_bytes() const noexcept { return how.width * bytes_of(how.to); }
};

template <class Side>
class row_gather {
 public:
  DURAHASH_ON_DEVICE row_gather(Side& side, const leased_rows& rows) noexcept
      : side_(side), search_(side, rows) {}

  /// The bags first, first + step, ... of a batch.
  DURAHASH_ON_DEVICE void gather_all(const gather_batch& b, tallies& total, std::size_t first,
                                     std::size_t step) const {
    looks seen{b.now};
    for (std::size_t bag = first; bag < b.bags(); bag += step) {
      std::uint64_t begin = bag, end = bag + 1;
      if (b.how.offsets != nullptr)
        begin = least(b.how.offsets[bag], b.count), end = least(b.how.offsets[bag + 1], b.count);
      for (std::uint64_t from = 0; from < b.how.width; from += at_once)
        gather_part(b, begin, end, from, b.rows + bag * b.row_bytes(), seen);
    }
    search_.add(total, seen);
  }

 private:
  static constexpr std::uint64_t for_each_lane = 8, lanes = 32, at_once = for_each_lane * lanes;

  DURAHASH_ON_DEVICE auto& warp() const noexcept { return side_.warp; }
  static DURAHASH_ON_DEVICE std::uint64_t least(std::uint64_t a, std::uint64_t b) noexcept {
    return a < b ? a : b;
  }

  /// So many elements from that one on. Keys are looked up again for each part.
  DURAHASH_ON_DEVICE void gather_part(const gather_batch& b, std::uint64_t begin, std::uint64_t end,
                                      std::uint64_t from, std::byte* into, looks& seen) const {
    using numbers = typename std::remove_cvref_t<decltype(Side::warp)>::template varying<float>;
    numbers sums[for_each_lane];
    DURAHASH_UNROLLED
    for (std::uint64_t n = 0; n < for_each_lane; ++n)
      sums[n] = warp().each([](unsigned) { return 0.0f; });
    std::uint32_t found = 0;
    for (std::uint64_t i = begin; i < end; ++i) {
      const std::byte* row = nullptr;
      std::uint32_t length = 0;
      status answer = search_.locate(search_.key_of(b.keys, i), row, length,
                                     from == 0 ? search_.sampled(i, seen) : nullptr);
      if (answer == status::ok && length != b.how.width * bytes_of(b.how.from))
        answer = status::mismatch;
      else if (answer == status::ok && reinterpret_cast<std::uintptr_t>(row) % alignof(float) != 0)
        answer = status::damaged;  // no record of ours lies so
      if (from == 0) search_.tell(b, i, answer);
      if (answer != status::ok) continue;
      ++found;
      DURAHASH_UNROLLED
      for (std::uint64_t n = 0; n < for_each_lane; ++n)
        sums[n] = warp().each([&](unsigned lane) {
          const std::uint64_t at = from + n * lanes + lane;
          const float sum = warp().of(sums[n], lane);
          return at < b.how.width ? sum + element_at(b.how.from, row, at) : sum;
        });
    }
    DURAHASH_UNROLLED
    for (std::uint64_t n = 0; n < for_each_lane; ++n)
      warp().each([&](unsigned lane) {
        const std::uint64_t at = from + n * lanes + lane;
        if (at >= b.how.width) return false;
        const float sum = warp().of(sums[n], lane);
        set_element(
            b.how.to, into, at,
            b.how.how == pooling::mean && found != 0 ? sum / static_cast<float>(found) : sum);
        return true;
      });
  }

  Side& side_;
  row_search<Side> search_;
};

}  // namespace durahash::gpu
