// What the claims of TurboHash's paper share: tables as it has them, and figures.
#pragma once

#include <fmt/format.h>

#include <cmath>

#include "bench/reproduce/laboratory.hpp"

namespace durahash::reproduce::turbo_paper {

inline constexpr auto e = engine_kind::turbo;
inline const setup turbo{e};
inline const setup near_place = turbo.with("in_place", 0);
inline const setup cceh{engine_kind::cceh};
inline const setup level{engine_kind::level};
inline const setup clht = baseline_named("p-clht");
inline const setup dash = baseline_named("dash-eh");
inline const setup clevel = baseline_named("clevel");
/// With a second window, as CCEH's authors published it and TurboHash measured it.
inline const setup cceh_code = baseline_named("cceh-copying");

inline constexpr std::uint64_t slots_per_bucket = 14;

/// As TurboHash's authors published it. As measured: a tenth of the records fill it to begin with.
inline const setup own_code = baseline_named("turbo-published");
inline setup own_code_grown(const laboratory& lab) { return own_code.for_records(lab.keys() / 10); }

/// Two shards, the fewest, of so many buckets each. They double, and are never split; deleted slots
/// stay until somebody compacts.
inline setup two_shards(std::uint64_t buckets) {
  return turbo.with("shards", 2)
      .with("collect_distance", 0)
      .with("shard_buckets", 1 << 24)
      .for_records(2 * buckets * slots_per_bucket * 69 / 100);
}

/// The paper's items: 16 bytes in the slot, 30 bytes beside it.
inline setup thirty(const setup& made) { return made.with_bytes(15, 15); }

inline picture figure(const char* number, const char* title, const char* x, const char* y,
                      bool log_x = false) {
  return {fmt::format("turbo-{}", number),
          engine_kind::turbo,
          fmt::format("TurboHash, figure {}: {}", number[1] == '-' ? "2" : number, title),
          x,
          y,
          log_x};
}

/// The value near what the paper says.
inline bool near(double value, double paper, double by) { return std::abs(value - paper) <= by; }

inline double bytes_of(const cost& c) { return 256 * (c.blocks_read + c.blocks_written); }

// The claims, each in a file of its own.
std::vector<claim> scope_claims();     // figure 1
std::vector<claim> traffic_claims();   // table 1, figures 2, 6 and 8
std::vector<claim> time_claims();      // figures 6, 7 and 9, §4.7
std::vector<claim> load_claims();      // figure 10
std::vector<claim> distance_claims();  // figures 11 and 12

}  // namespace durahash::reproduce::turbo_paper
