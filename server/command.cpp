#include "command.hpp"

#include <strings.h>

#include <atomic>
#include <exception>
#include <memory>
#include <new>
#include <utility>

#include "configuration.hpp"
#include "fault.hpp"
#include "metrics.hpp"

namespace durahash::server {

bool command::is(std::size_t i, std::string_view word) const {
  const std::string_view has = (*this)[i];
  return has.size() == word.size() && ::strncasecmp(has.data(), word.data(), word.size()) == 0;
}

bool must_follow(const command& c) {
  constexpr int followed = REDISMODULE_CTX_FLAGS_REPLICATED | REDISMODULE_CTX_FLAGS_LOADING;
  return (RedisModule_GetContextFlags(c.ctx) & followed) != 0;
}

void log_divergence(const command& c, std::string_view why) {
  if ((RedisModule_GetContextFlags(c.ctx) & REDISMODULE_CTX_FLAGS_REPLICATED) == 0) return;
  log(c.ctx, "warning",
      "a write of the master was not done on \"" + std::string(c[1]) + "\": " + std::string(why));
}

int wrong_type(RedisModuleCtx* ctx) { return reply_error(ctx, REDISMODULE_ERRORMSG_WRONGTYPE); }

error_answer refusal(status s) {
  if (s == status::no_space)
    return {"ERR the table is full: its disk has no room, or durahash.max-bytes is reached"};
  return {"ERR " + std::string(durahash::message(s))};
}

int refuse(RedisModuleCtx* ctx, status s) { return send(ctx, refusal(s)); }

command_key::command_key(const command& c, int mode)
    : key_(c.ctx, c.key(), mode), found_(the_keyspace().find(key_.get(), table_)) {}

void replicate_as_sent(const command& c, const char* name) {
  if (!has_aof() || planted("the-aof-has-commands")) RedisModule_ReplicateVerbatim(c.ctx);
  else RedisModule_Replicate(c.ctx, name, "Av", c.arguments.data() + 1, c.size() - 1);
}

void announce(const command& c, const char* event) {
  RedisModule_SignalModifiedKey(c.ctx, c.key());
  RedisModule_NotifyKeyspaceEvent(c.ctx, REDISMODULE_NOTIFY_MODULE, event, c.key());
}

hosted_table* make_table(const command& c, command_key& key, const table_kind& kind) {
  const bool follows = must_follow(c);
  if (evicts_any_key() && !follows) {
    reply_error(c.ctx,
                "ERR maxmemory-policy may evict any key, and a table with all its records: "
                "durahash works with noeviction and volatile-*");
    return nullptr;
  }
  if (kind.durability > the_settings().durability) {  // never of a master: create() lowers it
    reply_error(c.ctx, "ERR a table cannot outlive its catalog: set durahash.durability to " +
                           std::string(name_of(kind.durability)) + " in the server's file");
    return nullptr;
  }
  if (the_keyspace().tables() >= the_settings().max_tables && !follows) {
    reply_error(c.ctx, "ERR this node has as many tables as durahash.max-tables allows");
    return nullptr;
  }
  const error made = the_keyspace().attach_new(c.ctx, key.get(), c[1], kind);
  if (made.code != status::ok) {
    log_divergence(c, made.message);
    reply_error(c.ctx, "ERR no table was made: " + made.message);
    return nullptr;
  }
  hosted_table* t = nullptr;
  the_keyspace().find(key.get(), t);
  RedisModule_Replicate(c.ctx, "DH.CREATE", "Ascccccccc", c.key(), "ENGINE",
                        std::string(name_of(kind.engine)).c_str(), "KEYS",
                        std::string(name_of(kind.key)).c_str(), "VALUES",
                        std::string(name_of(kind.value)).c_str(), "DURABILITY",
                        std::string(name_of(kind.durability)).c_str());
  announce(c, "dh.create");
  return t;
}

// --------------------------------------------------------------------------------- durable_answer

durable_answer::durable_answer(const command& c, hosted_table& t) : c_(c), table_(t) {
  if (t.kinds().durability != durability_level::power) return;
  later_.emplace(t.pool());
}

namespace {
// What a master sends is durable there. Here it is soon, and before this node is a master.
constexpr int need_not_wait = REDISMODULE_CTX_FLAGS_REPLICATED | REDISMODULE_CTX_FLAGS_LOADING;
}  // namespace

bool may_write_to(const command& c, durability_level level) {
  if (level != durability_level::power) return true;
  const int flags = RedisModule_GetContextFlags(c.ctx);
  if ((flags & need_not_wait) != 0 || (flags & cannot_wait) == 0) return true;
  reply_error(c.ctx,
              "ERR a table of the level power is not written in MULTI or a script: "
              "no answer could wait for the disk there");
  return false;
}

bool durable_answer::writable() { return may_write_to(c_, table_.kinds().durability); }

int durable_answer::send(answer a) {
  const std::uint64_t needed = later_ ? later_->position() : 0;
  table& pool = table_.pool();
  const bool pool_waits = needed != 0 && pool.durable_position() < needed;
  keyspace& keys = the_keyspace();
  const bool row_waits = keys.names_are_waited_for() && !keys.row_is_durable(table_);
  if (!pool_waits && !row_waits && !table_.taken_as) return server::send(c_.ctx, a);
  const int flags = RedisModule_GetContextFlags(c_.ctx);
  const bool waits = (flags & need_not_wait) == 0 && !planted("power-is-answered-at-once");
  // Of a table in the place of one that has expired: the server blocked the client for that one.
  const bool waits_already = keys.waits_for_names(c_.ctx) && !planted("a-client-is-blocked-twice");
  if (waits && !waits_already && (flags & cannot_wait) == 0)
    return send_later(std::move(a), row_waits, pool_waits ? needed : 0);
  table_.taken_as.reset();
  if (!waits) {
    if ((flags & REDISMODULE_CTX_FLAGS_REPLICATED) != 0 && !planted("no-replica-asks-its-disk"))
      ask_for_disk(row_waits, pool_waits ? needed : 0);
    return server::send(c_.ctx, a);
  }
  if (row_waits && !waits_already) keys.hold_all_for_names();
  const status s = pool_waits ? pool.wait_durable(needed) : status::ok;
  return server::send(c_.ctx, s == status::ok ? a : answer(refusal(s)));
}

namespace {

/// Resumes a client when all that it waits for has come.
class last_of_several {
 public:
  last_of_several(RedisModuleCtx* ctx, answer a) : client_(ctx), answer_(std::move(a)) {}
  void add() noexcept { ++left_; }
  /// From any thread, once for each that was added.
  void came(status s) {
    if (s != status::ok) refusal_ = s;
    if (--left_ != 0) return;
    const status worst = refusal_;
    client_.resume(worst == status::ok ? std::move(answer_) : answer(refusal(worst)));
  }

 private:
  waiting_client client_;
  answer answer_;
  std::atomic<int> left_{0};
  std::atomic<status> refusal_{status::ok};
};

}  // namespace

/// A log that nobody waits for reaches the disk when it is full. Where the disk refuses, later
/// writes say so.
void durable_answer::ask_for_disk(bool row_waits, std::uint64_t needed) {
  if (needed != 0) (void)table_.pool().when_durable(needed, [](status) {});
  if (row_waits)
    (void)the_keyspace().when_names_are_durable(table_.row_written_at, end_if_names_are_refused);
}

int durable_answer::send_later(answer a, bool row_waits, std::uint64_t needed) {
  keyspace& keys = the_keyspace();
  const auto kind = std::exchange(table_.taken_as, std::nullopt);
  const bool spare_waits = kind && !keys.spares().plenty(*kind);
  if (!row_waits && needed == 0 && !spare_waits) return server::send(c_.ctx, a);
  auto client = std::make_shared<last_of_several>(c_.ctx, std::move(a));
  client->add();  // until all are asked for
  auto ask = [&](auto&& of) {
    client->add();
    if (const status s = of([client](status told) { client->came(told); }); s != status::ok)
      client->came(s);
  };
  if (needed != 0)
    ask([&](auto call) { return table_.pool().when_durable(needed, std::move(call)); });
  if (row_waits && !planted("names-are-answered-at-once"))
    ask([&](auto call) {
      return keys.when_names_are_durable(table_.row_written_at, [call](status told) {
        end_if_names_are_refused(told);
        call(told);
      });
    });
  if (spare_waits)
    ask([&](auto call) {
      keys.spares().when_made(*kind, [call] { call(status::ok); });
      return status::ok;
    });
  client->came(status::ok);
  return REDISMODULE_OK;
}

// --------------------------------------------------------------------------------------- the list

namespace {

template <command_function Run, std::uint64_t counters::*Counter, std::size_t MinArguments,
          std::size_t MaxArguments = 0>
int run(RedisModuleCtx* ctx, RedisModuleString** arguments, int count) {
  const command c{ctx, {arguments, static_cast<std::size_t>(count)}};
  if (c.size() < MinArguments || (MaxArguments != 0 && c.size() > MaxArguments))
    return RedisModule_WrongArity(ctx);
  ++(the_counters().*Counter);
  try {
    return Run(c);
  } catch (const std::bad_alloc&) {
    return reply_error(ctx, "ERR the server has no memory for it");
  } catch (const std::exception& e) {
    return reply_error(ctx, std::string("ERR ") + e.what());
  }
}

struct entry {
  const char* name;
  RedisModuleCmdFunc run;
  const char* flags;
  const char* categories;
};

constexpr entry commands[] = {
    {"dh.create", run<create, &counters::writes, 2>, "write fast", "write fast"},
    {"dh.set", run<set, &counters::writes, 4>, "write fast", "write fast"},
    {"dh.del", run<erase, &counters::writes, 3>, "write fast", "write fast"},
    {"dh.incrby", run<increment, &counters::writes, 4, 4>, "write fast", "write fast"},
    {"dh.cas", run<compare_and_set, &counters::writes, 5, 5>, "write fast", "write fast"},
    {"dh.get", run<get, &counters::reads, 3, 3>, "readonly fast", "read fast"},
    {"dh.mget", run<get_many, &counters::reads, 3>, "readonly fast", "read fast"},
    {"dh.exists", run<exists, &counters::reads, 3>, "readonly fast", "read fast"},
    {"dh.len", run<length, &counters::reads, 2, 2>, "readonly fast", "read fast"},
    {"dh.scan", run<scan, &counters::reads, 3, 5>, "readonly", "read slow"},
    {"dh.info", run<info, &counters::reads, 2, 2>, "readonly", "read slow"},
    {"dh.check", run<check, &counters::reads, 2, 2>, "readonly", "read slow"},
    {"dh.waitdisk", run<wait_for_disk, &counters::reads, 3, 3>, "readonly", "read slow"},
};

}  // namespace

bool make_commands(RedisModuleCtx* ctx) {
  // Valkey 8 and Redis 7.2 have these two. Without them `+@read` does not grant DH.GET, and
  // `+dh.get` does.
  void* (*find_command)(RedisModuleCtx*, const char*) = nullptr;
  int (*set_categories)(void*, const char*) = nullptr;
  RedisModule_GetApi("RedisModule_GetCommand", reinterpret_cast<void*>(&find_command));
  RedisModule_GetApi("RedisModule_SetCommandACLCategories",
                     reinterpret_cast<void*>(&set_categories));
  for (const entry& e : commands) {
    if (RedisModule_CreateCommand(ctx, e.name, e.run, e.flags, 1, 1, 1) != REDISMODULE_OK)
      return false;
    if (find_command == nullptr || set_categories == nullptr) continue;
    if (set_categories(find_command(ctx, e.name), e.categories) != REDISMODULE_OK) return false;
  }
  return true;
}

}  // namespace durahash::server
