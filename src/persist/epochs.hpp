// Epochs: memory that a reader may still see is reused only after every reader that could has left. A thin coat over liburcu.
#pragma once

namespace durahash {

/// While one lives in this thread, nothing retired after its construction is reused. Costs no shared write; may be nested.
class epoch_guard {
 public:
  epoch_guard() noexcept;
  ~epoch_guard();
  epoch_guard(const epoch_guard&) = delete;
};

/// Whether this thread is under an epoch_guard, of whatever pool.
bool under_epoch_guard() noexcept;

/// Waits until every guard that exists now is gone. Not under an epoch_guard.
void wait_for_readers() noexcept;

}  // namespace durahash
