#include "answer.hpp"

#include "metrics.hpp"

namespace durahash::server {
namespace {

struct sender {
  RedisModuleCtx* to;

  int operator()(const ok_answer&) const { return RedisModule_ReplyWithSimpleString(to, "OK"); }
  int operator()(const null_answer&) const { return RedisModule_ReplyWithNull(to); }
  int operator()(long long n) const { return RedisModule_ReplyWithLongLong(to, n); }
  int operator()(const std::string& s) const { return reply(to, s); }
  int operator()(const error_answer& e) const { return reply_error(to, e.text); }
  int operator()(const array_answer& all) const {
    RedisModule_ReplyWithArray(to, static_cast<long>(all.items.size()));
    for (const auto& item : all.items) {
      if (item) reply(to, *item);
      else RedisModule_ReplyWithNull(to);
    }
    return REDISMODULE_OK;
  }
  int operator()(const page_answer& all) const {
    RedisModule_ReplyWithArray(to, 2);
    reply(to, all.cursor);
    RedisModule_ReplyWithArray(to, static_cast<long>(all.items.size()));
    for (const std::string& item : all.items) reply(to, item);
    return REDISMODULE_OK;
  }
  int operator()(const map_answer& all) const {
    RedisModule_ReplyWithMap(to, static_cast<long>(all.pairs.size()));
    for (const auto& [name, value] : all.pairs) {
      reply(to, name);
      std::visit(*this, value);
    }
    return REDISMODULE_OK;
  }
};

/// What a blocked client will be told.
struct pending {
  answer now;
};

int resumed(RedisModuleCtx* ctx, RedisModuleString**, int) {
  return send(ctx, static_cast<pending*>(RedisModule_GetBlockedClientPrivateData(ctx))->now);
}

int timed_out(RedisModuleCtx* ctx, RedisModuleString**, int) {
  return RedisModule_ReplyWithLongLong(ctx, 0);
}

void forget(RedisModuleCtx*, void* data) { delete static_cast<pending*>(data); }

}  // namespace

int reply_error(RedisModuleCtx* to, const char* why) {
  ++the_counters().refusals;
  return RedisModule_ReplyWithError(to, why);
}

int send(RedisModuleCtx* to, const answer& a) { return std::visit(sender{to}, a); }

waiting_client::waiting_client(RedisModuleCtx* ctx, long long timeout_ms)
    : client_(RedisModule_BlockClient(ctx, resumed, timed_out, forget, timeout_ms)) {
  ++the_counters().waiting;
}

void waiting_client::resume(answer a) {
  --the_counters().waiting;
  RedisModule_UnblockClient(client_, new pending{std::move(a)});
}

}  // namespace durahash::server
