// A broken invariant stops the program and says which and where. Expected failures are statuses
// instead.
#pragma once

#include <cstdio>
#include <cstdlib>

#include "base/diagnostics.hpp"

namespace durahash {

[[noreturn, gnu::cold, gnu::noinline]] inline void invariant_broken(const char* what,
                                                                    const char* file, unsigned line,
                                                                    const char* function) {
  std::fprintf(stderr, "durahash: invariant broken: %s (%s:%u, %s)\n", what, file, line, function);
  diagnose("invariant broken: %s (%s:%u, %s)", what, file, line, function);
  std::abort();
}

/// Stays in release builds. Use at mutation, recovery and open; a reader's hot path has none.
constexpr void check(bool holds, const char* what = "check", const char* file = __builtin_FILE(),
                     unsigned line = __builtin_LINE(),
                     const char* function = __builtin_FUNCTION()) {
  if (!holds) [[unlikely]]
    invariant_broken(what, file, line, function);
}

}  // namespace durahash
