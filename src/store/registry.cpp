#include "store/registry.hpp"

namespace durahash {

#define DURAHASH_DECLARE_ENGINE(name) engine_entry name##_engine() noexcept;
DURAHASH_ENGINES(DURAHASH_DECLARE_ENGINE)
#undef DURAHASH_DECLARE_ENGINE

const engine_entry* find_engine(engine_kind kind) noexcept {
#define DURAHASH_LIST_ENGINE(name) name##_engine(),
  static const engine_entry all[] = {DURAHASH_ENGINES(DURAHASH_LIST_ENGINE)};
#undef DURAHASH_LIST_ENGINE
  for (const engine_entry& entry : all)
    if (entry.kind == kind) return &entry;
  return nullptr;
}

}  // namespace durahash
