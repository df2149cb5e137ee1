// The server's keys and the catalog: what happens to a key whose value is a table reaches the
// catalog before the reply.
//
// The server tells a module what it does by four ways, none of which says all:
//   the type's `unlink`   the value leaves its key: DEL, SET over it, and RENAME as well
//   keyspace events       `del`, `rename_to`, `expire`, ...: after the change, before the reply
//   server events         FLUSHDB, SWAPDB, loading, a new role
//   before each sleep     after all commands, before their replies are written
// So `unlink` only notes that the table has no key. The next event looks whether it has got one
// again, writes the row if so, and erases the rows of those that have none; what no event followed
// is erased before the sleep. A key's own row is written before another one's is erased.
//
// Threads: the event loop alone, or who holds the server's lock.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api.hpp"
#include "catalog.hpp"
#include "hosted_table.hpp"
#include "name_waits.hpp"
#include "spare_pools.hpp"

namespace durahash::server {

/// How a key is opened to look at it: that counts as no hit and no miss.
constexpr int look = REDISMODULE_WRITE | REDISMODULE_OPEN_KEY_NOTOUCH;

class keyspace {
 public:
  /// The catalog is opened; where the server has no file to load, all tables get their keys.
  /// Returns   nothing (code ok), or why the server must not start.
  error start(RedisModuleCtx* ctx);

  // ------------------------------------------------------------------------- what commands need

  enum class found { absent, other_type, table };
  /// The table of that key. In the mode write the key may be set afterwards.
  found find(RedisModuleKey* key, hosted_table*& table) const;
  /// A table that no key has yet, for contents of as many records as the kind's capacity.
  result<table_ref> table_for_contents(table_kind kind);
  /// A copy of a table that is to get a key.
  result<table_ref> copy_of(hosted_table& t);
  /// Makes a table the value of an empty key, durably.
  error attach_new(RedisModuleCtx* ctx, RedisModuleKey* key, std::string_view name,
                   const table_kind& kind);

  /// While the server loads its own files: the catalog is newer than they are.
  bool replaying_old_files() const noexcept { return phase_ == phase::replaying; }
  std::size_t tables() const noexcept { return linked_.size(); }
  std::uint64_t failures() const noexcept { return failures_; }
  /// Rows and swaps that the catalog has refused, and that are tried again.
  std::size_t unsettled() const noexcept {
    return unwritten_.size() + unerased_.size() + unswapped_.size();
  }
  /// How long the tables took at the start.
  std::uint64_t start_milliseconds() const noexcept { return start_milliseconds_; }
  /// Waits until the catalog survives a loss of power up to there, where it is to survive one.
  bool names_are_durable(std::uint64_t position) { return catalog_->await(position) == status::ok; }
  /// Whether the row of a table survives a loss of power, where the catalog is to survive one.
  bool row_is_durable(hosted_table& t) const;
  /// Whether answers wait for that.
  bool names_are_waited_for() const { return catalog_->level() == durability_level::power; }
  /// Calls back, from another thread, when the catalog is durable up to there.
  status when_names_are_durable(std::uint64_t position, std::function<void(status)> call) {
    return catalog_->when_durable(position, std::move(call));
  }
  /// The replies of this turn go out behind all changes of names.
  void hold_all_for_names() { waits_.hold_all(); }
  /// Whether the client of this command waits for names already, because its key had expired.
  bool waits_for_names(RedisModuleCtx* ctx) const { return waits_.has_blocked(ctx); }
  spare_pools& spares() noexcept { return spares_; }
  /// All tables that have a key.
  std::vector<table_ref> all() const;

  // ---------------------------------------------------------------- what the value's type is told

  /// Of contents that are read from a file or a command: nothing while old files are replayed.
  bool wants_contents() const noexcept { return phase_ != phase::replaying; }
  /// A value was made for that key, which it will get, or not.
  void on_value_made(table_ref table, placement where, std::uint64_t epoch_elsewhere);
  void on_unlink(hosted_table& table);

  // ---------------------------------------------------------------------- what the server reports

  void on_key_event(RedisModuleCtx* ctx, int type, std::string_view event, RedisModuleString* key);
  void on_flush(RedisModuleCtx* ctx, std::optional<int> database);
  void on_swap(int one, int other);
  void on_load_started();
  void on_load_ended(RedisModuleCtx* ctx);
  void on_load_failed();
  void on_promotion();
  /// What a master sent, nobody waited for here. Behind this the disk has it. The event loop waits.
  void await_disk();
  void before_sleep(RedisModuleCtx* ctx);
  void on_shutdown();

 private:
  enum class phase {
    starting,   ///< no catalog of before: tables come from the server's files
    replaying,  ///< the catalog has all tables: those of the server's files are placeholders
    serving,
  };

  result<table_ref> new_table(const table_kind& kind);
  void reconcile(RedisModuleCtx* ctx, RedisModuleString* key);
  void settle_unlinked();
  bool write_row(hosted_table& table);
  bool erase_row(hosted_table& table);
  bool settle_swaps();
  void try_again();
  void drop(const pool_id& id);
  void commit_load(RedisModuleCtx* ctx);
  void require(RedisModuleCtx* ctx, status s);
  error attach_all(RedisModuleCtx* ctx);
  error attach(RedisModuleCtx* ctx, const pool_id& id, const catalog_row& row, int database);
  error remove_strays();
  void remove_placeholders(RedisModuleCtx* ctx);
  void note(status s, const char* what);

  std::optional<catalog> catalog_;
  name_waits waits_;
  spare_pools spares_;
  phase phase_ = phase::starting;
  bool loading_ = false;
  std::uint64_t epoch_ = 0;  // the greatest seen
  std::map<pool_id, table_ref> linked_;
  std::vector<table_ref> unlinked_;    // no key, and a row that the next event may keep
  std::vector<table_ref> loaded_;      // of the load under way
  std::vector<table_ref> superseded_;  // of before a synchronisation; the rows stand until its end
  std::deque<table_ref> unwritten_;    // whose row could not be written
  std::deque<table_ref> unerased_;     // without a key, whose row could not be erased
  std::deque<std::pair<int, int>> unswapped_;  // in order
  std::chrono::steady_clock::time_point next_try_;
  std::vector<std::weak_ptr<hosted_table>> placeholders_;
  std::uint64_t failures_ = 0;  // of the catalog
  std::uint64_t start_milliseconds_ = 0;
};

keyspace& the_keyspace();

/// The type of our values. Set once, when the module is loaded.
RedisModuleType*& the_type();

}  // namespace durahash::server
