#include <cstdlib>

#include <algorithm>
#include <chrono>
#include <ctime>

#include "bench/clock.hpp"
#include "bench/reproduce/laboratory.hpp"
#include "bench/reproduce/report.hpp"
#include "durahash/emulated.hpp"

namespace durahash::reproduce {
namespace {

double load_average_now() {
  double last_minute = 0;
  return ::getloadavg(&last_minute, 1) == 1 ? last_minute : 0;
}

double processor_seconds_now() {
  return static_cast<double>(std::clock()) / static_cast<double>(CLOCKS_PER_SEC);
}

}  // namespace

report run(const request& asked,
           const std::function<void(std::string_view, std::size_t, std::size_t)>& tell) {
  use_emulated_medium();
  using clock = std::chrono::steady_clock;
  report all{asked, bench::this_machine(), load_average_now(), 0, 0, {}, {}};
  laboratory lab(asked.keys, asked.seed, asked.quick, asked.on);
  std::vector<const claim*> claims;
  for (const engine_kind engine : asked.engines)
    for (const claim& one : claims_of(engine)) claims.push_back(&one);

  const auto began = clock::now();
  const double worked_before = processor_seconds_now();
  for (const claim* one : claims) {
    tell(one->id, all.rows.size(), claims.size());
    const auto start = clock::now();
    const double worked = processor_seconds_now();
    row made{one, one->measure(lab)};
    made.seconds = bench::seconds_between(start, clock::now());
    made.processor_seconds = processor_seconds_now() - worked;
    all.rows.push_back(std::move(made));
    all.load_average = std::max(all.load_average, load_average_now());
  }
  all.seconds = bench::seconds_between(began, clock::now());
  all.processor_seconds = processor_seconds_now() - worked_before;
  for (const picture& one : lab.pictures())
    if (std::find(asked.engines.begin(), asked.engines.end(), one.engine) != asked.engines.end())
      all.pictures.push_back(one);
  return all;
}

}  // namespace durahash::reproduce
