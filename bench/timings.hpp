// How long each operation of one thread took; on a disk, apart for those beside a checkpoint. If
// asked, window by window, and from an arrival that does not wait for the operation before.
#pragma once

#include <atomic>
#include <cmath>
#include <cstdint>
#include <vector>

#include "bench/clock.hpp"
#include "bench/histogram.hpp"
#include "bench/random.hpp"

namespace durahash::bench {

/// What ended in one window of a pass, and the longest of it.
struct window_counts {
  std::uint64_t ops = 0;
  std::uint64_t longest = 0;  ///< ticks
};

class timings {
 public:
  /// `checkpoint` says whether one is under way; null where there are none.
  explicit timings(const std::atomic<bool>* checkpoint = nullptr) : checkpoint_(checkpoint) {}

  /// Windows of so many ticks, the first from `origin` on.
  void keep_windows(std::uint64_t ticks_of_one, ticks origin) {
    window_ = ticks_of_one, origin_ = origin;
  }
  /// Operations of this thread arrive at random, with so many ticks between them on average.
  void let_arrive(double mean_gap, std::uint64_t seed, ticks origin) {
    mean_gap_ = mean_gap, random_ = random_source(seed), due_ = static_cast<double>(origin);
  }

  /// When the next operation begins: now; or its arrival, which is waited for if it is to come. One
  /// that is late has waited in a queue, and that is a part of its latency.
  template <class Clock>
  ticks begin(Clock&& now) noexcept {
    if (mean_gap_ == 0) return now();
    due_ += -std::log(1 - random_.unit()) * mean_gap_;
    const auto arrival = static_cast<ticks>(due_);
    while (now() < arrival) {}
    return arrival;
  }

  /// `count` operations ended at `now`, each after `took`. An operation is beside a checkpoint if
  /// one was under way at its beginning or at its end.
  void record(std::uint64_t took, std::uint64_t count, ticks now) {
    bool before = under_way_;
    if (checkpoint_ != nullptr) under_way_ = checkpoint_->load(std::memory_order_relaxed);
    (before || under_way_ ? beside_ : apart_).record(took);
    if (window_ != 0) record_in_window(took, count, now);
  }

  void merge(const timings& other) {
    apart_.merge(other.apart_);
    beside_.merge(other.beside_);
    if (windows_.size() < other.windows_.size()) windows_.resize(other.windows_.size());
    for (std::size_t w = 0; w < other.windows_.size(); ++w) {
      windows_[w].ops += other.windows_[w].ops;
      windows_[w].longest = std::max(windows_[w].longest, other.windows_[w].longest);
    }
  }

  histogram all() const {
    histogram both = apart_;
    both.merge(beside_);
    return both;
  }
  const histogram& apart() const noexcept { return apart_; }
  const histogram& beside() const noexcept { return beside_; }
  const std::vector<window_counts>& windows() const noexcept { return windows_; }

 private:
  void record_in_window(std::uint64_t took, std::uint64_t count, ticks now) {
    const std::size_t at = now < origin_ ? 0 : (now - origin_) / window_;
    if (windows_.size() <= at) windows_.resize(at + 1);
    windows_[at].ops += count;
    windows_[at].longest = std::max(windows_[at].longest, took);
  }

  const std::atomic<bool>* checkpoint_;
  bool under_way_ = false;
  histogram apart_, beside_;
  std::uint64_t window_ = 0;
  ticks origin_ = 0;
  std::vector<window_counts> windows_;
  double mean_gap_ = 0, due_ = 0;  // ticks
  random_source random_{0};
};

}  // namespace durahash::bench
