// Sentences for whoever listens (durahash/diagnostics.hpp). In a header of its own terms: a broken
// invariant needs nothing but this.
#pragma once

#include <atomic>
#include <cstdarg>
#include <cstdio>

namespace durahash {

inline constinit std::atomic<void (*)(const char*) noexcept> diagnostics_listener{nullptr};

/// As printf; what is longer than a line of a log is cut.
[[gnu::cold, gnu::noinline, gnu::format(printf, 1, 2)]] inline void diagnose(const char* format,
                                                                             ...) noexcept {
  const auto listener = diagnostics_listener.load(std::memory_order_acquire);
  if (listener == nullptr) return;
  char sentence[1024];
  std::va_list values;
  va_start(values, format);
  std::vsnprintf(sentence, sizeof sentence, format, values);
  va_end(values);
  listener(sentence);
}

}  // namespace durahash
