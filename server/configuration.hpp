// The settings of settings.hpp as the server's: `durahash.folder` and so on in its file.
#pragma once

#include "api.hpp"

namespace durahash::server {

/// Returns   false where the server does not take them, or its file has a value that is none.
bool read_configuration(RedisModuleCtx* ctx);

}  // namespace durahash::server
