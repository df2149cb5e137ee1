// How long each operation of one thread took; on a disk, apart for those beside a checkpoint.
#pragma once

#include <atomic>
#include <cstdint>

#include "bench/histogram.hpp"

namespace durahash::bench {

class timings {
 public:
  /// `checkpoint` says whether one is under way; null where there are none.
  explicit timings(const std::atomic<bool>* checkpoint = nullptr) : checkpoint_(checkpoint) {}

  /// An operation is beside a checkpoint if one was under way at its beginning or at its end.
  void record(std::uint64_t took) noexcept {
    bool before = under_way_;
    if (checkpoint_ != nullptr) under_way_ = checkpoint_->load(std::memory_order_relaxed);
    (before || under_way_ ? beside_ : apart_).record(took);
  }

  void merge(const timings& other) noexcept {
    apart_.merge(other.apart_);
    beside_.merge(other.beside_);
  }

  histogram all() const {
    histogram both = apart_;
    both.merge(beside_);
    return both;
  }
  const histogram& apart() const noexcept { return apart_; }
  const histogram& beside() const noexcept { return beside_; }

 private:
  const std::atomic<bool>* checkpoint_;
  bool under_way_ = false;
  histogram apart_, beside_;
};

}  // namespace durahash::bench
