// DH.INFO, DH.CHECK, DH.WAITDISK.
#include <chrono>
#include <thread>

#include "command.hpp"
#include "fault.hpp"
#include "text.hpp"
#include "worker.hpp"

namespace durahash::server {
namespace {

int no_such_key(RedisModuleCtx* ctx) { return reply_error(ctx, "ERR no such key"); }

}  // namespace

int info(const command& c) {
  command_key key(c, REDISMODULE_READ);
  if (key.other_type()) return wrong_type(c.ctx);
  hosted_table* t = key.table();
  if (t == nullptr || t->is_placeholder()) return no_such_key(c.ctx);
  const pool_kinds& kinds = t->kinds();
  map_answer all;
  all.add("id", t->id().text());
  all.add("engine", std::string(name_of(kinds.engine)));
  all.add("keys", std::string(name_of(kinds.key)));
  all.add("values", std::string(name_of(kinds.value)));
  all.add("durability", std::string(name_of(kinds.durability)));
  all.add("records", t->counted() ? static_cast<long long>(t->size()) : -1);
  all.add("file-bytes", static_cast<long long>(t->file_bytes()));
  all.add("epoch", static_cast<long long>(t->epoch));
  return send(c.ctx, all);
}

int check(const command& c) {
  command_key key(c, REDISMODULE_READ);
  if (key.other_type()) return wrong_type(c.ctx);
  hosted_table* t = key.table();
  if (t == nullptr || t->is_placeholder()) return no_such_key(c.ctx);
  if ((RedisModule_GetContextFlags(c.ctx) & cannot_wait) != 0)
    return reply_error(c.ctx, "ERR DH.CHECK reads all records: not in MULTI");
  waiting_client client(c.ctx);
  the_worker().submit([client, held = t->shared_from_this()]() mutable {
    if (planted("a-check-takes-long")) std::this_thread::sleep_for(std::chrono::seconds(10));
    const check_report report = held->pool().check();
    map_answer all;
    all.add("ok", report.ok ? 1 : 0);
    all.add("records", static_cast<long long>(report.records));
    all.add("violations", static_cast<long long>(report.violations.size()));
    all.add("first", report.violations.empty() ? std::string() : report.violations.front());
    client.resume(std::move(all));
  });
  return REDISMODULE_OK;
}

int wait_for_disk(const command& c) {
  const auto timeout_ms = number_in<long long>(c[2]);
  if (!timeout_ms || *timeout_ms < 0)
    return reply_error(c.ctx, "ERR timeout is not a number of milliseconds");
  command_key key(c, REDISMODULE_READ);
  if (key.other_type()) return wrong_type(c.ctx);
  hosted_table* t = key.table();
  if (t == nullptr || t->is_placeholder()) return no_such_key(c.ctx);
  if (t->kinds().durability < durability_level::power)
    return reply_error(c.ctx,
                       "ERR this table does not survive a loss of power: make it with DURABILITY "
                       "power_buffered or power");
  const std::uint64_t position = t->pool().position();
  const std::uint64_t row = the_keyspace().row_is_durable(*t) ? 0 : t->row_written_at;
  if (t->pool().durable_position() >= position && row == 0) return send(c.ctx, 1);
  if ((RedisModule_GetContextFlags(c.ctx) & cannot_wait) != 0)
    return reply_error(c.ctx, "ERR DH.WAITDISK waits: not in MULTI");
  waiting_client client(c.ctx, *timeout_ms);
  auto answered = [client](status told) mutable {
    client.resume(told == status::ok ? answer(1) : answer(refusal(told)));
  };
  // The name of a table that is new, or was renamed, has a log of its own: behind the records.
  auto then_its_name = [answered, row](status told) mutable {
    if (told != status::ok || row == 0) return answered(told);
    const status s = the_keyspace().when_names_are_durable(row, answered);
    if (s != status::ok) answered(s);
  };
  if (const status s = t->pool().when_durable(position, then_its_name); s != status::ok)
    answered(s);
  return REDISMODULE_OK;
}

}  // namespace durahash::server
