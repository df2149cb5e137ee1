// What a thread's last failure has to say, and how a function of the C API ends.
#pragma once

#include <new>
#include <string>
#include <string_view>

#include "durahash/durahash.h"
#include "durahash/status.hpp"

namespace durahash::c {

/// Keeps the status and its sentence for durahash_last_message. Returns the status.
[[gnu::cold]] durahash_status fail(status code) noexcept;
[[gnu::cold]] durahash_status fail(status code, std::string_view why) noexcept;
/// A null pointer, or arguments that contradict each other: `what` is said of them.
[[gnu::cold]] inline durahash_status refuse(std::string_view what) noexcept {
  return fail(status::invalid_argument, what);
}
/// Within a handler: what the exception is as a status.
[[gnu::cold]] durahash_status fail_by_exception() noexcept;

/// Answers say something of the table; what stands behind them is a failure.
constexpr bool is_answer(status code) noexcept { return code <= status::mismatch; }

inline durahash_status answer(status code) noexcept {
  if (!is_answer(code)) [[unlikely]]
    return fail(code);
  return static_cast<durahash_status>(code);
}
inline durahash_status answer(const error& e) noexcept {
  return e.code == status::ok ? DURAHASH_OK : fail(e.code, e.message);
}

/// Runs what answers with a status, an error or a durahash_status; nothing is thrown out of it.
template <class Run>
[[gnu::always_inline]] inline durahash_status guarded(Run&& run) noexcept {
  try {
    if constexpr (std::is_same_v<decltype(run()), durahash_status>) return run();
    else return answer(run());
  } catch (...) {
    return fail_by_exception();
  }
}

}  // namespace durahash::c
