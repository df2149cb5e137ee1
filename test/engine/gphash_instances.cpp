#include "test/engine/instances.hpp"

DURAHASH_INSTANCES(template, gphash);
DURAHASH_INSTANCE(template, gphash, plain_medium, durahash::byte_records);
DURAHASH_INSTANCE(template, gphash, probing_medium, durahash::test::keys_of_32);
DURAHASH_INSTANCE(template, gphash, counted_medium, durahash::word_records);
