// Where the engine level is instantiated for bytes.
#include "engine/level/table.hpp"
#include "store/bind.hpp"

DURAHASH_BINDINGS(template, durahash::level::table, durahash::byte_records);
