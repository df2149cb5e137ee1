#include "test/engine/instances.hpp"

DURAHASH_INSTANCES(template, cceh);
