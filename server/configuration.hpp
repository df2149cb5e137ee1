// The settings of settings.hpp as the server's: `durahash.folder` and so on in its file.
#pragma once

#include <string>
#include <string_view>

#include "api.hpp"

namespace durahash::server {

/// Returns   false where the server does not take them, or its file has a value that is none.
bool read_configuration(RedisModuleCtx* ctx);

/// Those settings of the server's own that matter here; again when one of them has changed.
void read_servers_configuration(RedisModuleCtx* ctx);
/// Whether `name` is one of them.
bool is_watched(std::string_view name) noexcept;

/// Whether maxmemory-policy is allkeys-*: a table is one key, and would go with all its records,
/// which are not in the memory that the policy is to free.
bool evicts_any_key() noexcept;
/// Whether there is an AOF, which is to have no command of ours.
bool has_aof() noexcept;

/// What CONFIG GET answers; nothing where the server has no such setting.
std::string configured(RedisModuleCtx* ctx, const char* name);

}  // namespace durahash::server
