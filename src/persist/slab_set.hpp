// Which slabs of a class have room, so that the frontmost is found at once.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace durahash {

/// Numbers of slabs: a bit each, and a bit for each word of those that is not 0. Not thread-safe:
/// its owner locks.
class slab_set {
 public:
  /// From here on numbers below `count` may be inserted. May throw, and has changed nothing then.
  void cover(std::size_t count) {
    const std::size_t words = (count + 63) / 64;
    if (words <= words_.size()) return;
    summary_.resize((words + 63) / 64);
    words_.resize(words);
  }

  /// Of a number that it covers.
  void insert(std::size_t index) noexcept {
    std::uint64_t& word = words_[index / 64];
    const std::uint64_t bit = std::uint64_t{1} << (index % 64);
    size_ += (word & bit) == 0;
    word |= bit;
    summary_[index / 4096] |= std::uint64_t{1} << (index / 64 % 64);
    front_ = std::min(front_, index / 4096);
  }
  void erase(std::size_t index) noexcept {
    std::uint64_t& word = words_[index / 64];
    const std::uint64_t bit = std::uint64_t{1} << (index % 64);
    size_ -= (word & bit) != 0;
    word &= ~bit;
    if (word == 0) summary_[index / 4096] &= ~(std::uint64_t{1} << (index / 64 % 64));
  }
  void clear() noexcept {
    std::ranges::fill(words_, 0);
    std::ranges::fill(summary_, 0);
    size_ = front_ = 0;
  }

  bool empty() const noexcept { return size_ == 0; }
  std::size_t size() const noexcept { return size_; }
  /// The least. It must not be empty.
  std::size_t front() const noexcept {
    while (summary_[front_] == 0) ++front_;  // ends: it is not empty
    const std::size_t word =
        front_ * 64 + static_cast<unsigned>(std::countr_zero(summary_[front_]));
    return word * 64 + static_cast<unsigned>(std::countr_zero(words_[word]));
  }

 private:
  std::vector<std::uint64_t> words_, summary_;
  std::size_t size_ = 0;
  mutable std::size_t front_ = 0;  // no word of the summary in front of this one has a bit
};

}  // namespace durahash
