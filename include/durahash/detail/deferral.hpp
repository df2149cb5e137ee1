// What deferred_wait keeps for its thread.
#pragma once

#include <algorithm>
#include <cstdint>

namespace durahash::detail {

/// Operations on the pool with this log do not wait; how far it must be durable is noted here.
struct deferral {
  const void* log = nullptr;
  std::uint64_t end = 0;
  deferral* outer = nullptr;

  void note(std::uint64_t position) noexcept { end = std::max(end, position); }
};

/// The innermost of this thread; null if there is none.
deferral*& innermost_deferral() noexcept;

/// That of this thread for the log; null if there is none.
inline deferral* deferral_for(const void* log) noexcept {
  deferral* d = innermost_deferral();
  while (d != nullptr && d->log != log) d = d->outer;
  return d;
}

}  // namespace durahash::detail
