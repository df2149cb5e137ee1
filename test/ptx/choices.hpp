// What may go on in several ways: which warp is next, which store a load sees. A seed draws the
// way. Or a walk takes all of them, one execution after the other and depth first: the choices of
// an execution are a path, and the next one differs in the last that has another way left.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "test/ptx/fault.hpp"

namespace durahash::ptx {

/// Thrown in a walk: how this execution goes on was in others, in another order of steps that none
/// can tell apart.
struct seen_before {};

enum class walk : std::uint8_t {
  none,
  once,        // of orders that none can tell apart one
  every_order  // all of them: what `once` leaves out is checked by that
};

class choices {
 public:
  /// One of so many.
  std::uint64_t below(std::uint64_t n) {
    if (!walks()) return random_() % n;
    if (n == 1) return 0;
    if (at_ == path_.size()) path_.push_back({0, n});
    if (path_[at_].of != n) throw fault("an execution that does not repeat itself");
    return path_[at_++].chosen;
  }

  // Bits, as generators of the standard library give them. They are drawn: a walk has none.
  using result_type = std::mt19937_64::result_type;
  static constexpr result_type min() { return std::mt19937_64::min(); }
  static constexpr result_type max() { return std::mt19937_64::max(); }
  result_type operator()() {
    if (walks()) throw fault("a choice that a walk does not have");
    return random_();
  }

  void draw(std::uint64_t seed) {
    now_ = walk::none;
    random_.seed(seed);
  }
  /// The execution that is next; the first one, if choices were drawn before.
  void take(walk how) {
    if (!walks()) path_.clear();
    now_ = how, at_ = 0;
  }
  /// False: that was the last one.
  bool advance() {
    while (!path_.empty() && path_.back().chosen + 1 == path_.back().of) path_.pop_back();
    if (path_.empty()) return false;
    ++path_.back().chosen;
    return true;
  }
  bool walks() const { return now_ != walk::none; }
  bool takes_every_order() const { return now_ == walk::every_order; }

 private:
  struct choice {
    std::uint64_t chosen, of;
  };
  std::mt19937_64 random_{1};
  walk now_ = walk::none;
  std::vector<choice> path_;
  std::size_t at_ = 0;
};

}  // namespace durahash::ptx
