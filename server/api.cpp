// Where the pointers of the module API live.
#define DURAHASH_SERVER_HOLDS_THE_API
#define REDISMODULE_API
#define REDISMODULE_ATTR
#include "api.hpp"

#include "api_start.hpp"

namespace durahash::server {

bool start_api(RedisModuleCtx* ctx, const char* name, int version) {
  return RedisModule_Init(ctx, name, version, REDISMODULE_APIVER_1) == REDISMODULE_OK;
}

}  // namespace durahash::server
