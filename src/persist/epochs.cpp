#include "persist/epochs.hpp"

#include <urcu/urcu-bp.h>

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

epoch_guard::epoch_guard() noexcept { urcu_bp_read_lock(); }
epoch_guard::~epoch_guard() {
  readers_left();
  urcu_bp_read_unlock();
}

bool under_epoch_guard() noexcept { return urcu_bp_read_ongoing() != 0; }

void wait_for_readers() noexcept {
  urcu_bp_synchronize_rcu();
  after_readers_left();
}

}  // namespace durahash
