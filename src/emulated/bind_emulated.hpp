// The engines on the medium `emulated`, each instantiated in its engine_<name>.cpp here.
#pragma once

#include "media/emulated_medium.hpp"
#include "store/bind.hpp"

namespace durahash {

#define DURAHASH_DECLARE_EMULATED(name) bind_emulated name##_on_emulated() noexcept;
DURAHASH_ENGINES(DURAHASH_DECLARE_EMULATED)
#undef DURAHASH_DECLARE_EMULATED

}  // namespace durahash
