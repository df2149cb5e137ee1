#include "durahash/deferred_wait.hpp"

namespace durahash {

detail::deferral*& detail::innermost_deferral() noexcept {
  static constinit thread_local deferral* innermost = nullptr;
  return innermost;
}

deferred_wait::deferred_wait(const handle& of) noexcept {
  own_.log = of.log();
  own_.outer = detail::innermost_deferral();
  detail::innermost_deferral() = &own_;
}

}  // namespace durahash
