#include "base/diagnostics.hpp"

#include "durahash/diagnostics.hpp"

namespace durahash {

void tell_diagnostics_to(diagnostics_function f) noexcept {
  diagnostics_listener.store(f, std::memory_order_release);
}

}  // namespace durahash
