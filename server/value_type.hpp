// The server's data type `durahash0`: how a table is saved, loaded, copied and dropped.
#pragma once

#include "api.hpp"

namespace durahash::server {

/// Tells the server of the type.
/// Returns   false where the server does not take it.
bool make_value_type(RedisModuleCtx* ctx);

}  // namespace durahash::server
