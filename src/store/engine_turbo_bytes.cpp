// Where the engine turbo is instantiated for bytes.
#include "engine/turbo/table.hpp"
#include "store/bind.hpp"

DURAHASH_BINDINGS(template, durahash::turbo::table, durahash::byte_records);
