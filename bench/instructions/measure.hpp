// What scripts/instructions.py counts of a program.
#pragma once

#include <cstddef>

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else  // callgrind counts nothing then, and the script says so
#define CALLGRIND_START_INSTRUMENTATION
#define CALLGRIND_STOP_INSTRUMENTATION
#endif

namespace durahash::instructions {

/// Callgrind counts from its beginning to its end.
template <class Do>
[[gnu::noinline]] void measured(std::size_t count, Do&& once) {
  for (std::size_t i = 0; i < count; ++i) once(i);
}

/// Calls once(i) for each i below `count`, and is counted. What is not runs several times as fast.
template <class Do>
void measure(std::size_t count, Do&& once) {
  CALLGRIND_START_INSTRUMENTATION;
  measured(count, once);
  CALLGRIND_STOP_INSTRUMENTATION;
}

}  // namespace durahash::instructions
