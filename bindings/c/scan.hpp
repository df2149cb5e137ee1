// Iterations into arrays of the caller.
#pragma once

#include "pool.hpp"

namespace durahash::c {

inline cursor from_c(const durahash_cursor& at) noexcept { return {at.position, at.done != 0}; }
inline void to_c(const cursor& at, durahash_cursor& into) noexcept {
  into = {at.position, at.done ? 1u : 0u};
}

/// A scan that visits `capacity` records at most: records of one hash are visited together, so that
/// it is tried with fewer where they would pass it. `step(cursor&, limit, n)` scans, counts in `n`
/// what it visits, and keeps the first `capacity` of them. `at` moves if it succeeds.
template <class Step>
status fill(durahash_cursor& at, std::size_t capacity, std::size_t& count, Step&& step) {
  for (std::size_t limit = capacity;; limit /= 2) {  // ends: it is halved
    cursor tried = from_c(at);
    std::size_t n = 0;
    if (!tried.done)
      if (const status s = step(tried, limit, n); s != status::ok) return s;
    count = n;
    if (n <= capacity) return to_c(tried, at), status::ok;
    if (limit <= 1) return status::no_space;
  }
}

}  // namespace durahash::c
