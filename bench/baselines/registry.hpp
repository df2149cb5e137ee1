// The one list of baselines: what each is, and how one is made.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "bench/baselines/table.hpp"
#include "durahash/options.hpp"

namespace durahash::baselines {

/// Nanoseconds that the medium `emulated` adds, as in media/emulated_medium.hpp.
struct added_latency {
  std::uint32_t flush_ns = 0;  // per line written back
  std::uint32_t block_ns = 0;  // per 256-byte block that leaves the write-combining buffer
  std::uint32_t read_ns = 0;   // per 256-byte block that comes into the read buffer
};

struct request {
  /// memory (no flushes), pmem (clwb and sfence on anonymous memory) or emulated (counts them).
  medium_kind medium = medium_kind::emulated;
  std::uint64_t capacity = 1024;  // slots to begin with, at least
  std::uint64_t seed = 1;         // of the hash functions
  /// Bit n: hole n of baseline::holes is mended. The papers' tables have none mended.
  std::uint32_t mended = 0;
  added_latency added = {};
  std::uint64_t max_bytes = std::uint64_t{64} << 30;  // of addresses; the table grows up to there
};

/// A crash that the published design does not survive. A test of test/baselines/ shows each.
struct hole {
  std::string_view name;
  std::string_view source;       // paper and section, or the published code's function
  std::string_view what;         // what goes wrong, in a sentence
  std::string_view mended_with;  // what `request::mended` does about it
};

struct baseline {
  std::string_view name;         // as a command line has it
  std::string_view title;        // as a figure has it
  std::string_view paper;        // who described it
  std::string_view compared_in;  // which of the four papers compare with it
  bool durable;                  // false: a yardstick in DRAM
  std::string_view growth;       // what happens when it is full
  std::string_view limits;       // keys that it refuses, and what else is left out
  std::span<const hole> holes;
  result<std::unique_ptr<table>> (*make)(const request& wanted);
};

std::span<const baseline> all_baselines();

/// Null where there is none of that name.
const baseline* baseline_of(std::string_view name);

}  // namespace durahash::baselines
