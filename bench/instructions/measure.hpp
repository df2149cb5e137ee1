// What scripts/instructions.py counts of a program.
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else  // callgrind counts nothing then, and the script says so
#define CALLGRIND_START_INSTRUMENTATION
#define CALLGRIND_STOP_INSTRUMENTATION
#define CALLGRIND_DUMP_STATS
#endif

namespace durahash::instructions {

/// Callgrind counts from its beginning to its end.
template <class Do>
[[gnu::noinline]] void measured(std::size_t count, Do&& once) {
  for (std::size_t i = 0; i < count; ++i) once(i);
}

/// Calls once(i) for each i below `count`, and is counted. What is not runs several times as fast.
/// Prints how many `operations` these were, which may be known at their end alone.
template <class Do>
void measure(std::size_t count, const std::size_t& operations, Do&& once) {
  CALLGRIND_START_INSTRUMENTATION;
  measured(count, once);
  CALLGRIND_STOP_INSTRUMENTATION;
  CALLGRIND_DUMP_STATS;
  std::printf("%zu\n", operations);
}

/// Calls one(name) for each name of a list with commas, until one answers false; then it does so.
template <class One>
bool for_each_named(std::string_view list, One&& one) {
  for (std::size_t from = 0, to = 0; to != list.npos; from = to + 1) {
    to = list.find(',', from);
    if (!one(std::string(list.substr(from, to - from)))) return false;
  }
  return true;
}

/// Whether the first of these operations is what fills the table.
inline bool fills_the_table(std::string_view list) {
  return list.starts_with("insert") || list.starts_with("steady");
}

}  // namespace durahash::instructions
