#include "name_waits.hpp"

#include <unistd.h>

#include <string>
#include <utility>

#include "fault.hpp"

namespace durahash::server {
namespace {

/// Whether BlockClient may be called in the event of a key: by earlier servers it is taken badly.
bool events_may_block() {
  static const bool known = [] {
    constexpr int valkey_9 = 0x00090000;
    int (*version)() = nullptr;
    RedisModule_GetApi("ValkeyModule_GetServerVersion", reinterpret_cast<void*>(&version));
    return version != nullptr && version() >= valkey_9;
  }();
  return known;
}

}  // namespace

void end_if_names_are_refused(status s) {
  if (s == status::ok || s == status::closed) return;
  log(nullptr, "warning",
      "the disk does not take the catalog: " + std::string(message(s)) +
          "; this process ends before it promises what it cannot keep");
  ::_exit(1);
}

bool name_waits::client_waits(RedisModuleCtx* ctx) {
  if (!events_may_block() || planted("names-hold-up-all")) return false;
  const auto client = RedisModule_GetClientId(ctx);
  if (RedisModuleBlockedClient* b = RedisModule_BlockClient(ctx, nullptr, nullptr, nullptr, 0)) {
    blocked_.push_back(b);
    last_blocked_ = client;
    return true;
  }
  // the second event of one command: it waits already, for all of this turn
  return client != 0 && client == last_blocked_;
}

void name_waits::before_replies(RedisModuleCtx*, catalog& names) {
  if (names.needed() != std::exchange(seen_, names.needed())) all_wait_ = true;
  const auto clients = std::exchange(blocked_, {});
  last_blocked_ = 0;
  auto resume = [clients](status s) {
    end_if_names_are_refused(s);
    for (RedisModuleBlockedClient* b : clients) RedisModule_UnblockClient(b, nullptr);
  };
  if (std::exchange(all_wait_, false)) {
    if (planted("names-are-answered-at-once")) return resume(status::ok);
    resume(names.await_changes());
  } else if (!clients.empty()) {
    if (const status s = names.when_durable(resume); s != status::ok) resume(s);
  }
}

}  // namespace durahash::server
