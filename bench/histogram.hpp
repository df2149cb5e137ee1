// Durations, counted in buckets whose width grows with their size.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace durahash::bench {

/// Which bucket a value falls into, and where a bucket ends: 64 buckets per power of two, below 128
/// one per value.
struct log_linear {
  static constexpr int half_bits = 6;
  static constexpr std::uint64_t linear_end = std::uint64_t{2} << half_bits;  // 128
  static constexpr std::size_t bucket_count = (64 - half_bits + 1) << half_bits;

  static constexpr std::size_t bucket_of(std::uint64_t value) noexcept {
    if (value < linear_end) return value;
    int shift = static_cast<int>(std::bit_width(value)) - half_bits - 1;
    return (static_cast<std::size_t>(shift) << half_bits) + (value >> shift);
  }
  static constexpr std::uint64_t last_value_of(std::size_t bucket) noexcept {
    if (bucket < linear_end) return bucket;
    std::size_t shift = (bucket >> half_bits) - 1;
    std::uint64_t leading = bucket - (shift << half_bits);
    return ((leading + 1) << shift) - 1;  // the last bucket ends at 2^64 - 1: the shift wraps to 0
  }
};
static_assert(log_linear::bucket_of(127) == 127 && log_linear::bucket_of(129) == 128);
static_assert(log_linear::bucket_of(255) == 191 && log_linear::bucket_of(256) == 192);
static_assert(log_linear::bucket_of(~std::uint64_t{0}) == log_linear::bucket_count - 1);
static_assert(log_linear::last_value_of(log_linear::bucket_count - 1) == ~std::uint64_t{0});

/// A log-linear histogram of 64-bit values: a quantile is at most 1/64 (1.6 %) above the true one,
/// below 128 it is exact. The maximum is exact. 30 KB; recording is an increment. One thread each,
/// merge afterwards.
class histogram {
 public:
  histogram() : buckets_(log_linear::bucket_count) {}

  void record(std::uint64_t value) noexcept {
    ++buckets_[log_linear::bucket_of(value)];
    ++count_;
    if (value > max_) max_ = value;
  }

  void merge(const histogram& other) noexcept;

  std::uint64_t count() const noexcept { return count_; }
  std::uint64_t max() const noexcept { return max_; }

  /// The smallest recorded value that at least `share` of all values do not exceed, rounded up to
  /// the end of its bucket and never above the maximum. share in (0, 1]. 0 when nothing was
  /// recorded.
  std::uint64_t quantile(double share) const noexcept;

  /// How many values are at most that, and above the step before; steps without any left out. Eight
  /// steps to a power of two.
  struct step {
    std::uint64_t at_most, count;
  };
  std::vector<step> steps() const;

 private:
  std::vector<std::uint64_t> buckets_;
  std::uint64_t count_ = 0;
  std::uint64_t max_ = 0;
};

}  // namespace durahash::bench
