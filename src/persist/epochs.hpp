// Epochs: memory that a reader may still see is reused only after every reader that could has left. A thin coat over liburcu.
#pragma once

#include <memory>

namespace durahash {

/// While one lives in this thread, nothing retired after its construction is reused. Costs no shared write; may be nested; must not
/// be held while waiting for epochs::drain.
class epoch_guard {
 public:
  epoch_guard() noexcept;
  ~epoch_guard();
  epoch_guard(const epoch_guard&) = delete;
};

namespace epochs {

/// A job to run, in another thread, after every guard that exists now is gone.
class retired_job {
 public:
  virtual ~retired_job() = default;
  virtual void run() = 0;
};
void after_readers(std::unique_ptr<retired_job> job);

/// Waits until every job handed over before has run. Not under an epoch_guard.
void drain();

}  // namespace epochs
}  // namespace durahash
