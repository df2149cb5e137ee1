#include "persist/epochs.hpp"

#include <urcu/urcu-bp.h>

#include "base/turns.hpp"

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

namespace durahash {
namespace {

// liburcu is not instrumented: ThreadSanitizer is told what its grace periods order.
[[maybe_unused]] char order_of_epochs;
inline void readers_left() noexcept {
#ifdef __SANITIZE_THREAD__
  __tsan_release(&order_of_epochs);
#endif
}
inline void after_readers_left() noexcept {
#ifdef __SANITIZE_THREAD__
  __tsan_acquire(&order_of_epochs);
#endif
}

}  // namespace

epoch_guard::epoch_guard() noexcept {
  urcu_bp_read_lock();
  if (turns* t = turns::current()) [[unlikely]] t->entered_epoch();
}
epoch_guard::~epoch_guard() {
  if (turns* t = turns::current()) [[unlikely]] t->left_epoch();
  readers_left();
  urcu_bp_read_unlock();
}

bool under_epoch_guard() noexcept { return urcu_bp_read_ongoing() != 0; }

void wait_for_readers() noexcept {
  if (turns* t = turns::current()) [[unlikely]] return t->await_epochs();
  urcu_bp_synchronize_rcu();
  after_readers_left();
}

}  // namespace durahash
