#include "bench/histogram.hpp"

#include <algorithm>
#include <cmath>

namespace durahash::bench {

void histogram::merge(const histogram& other) noexcept {
  for (std::size_t i = 0; i < buckets_.size(); ++i) buckets_[i] += other.buckets_[i];
  count_ += other.count_;
  max_ = std::max(max_, other.max_);
}

std::uint64_t histogram::quantile(double share) const noexcept {
  if (count_ == 0) return 0;
  auto wanted = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(count_)));
  wanted = std::clamp<std::uint64_t>(wanted, 1, count_);
  std::uint64_t seen = 0;
  std::size_t bucket = 0;
  while ((seen += buckets_[bucket]) < wanted) ++bucket;
  return std::min(log_linear::last_value_of(bucket), max_);
}

std::vector<histogram::step> histogram::steps() const {
  constexpr std::size_t merged = 8;
  static_assert(log_linear::bucket_count % merged == 0);
  std::vector<step> filled;
  for (std::size_t first = 0; first < log_linear::bucket_count; first += merged) {
    std::uint64_t count = 0;
    for (std::size_t bucket = first; bucket < first + merged; ++bucket) count += buckets_[bucket];
    if (count != 0)
      filled.push_back({std::min(log_linear::last_value_of(first + merged - 1), max_), count});
  }
  return filled;
}

}  // namespace durahash::bench
