#include "explorer/schedules.hpp"

#include "base/check.hpp"

namespace durahash::crash {

unsigned schedules::decide(const std::vector<unsigned>& ready, bool forced) {
  ++steps_;
  if (drawn_) return draw(ready, forced);
  if (!forced && preempted_ == how_.preemptions) return ready.front();
  if (point_ == stack_.size()) stack_.push_back({0, static_cast<unsigned>(ready.size())});
  unsigned chosen = stack_[point_].chosen;
  check(stack_[point_].options == ready.size(), "a schedule repeats exactly");
  ++point_;
  if (chosen != 0 && !forced) ++preempted_;
  return ready[chosen];
}

bool schedules::next() {
  ++done_;
  if (drawn_) return done_ < how_.max_schedules;
  stack_.resize(point_);
  while (!stack_.empty() && stack_.back().chosen + 1 == stack_.back().options) stack_.pop_back();
  if (stack_.empty()) return false;
  ++stack_.back().chosen;
  if (done_ * 2 < how_.max_schedules) return true;
  drawn_ = true;  // half in order, half drawn from all
  length_ = steps_;
  return done_ < how_.max_schedules;
}

/// As many preemptions, at drawn steps.
unsigned schedules::draw(const std::vector<unsigned>& ready, bool forced) {
  if (steps_ == 1) {
    at_.clear();
    for (unsigned i = 0; i < how_.preemptions; ++i) at_.push_back(1 + random_() % (length_ + 1));
  }
  bool now = forced;
  for (std::uint64_t step : at_) now |= step == steps_;
  return now ? ready[random_() % ready.size()] : ready.front();
}

}  // namespace durahash::crash
