// Which thread goes on, at every point of a run: all schedules with few preemptions one after
// another, or drawn ones where those are too many.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace durahash::crash {

struct schedule_plan {
  // at most so many turns are taken from a thread that could go on
  unsigned preemptions = 2;
  std::uint64_t max_schedules = 400;  // beyond, they are drawn
};

/// Goes through schedules in depth first order: at each point where another thread may be
/// preferred, first nobody is.
class schedules {
 public:
  schedules(const schedule_plan& how, std::mt19937_64& random) : how_(how), random_(random) {}

  void begin() { point_ = 0, preempted_ = 0, steps_ = 0; }

  /// `ready.front()` goes on, unless it is another one's turn. `forced`: the thread that ran cannot
  /// go on.
  unsigned decide(const std::vector<unsigned>& ready, bool forced);

  /// Moves on to the next schedule. Returns false when there is none.
  bool next();

  /// Whether each was, or will be, gone through.
  bool all() const { return !drawn_; }

 private:
  struct choice_point {
    unsigned chosen, options;
  };
  unsigned draw(const std::vector<unsigned>& ready, bool forced);

  const schedule_plan how_;
  std::mt19937_64& random_;
  std::vector<choice_point> stack_;
  std::size_t point_ = 0;
  unsigned preempted_ = 0;
  std::uint64_t steps_ = 0, done_ = 0, length_ = 0;
  bool drawn_ = false;
  std::vector<std::uint64_t> at_;
};

}  // namespace durahash::crash
