// Batches in blocks: what the C API's arrays are turned into lies on the stack.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>

#include "pool.hpp"

namespace durahash::c {

/// `n` operations in blocks of 1,024, whose turned arrays stay in the processor's first cache. All
/// at once where the caller's arrays are used as they lie; and of a pool with a log, where each
/// call waits for the disk.
class blocks {
 public:
  static constexpr std::size_t on_stack = 1024;

  blocks(const handle& of, std::size_t n, bool as_they_lie)
      : n_(n), most_(as_they_lie || of.position() != 0 ? n : std::min(n, on_stack)) {}

  /// Keys of the largest one.
  std::size_t most() const noexcept { return most_; }

  /// Runs run(first, count) for one after another.
  template <class Run>
  void each(Run&& run) const {
    for (std::size_t first = 0; first < n_; first += most_) run(first, std::min(most_, n_ - first));
  }

 private:
  std::size_t n_, most_;
};

/// Room for what one block needs, not initialised.
template <class T>
class block_array {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  /// Unless it is needed it stays as it is, and must not be used.
  block_array(const blocks& all, bool needed)
      : more_(needed && all.most() > blocks::on_stack ? new std::byte[all.most() * sizeof(T)]
                                                      : nullptr) {}
  T* data() noexcept { return reinterpret_cast<T*>(more_ != nullptr ? more_.get() : few_); }
  std::span<T> first(std::size_t count) noexcept { return {data(), count}; }

 private:
  std::unique_ptr<std::byte[]> more_;
  alignas(T) std::byte few_[blocks::on_stack * sizeof(T)];
};

/// A batch's answers, one byte each in the caller's array, which may be null.
static_assert(sizeof(status) == 1);
class answer_array {
 public:
  answer_array(std::uint8_t* all, const blocks& in)
      : all_(reinterpret_cast<status*>(all)), unheard_(in, all == nullptr) {}

  /// Where those of a block are to go.
  std::span<status> of_block(std::size_t first, std::size_t count) noexcept {
    return {all_ != nullptr ? all_ + first : unheard_.data(), count};
  }
  /// Behind each block, with what of_block gave.
  void note(std::span<const status> block) noexcept {
    if (!is_answer(first_failure_)) return;
    status worst = status::ok;  // in a loop that has no way out, which compilers make short
    for (const status s : block) worst = std::max(worst, s);
    if (is_answer(worst)) return;
    first_failure_ = *std::find_if_not(block.begin(), block.end(), is_answer);
  }
  /// What the batch answers.
  status summary() const noexcept { return first_failure_; }

 private:
  status* all_;
  status first_failure_ = status::ok;
  block_array<status> unheard_;
};

}  // namespace durahash::c
