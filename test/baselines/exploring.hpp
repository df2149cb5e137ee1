// Explorations of baselines: as published but for chosen holes.
#pragma once

#include <gtest/gtest.h>

#include "base/turns.hpp"
#include "baselines/baseline_subject.hpp"
#include "bench/baselines/registry.hpp"
#include "explorer/turn_scheduler.hpp"

namespace durahash::crash {

inline constexpr std::uint32_t all_mended = ~std::uint32_t{0};
constexpr std::uint32_t all_but(unsigned hole) { return all_mended & ~(std::uint32_t{1} << hole); }

inline plan baseline_plan() {
  plan how;
  how.images = {.all_up_to = 256, .options_per_line = 24, .lines_each = 12, .samples = 12};
  how.nested_images = {.all_up_to = 12, .options_per_line = 8, .lines_each = 4, .samples = 4};
  how.nested_every = 40;
  how.kill_every = 12;
  how.go_on_every = 8;
  how.depth = 2;
  return how;
}

/// Each crash is followed by another one, after more work; few images of each.
inline plan crashed_twice() {
  plan how = baseline_plan();
  how.images =
      how.nested_images = {.all_up_to = 8, .options_per_line = 2, .lines_each = 4, .samples = 2};
  how.nested_every = 1;
  how.nested_operations = 24;
  how.kill_every = 0;
  return how;
}
/// The process dies at each crash point, and another one works on.
inline plan killed_often() {
  plan how = baseline_plan();
  how.kill_every = 1;
  return how;
}

/// Insertions until the table has grown, then a bit of everything.
inline program baseline_program(std::uint64_t seed, key_number keys) {
  std::mt19937_64 random(seed);
  program made;
  made.keys = keys;
  std::uint32_t version = 1;
  for (key_number k = 0; k < keys; ++k) made.operations.push_back({act::insert, {k}, version++});
  for (int i = 0; i < keys * 2; ++i) {
    constexpr act some[] = {act::put, act::update, act::erase, act::erase, act::insert, act::get};
    auto k = static_cast<key_number>(random() % keys);
    made.operations.push_back({some[random() % std::size(some)], {k}, version++});
  }
  made.operations.push_back({act::reopen, {}, 0});
  made.operations.push_back({act::put, {0}, version});
  return made;
}

struct explored {
  std::uint64_t capacity;  // slots to begin with
  key_number keys;
  plan how = baseline_plan();
};

template <template <class> class D>
findings explore_baseline(const explored& what, std::uint32_t mended, std::uint64_t seed = 1) {
  solo alone;
  turns::install(&alone);
  subject_kind kind{engine_kind{}, data_kind::u64, durability_level::power, {}, {}};
  maker make = making<D>(what.capacity, mended);
  explorer x(kind, make, what.how, seed);
  x.run(baseline_program(seed, what.keys));
  turns::install(nullptr);
  return std::move(x.found());
}

inline std::string first_of(const findings& found) {
  return found.violations.empty() ? std::string() : found.violations.front().what;
}

/// With every hole mended nothing is lost, whatever the crash leaves.
/// Returns what was explored.
template <template <class> class D>
findings expect_safe_when_mended(const explored& what) {
  findings all;
  for (std::uint64_t seed : {1, 2}) {
    findings found = explore_baseline<D>(what, all_mended, seed);
    EXPECT_EQ(first_of(found), "")
        << "seed " << seed << (found.violations.empty() ? "" : found.violations.front().report);
    EXPECT_GT(found.cuts, 100u);
    EXPECT_GT(found.recoveries, 100u);
    std::printf("seed %lu: %lu crash points, %lu images, %lu recoveries, %lu after a crash\n", seed,
                found.cuts, found.unique_images, found.recoveries, found.nested);
    all.add(found);
  }
  return all;
}

/// Whether the flush of that name was among what was crashed.
inline bool reached(const findings& found, const std::string& name) {
  return found.places.contains("the flush of " + name);
}

/// With this one as published, the explorer meets what its entry tells of, in the first program
/// that gives it the occasion.
template <template <class> class D>
void expect_hole(const explored& what, unsigned hole, const std::string& says) {
  std::string other;
  for (std::uint64_t seed = 1; seed <= 24; ++seed) {
    findings found = explore_baseline<D>(what, all_but(hole), seed);
    if (!found.violations.empty() && first_of(found).find(says) != std::string::npos)
      return void(std::printf("seed %lu: %s\n", seed, first_of(found).c_str()));
    other += first_of(found);
  }
  ADD_FAILURE() << "expected \"" << says << "\", found \"" << other << "\"";
}

}  // namespace durahash::crash
