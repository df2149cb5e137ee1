// How fast the demo's index answers.
#pragma once

#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "demo_ledger.hpp"

namespace durahash::tool {

/// Looks files up in random order for `seconds` and compares every answer; a wrong one throws
/// `failure`.
class lookup_race {
 public:
  lookup_race(const table& pool, const ledger& known, std::mt19937_64& random, double seconds);

  // Each returns lookups per second.
  double present() const;
  double absent() const;

 private:
  struct expected_record {
    std::string_view key;
    std::string_view value;
  };

  template <class Step>
  double race(Step&& right) const;

  const table& pool_;
  double seconds_;
  std::vector<expected_record> records_;
  std::vector<std::string> absent_;
};

}  // namespace durahash::tool
