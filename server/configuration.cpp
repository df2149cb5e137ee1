#include "configuration.hpp"

#include <array>
#include <string>
#include <vector>

#include "settings.hpp"

namespace durahash::server {
namespace {

RedisModuleString* shown_folder = nullptr;  // the server frees none of what it asks for

RedisModuleString* get_folder(const char*, void*) {
  if (shown_folder != nullptr) RedisModule_FreeString(nullptr, shown_folder);
  const std::string& folder = the_settings().folder;
  return shown_folder = RedisModule_CreateString(nullptr, folder.data(), folder.size());
}
int set_folder(const char*, RedisModuleString* value, void*, RedisModuleString**) {
  the_settings().folder = std::string(view_of(value));
  return REDISMODULE_OK;
}

/// Names and numbers of a kind, as the server wants them.
struct choices {
  std::vector<std::string> held;
  std::vector<const char*> names;
  std::vector<int> values;

  template <class Kinds>
  explicit choices(const Kinds& kinds) {
    for (auto kind : kinds)
      held.emplace_back(name_of(kind)), values.push_back(static_cast<int>(kind));
    for (const std::string& name : held) names.push_back(name.c_str());
  }
};

int get_engine(const char*, void*) { return static_cast<int>(the_settings().engine); }
int set_engine(const char*, int value, void*, RedisModuleString**) {
  the_settings().engine = static_cast<engine_kind>(value);
  return REDISMODULE_OK;
}
int get_level(const char*, void*) { return static_cast<int>(the_settings().durability); }
int set_level(const char*, int value, void*, RedisModuleString**) {
  the_settings().durability = static_cast<durability_level>(value);
  return REDISMODULE_OK;
}

long long get_number(const char*, void* of) {
  return static_cast<long long>(*static_cast<std::uint64_t*>(of));
}
int set_number(const char*, long long value, void* of, RedisModuleString**) {
  *static_cast<std::uint64_t*>(of) = static_cast<std::uint64_t>(value);
  return REDISMODULE_OK;
}

bool in_cluster(RedisModuleCtx* ctx) {
  return (RedisModule_GetContextFlags(ctx) & REDISMODULE_CTX_FLAGS_CLUSTER) != 0;
}

bool choice(RedisModuleCtx* ctx, const char* name, choices& among, int now, unsigned flags,
            RedisModuleConfigGetEnumFunc get, RedisModuleConfigSetEnumFunc set) {
  return RedisModule_RegisterEnumConfig(ctx, name, now, flags, among.names.data(),
                                        among.values.data(), static_cast<int>(among.values.size()),
                                        get, set, nullptr, nullptr) == REDISMODULE_OK;
}

bool number(RedisModuleCtx* ctx, const char* name, std::uint64_t& of, unsigned flags,
            long long most = 1LL << 46) {
  return RedisModule_RegisterNumericConfig(ctx, name, static_cast<long long>(of), flags, 0, most,
                                           get_number, set_number, nullptr, &of) == REDISMODULE_OK;
}

bool any_key = false, aof = false;

}  // namespace

bool evicts_any_key() noexcept { return any_key; }
bool has_aof() noexcept { return aof; }

bool is_watched(std::string_view name) noexcept {
  return name == "maxmemory-policy" || name == "appendonly";
}

void read_servers_configuration(RedisModuleCtx* ctx) {
  any_key = configured(ctx, "maxmemory-policy").starts_with("allkeys");
  aof = configured(ctx, "appendonly") == "yes";
}

std::string configured(RedisModuleCtx* ctx, const char* name) {
  RedisModuleCallReply* pair = RedisModule_Call(ctx, "CONFIG", "cc", "GET", name);
  std::string value;
  if (pair != nullptr && RedisModule_CallReplyLength(pair) == 2) {
    std::size_t bytes = 0;
    RedisModuleCallReply* second = RedisModule_CallReplyArrayElement(pair, 1);
    const char* first = RedisModule_CallReplyStringPtr(second, &bytes);
    if (first != nullptr) value.assign(first, bytes);
  }
  if (pair != nullptr) RedisModule_FreeCallReply(pair);
  return value;
}

bool read_configuration(RedisModuleCtx* ctx) {
  settings& s = the_settings();
  s.cluster = in_cluster(ctx);
  if (s.cluster) s.max_records = 1'000'000, s.max_bytes = std::uint64_t{256} << 20;
  constexpr unsigned fixed = REDISMODULE_CONFIG_IMMUTABLE, free = REDISMODULE_CONFIG_DEFAULT;
  choices engines(all_engines());
  choices levels(std::array{durability_level::process, durability_level::power,
                            durability_level::power_buffered});
  return RedisModule_RegisterStringConfig(ctx, "folder", s.folder.c_str(), fixed, get_folder,
                                          set_folder, nullptr, nullptr) == REDISMODULE_OK &&
         choice(ctx, "engine", engines, static_cast<int>(s.engine), free, get_engine, set_engine) &&
         choice(ctx, "durability", levels, static_cast<int>(s.durability), fixed, get_level,
                set_level) &&
         number(ctx, "max-tables", s.max_tables, free) &&
         number(ctx, "max-records", s.max_records, free) &&
         number(ctx, "max-bytes", s.max_bytes, fixed) &&
         number(ctx, "spare-tables", s.spare_pools, free, 64) &&
         RedisModule_LoadConfigs(ctx) == REDISMODULE_OK;
}

}  // namespace durahash::server
