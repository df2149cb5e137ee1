// The first call of a module: it fills the pointers of api.hpp.
#pragma once

#include "api.hpp"

namespace durahash::server {

/// Returns   false where a module of that name is loaded already.
bool start_api(RedisModuleCtx* ctx, const char* name, int version);

}  // namespace durahash::server
