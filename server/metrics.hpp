// What INFO tells of the module, and what the server's configuration forbids.
#pragma once

#include "api.hpp"

namespace durahash::server {

/// `INFO durahash`.
void show_metrics(RedisModuleInfoCtx* to, int for_crash_report);

/// Whether maxmemory-policy is allkeys-*: a table is one key, and would go with all its records,
/// which are not in the memory that the policy is to free.
bool evicts_any_key() noexcept;
void read_eviction_policy(RedisModuleCtx* ctx);

}  // namespace durahash::server
