// What the claims of GPHash's paper share: tables as it has them, and figures.
#pragma once

#include <fmt/format.h>

#include "bench/reproduce/laboratory.hpp"

namespace durahash::reproduce::gphash_paper {

/// It grows as in the paper: beside writers it may depend on their speed when it does.
inline const setup gphash{engine_kind::gphash, {{"stop_to_grow", 1}}};
inline const setup level{engine_kind::level};
inline const setup cceh{engine_kind::cceh};
inline const setup clht = baseline_named("p-clht");

inline picture figure(const char* number, const char* title, const char* x, const char* y,
                      bool log_x = false) {
  return {fmt::format("gphash-{}", number),
          engine_kind::gphash,
          fmt::format("GPHash, figure {}: {}", number, title),
          x,
          y,
          log_x};
}

inline setup shaped(std::uint64_t levels, std::uint64_t hashes, std::uint64_t slots) {
  return gphash.with("levels", levels).with("hashes", hashes).with("slots", slots);
}
inline setup sized(const setup& made, const laboratory& lab) {
  return made.for_records(lab.size(30'000, 2'000));
}

// The claims, each in a file of its own.
std::vector<claim> load_claims();       // figure 7, load factors of figure 13
std::vector<claim> device_claims();     // figures 5, 6 and 8, on a device
std::vector<claim> kernel_claims();     // figures 5 to 9, 12(a) and 13, of kernels by counts
std::vector<claim> operation_claims();  // figures 5 to 15, of the host's engine

}  // namespace durahash::reproduce::gphash_paper
