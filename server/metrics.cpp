#include "metrics.hpp"

#include <string>
#include <string_view>

#include "keyspace.hpp"
#include "snapshot.hpp"

namespace durahash::server {
namespace {
bool any_key = false;
}

bool evicts_any_key() noexcept { return any_key; }

void read_eviction_policy(RedisModuleCtx* ctx) {
  RedisModuleCallReply* pair = RedisModule_Call(ctx, "CONFIG", "cc", "GET", "maxmemory-policy");
  if (pair == nullptr) return;
  if (RedisModule_CallReplyLength(pair) == 2) {
    std::size_t bytes = 0;
    const char* first =
        RedisModule_CallReplyStringPtr(RedisModule_CallReplyArrayElement(pair, 1), &bytes);
    any_key = first != nullptr && std::string_view(first, bytes).starts_with("allkeys");
  }
  RedisModule_FreeCallReply(pair);
}

void show_metrics(RedisModuleInfoCtx* to, int for_crash_report) {
  RedisModule_InfoAddSection(to, "");
  keyspace& keys = the_keyspace();
  RedisModule_InfoAddFieldULongLong(to, "tables", keys.tables());
  RedisModule_InfoAddFieldULongLong(to, "catalog_failures", keys.failures());
  RedisModule_InfoAddFieldULongLong(to, "children_served", children_served());
  RedisModule_InfoAddFieldULongLong(to, "evicts_any_key", any_key ? 1 : 0);
  if (for_crash_report != 0) return;  // no system calls, no locks
  unsigned long long bytes = 0, records = 0, uncounted = 0;
  for (const table_ref& t : keys.all()) {
    bytes += t->file_bytes();
    if (t->counted()) records += t->size();
    else ++uncounted;
  }
  RedisModule_InfoAddFieldULongLong(to, "records", records);
  RedisModule_InfoAddFieldULongLong(to, "tables_uncounted", uncounted);
  RedisModule_InfoAddFieldULongLong(to, "file_bytes", bytes);
}

}  // namespace durahash::server
