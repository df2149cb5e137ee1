// Who waits for names at the level power: what RENAME, EXPIRE or DEL did is answered when the
// catalog is durable.
//
// Those are the server's commands, which answer at once. From Valkey 9 on a module may block the
// client within the key's event: then it alone waits. Elsewhere, and for what has no such event or
// no client that can wait (FLUSHALL, SWAPDB, MULTI, scripts), all changes of one turn of the event
// loop are waited for together before its replies go out, as `appendfsync always` does. A table
// that a command of the module makes is waited for by that command's client, with its records
// (durable_answer).
//
// Threads: the event loop.
#pragma once

#include <cstdint>
#include <vector>

#include "api.hpp"
#include "catalog.hpp"

namespace durahash::server {

/// As a server whose AOF cannot be synced, one whose names cannot be does not go on: their
/// commands have been done, and nothing can take them back.
void end_if_names_are_refused(status s);

class name_waits {
 public:
  /// Runs what may change the catalog, in the event of a key.
  template <class Change>
  void around(RedisModuleCtx* ctx, catalog& names, Change&& change) {
    const std::uint64_t before = names.needed();
    if (before != seen_) all_wait_ = true;  // changed outside of an event
    change();
    seen_ = names.needed();
    if (seen_ != before && !client_waits(ctx)) all_wait_ = true;
  }

  /// Runs what may change the catalog, for a command of the module: its client waits by itself.
  template <class Change>
  void apart(catalog& names, Change&& change) {
    if (names.needed() != seen_) all_wait_ = true;
    change();
    seen_ = names.needed();
  }
  /// Whether an event of the command under way has blocked its client. It cannot be blocked again;
  /// what it is answered goes out when the catalog is durable.
  bool has_blocked(RedisModuleCtx* ctx) const {
    return last_blocked_ != 0 && last_blocked_ == RedisModule_GetClientId(ctx);
  }
  /// The replies of this turn go out when the catalog is durable: of who cannot wait by itself.
  void hold_all() { all_wait_ = true; }

  /// Before each sleep: behind it the replies of this turn go out.
  void before_replies(RedisModuleCtx* ctx, catalog& names);

 private:
  bool client_waits(RedisModuleCtx* ctx);

  std::uint64_t seen_ = 0;  // of names.needed()
  bool all_wait_ = false;
  std::vector<RedisModuleBlockedClient*> blocked_;  // in this turn
  unsigned long long last_blocked_ = 0;             // the number of that client
};

}  // namespace durahash::server
