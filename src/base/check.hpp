// A broken invariant stops the program and says which and where. Expected failures are statuses instead.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <source_location>

namespace durahash {

[[noreturn, gnu::cold, gnu::noinline]] inline void invariant_broken(const char* what, const std::source_location& where) {
  std::fprintf(stderr, "durahash: invariant broken: %s (%s:%u, %s)\n", what, where.file_name(),
               static_cast<unsigned>(where.line()), where.function_name());
  std::abort();
}

/// Stays in release builds. Use at mutation, recovery and open; a reader's hot path has none.
constexpr void check(bool holds, const char* what = "check",
                     const std::source_location& where = std::source_location::current()) {
  if (!holds) [[unlikely]] invariant_broken(what, where);
}

}  // namespace durahash
