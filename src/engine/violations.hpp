// What check() finds wrong.
#pragma once

#include <cstdint>
#include <string>

#include "durahash/info.hpp"

namespace durahash {

/// Collects violations; the first hundred are enough to see what happened.
class violations {
 public:
  explicit violations(check_report& report) : report_(report) {}
  void operator()(std::string what);
  /// Of the records, and of the heap's bytes: what is believed, and what a walk over all that is
  /// reachable found.
  void if_records_differ(std::uint64_t counts, std::uint64_t holds);
  void if_bytes_differ(std::uint64_t in_use, std::uint64_t reachable);

 private:
  check_report& report_;
};

/// What a salvage says at its end.
std::string kept_and_dropped(std::uint64_t kept, std::size_t dropped, bool words);

}  // namespace durahash
