#include "bench/clock.hpp"

#include "bench/histogram.hpp"

namespace durahash::bench {
namespace {

double calibrate() noexcept {
  using std::chrono::steady_clock;
  auto from = steady_clock::now();
  ticks first = ordered_ticks();
  while (steady_clock::now() - from < std::chrono::milliseconds(20)) {}
  ticks last = ordered_ticks();
  return seconds_between(from, steady_clock::now()) * 1e9 / static_cast<double>(last - first);
}

}  // namespace

double ns_per_tick() noexcept {
  static const double ratio = calibrate();
  return ratio;
}

double clock_ns() noexcept {
  histogram empty;
  for (int i = 0; i < 10'000; ++i) {
    ticks start = ordered_ticks();
    empty.record(ordered_ticks() - start);
  }
  return static_cast<double>(empty.quantile(0.5)) * ns_per_tick();
}

}  // namespace durahash::bench
