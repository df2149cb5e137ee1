// Where the engine cceh is instantiated for bytes.
#include "engine/cceh/table.hpp"
#include "store/bind.hpp"

DURAHASH_BINDINGS(template, durahash::cceh::table, durahash::byte_records);
