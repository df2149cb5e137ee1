// What the server calls when it loads `durahash.so`, and what it reports from then on.
#include <exception>

#include "api_start.hpp"
#include "command.hpp"
#include "configuration.hpp"
#include "durahash/diagnostics.hpp"
#include "keyspace.hpp"
#include "metrics.hpp"
#include "snapshot.hpp"
#include "value_type.hpp"

namespace durahash::server {
namespace {

constexpr int module_version = 1;
// Of Valkey 9: slots may move with their keys in one step. Contents go through `rewrite`.
constexpr int handles_atomic_slot_migration = 1 << 5;

// The server is C: what one of these throws ends the process, and does not unwind the server.

int on_key_event(RedisModuleCtx* ctx, int type, const char* event,
                 RedisModuleString* key) noexcept {
  the_keyspace().on_key_event(ctx, type, event, key);
  return REDISMODULE_OK;
}

void on_flush(RedisModuleCtx* ctx, RedisModuleEvent, std::uint64_t sub, void* data) noexcept {
  if (sub != REDISMODULE_SUBEVENT_FLUSHDB_START) return;
  const int database = static_cast<RedisModuleFlushInfo*>(data)->dbnum;
  the_keyspace().on_flush(ctx, database < 0 ? std::nullopt : std::optional(database));
}

void on_swap(RedisModuleCtx*, RedisModuleEvent, std::uint64_t, void* data) noexcept {
  auto* both = static_cast<RedisModuleSwapDbInfo*>(data);
  the_keyspace().on_swap(both->dbnum_first, both->dbnum_second);
}

void on_loading(RedisModuleCtx* ctx, RedisModuleEvent, std::uint64_t sub, void*) noexcept {
  if (sub == REDISMODULE_SUBEVENT_LOADING_ENDED) the_keyspace().on_load_ended(ctx);
  else if (sub == REDISMODULE_SUBEVENT_LOADING_FAILED) the_keyspace().on_load_failed();
  else the_keyspace().on_load_started();
}

void on_role(RedisModuleCtx*, RedisModuleEvent, std::uint64_t sub, void*) noexcept {
  if (sub != REDISMODULE_EVENT_REPLROLECHANGED_NOW_MASTER) return;
  the_keyspace().on_promotion();
  the_keyspace().await_disk();
}

void on_loop(RedisModuleCtx* ctx, RedisModuleEvent, std::uint64_t sub, void*) noexcept {
  if (sub == REDISMODULE_SUBEVENT_EVENTLOOP_BEFORE_SLEEP) the_keyspace().before_sleep(ctx);
}

void on_configuration(RedisModuleCtx* ctx, RedisModuleEvent, std::uint64_t, void* data) noexcept {
  auto* change = static_cast<RedisModuleConfigChange*>(data);
  for (std::uint32_t i = 0; i < change->num_changes; ++i) {
    if (!is_watched(change->config_names[i])) continue;
    const bool evicted = evicts_any_key();
    read_servers_configuration(ctx);
    if (evicts_any_key() && !evicted)
      log(ctx, "warning", "maxmemory-policy may evict tables now; no new ones are made");
  }
}

void on_shutdown(RedisModuleCtx*, RedisModuleEvent, std::uint64_t, void*) noexcept {
  the_keyspace().on_shutdown();
}

void on_diagnostic(const char* sentence) noexcept {
  ++the_counters().diagnostics;
  RedisModule_Log(nullptr, "warning", "durahash: %s", sentence);
}

bool listen(RedisModuleCtx* ctx) {
  auto to = [&](auto event, RedisModuleEventCallback call) {
    return RedisModule_SubscribeToServerEvent(ctx, event, call) == REDISMODULE_OK;
  };
  // Not of our own, which change no key. What one of another module did is seen before the sleep.
  constexpr int events = REDISMODULE_NOTIFY_ALL & ~REDISMODULE_NOTIFY_MODULE;
  return RedisModule_SubscribeToKeyspaceEvents(ctx, events, on_key_event) == REDISMODULE_OK &&
         to(RedisModuleEvent_FlushDB, on_flush) && to(RedisModuleEvent_SwapDB, on_swap) &&
         to(RedisModuleEvent_Loading, on_loading) &&
         to(RedisModuleEvent_ReplicationRoleChanged, on_role) &&
         to(RedisModuleEvent_EventLoop, on_loop) && to(RedisModuleEvent_Config, on_configuration) &&
         to(RedisModuleEvent_Shutdown, on_shutdown);
}

int refuse_to_load(RedisModuleCtx* ctx, const std::string& why) {
  log(ctx, "warning", "durahash: " + why);
  return REDISMODULE_ERR;
}

int load(RedisModuleCtx* ctx) {
  if (!start_api(ctx, "durahash", module_version)) return REDISMODULE_ERR;
  tell_diagnostics_to(on_diagnostic);
  RedisModule_SetModuleOptions(ctx, REDISMODULE_OPTIONS_HANDLE_IO_ERRORS |
                                        REDISMODULE_OPTION_NO_IMPLICIT_SIGNAL_MODIFIED |
                                        handles_atomic_slot_migration);
  read_servers_configuration(ctx);
  if (evicts_any_key())
    return refuse_to_load(ctx,
                          "maxmemory-policy may evict any key, and a table with all its records: "
                          "use noeviction or volatile-*");
  if (!read_configuration(ctx)) return refuse_to_load(ctx, "its configuration is not taken");
  if (!make_value_type(ctx) || !make_commands(ctx))
    return refuse_to_load(ctx, "its type or a command is not taken");
  if (RedisModule_RegisterInfoFunc(ctx, show_metrics) != REDISMODULE_OK || !listen(ctx))
    return refuse_to_load(ctx, "this server lacks an event that it needs");
  watch_for_children();
  if (const error e = the_keyspace().start(ctx); e.code != status::ok)
    return refuse_to_load(ctx, e.message);
  return REDISMODULE_OK;
}

}  // namespace
}  // namespace durahash::server

extern "C" int RedisModule_OnLoad(RedisModuleCtx* ctx, RedisModuleString**, int) try {
  return durahash::server::load(ctx);
} catch (const std::exception& e) {
  RedisModule_Log(ctx, "warning", "durahash: %s", e.what());
  return REDISMODULE_ERR;
}
