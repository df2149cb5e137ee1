// Where the engine gphash is instantiated for bytes.
#include "store/gphash_instances.hpp"
#include "store/gphash_kinds.hpp"

DURAHASH_BINDINGS(template, durahash::gphash::table, durahash::byte_records);
DURAHASH_BINDINGS(template, durahash::gphash::table, durahash::fixed_records);
DURAHASH_GPHASH_PARTS(template, durahash::byte_records);
DURAHASH_GPHASH_PARTS(template, durahash::fixed_records);
