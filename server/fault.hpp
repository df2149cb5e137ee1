// Errors that a simpler module makes, for tests that must find them; and damages and full disks,
// which the module must meet well. In the module that is shipped there are none; the one of the
// tests has those which DURAHASH_FAULT names, with commas between them.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace durahash::server {

#ifdef DURAHASH_SERVER_FAULTS
inline bool planted(std::string_view name) {
  static const char* chosen = std::getenv("DURAHASH_FAULT");
  if (chosen == nullptr) return false;
  std::string_view left = chosen;
  while (!left.empty()) {
    const auto end = std::min(left.find(','), left.size());
    if (left.substr(0, end) == name) return true;
    left.remove_prefix(std::min(end + 1, left.size()));
  }
  return false;
}
#else
constexpr bool planted(std::string_view) { return false; }
#endif

/// A record whose bytes cannot be read, of the tests.
inline bool damaged(std::string_view field) {
  return field.starts_with("damaged") && planted("some-records-are-damaged");
}

}  // namespace durahash::server
