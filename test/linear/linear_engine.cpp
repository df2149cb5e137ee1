// Where the engine linear is instantiated: programs that have this object have the engine.
#include "media/emulated_medium.hpp"
#include "store/bind.hpp"
#include "test/linear/table.hpp"

namespace durahash {

engine_entry further_engine() noexcept {
  engine_entry made = entry_of<linear::table>::of(linear::kind_of_linear);
#ifndef DURAHASH_SANITIZED  // there nothing has that medium (cmake/test.cmake)
  made.on_emulated = entry_of<linear::table>::bind<emulated_medium>;
#endif
  made.name = "linear";
  return made;
}

}  // namespace durahash
