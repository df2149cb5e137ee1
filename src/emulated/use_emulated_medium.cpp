#include "durahash/emulated.hpp"

#include "emulated/bind_emulated.hpp"

namespace durahash {

void use_emulated_medium() noexcept {
#define DURAHASH_USE_EMULATED(name) bind_on_emulated(engine_kind::name, name##_on_emulated());
  DURAHASH_ENGINES(DURAHASH_USE_EMULATED)
#undef DURAHASH_USE_EMULATED
}

}  // namespace durahash
