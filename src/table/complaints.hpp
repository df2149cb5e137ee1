// What check() finds wrong.
#pragma once

#include <string>
#include <utility>

#include "durahash/info.hpp"

namespace durahash {

/// Collects violations; the first hundred are enough to see what happened.
class complaints {
 public:
  explicit complaints(check_report& report) : report_(report) {}
  void operator()(std::string what) {
    report_.ok = false;
    constexpr std::size_t most = 100;
    if (report_.violations.size() < most) report_.violations.push_back(std::move(what));
  }

 private:
  check_report& report_;
};

}  // namespace durahash
