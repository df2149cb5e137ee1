#include "keyspace.hpp"

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <thread>

#include "fault.hpp"
#include "snapshot.hpp"
#include "worker.hpp"

namespace durahash::server {
namespace {

table_ref* held_by(RedisModuleKey* key) {
  if (RedisModule_KeyType(key) != REDISMODULE_KEYTYPE_MODULE) return nullptr;
  if (RedisModule_ModuleTypeGetType(key) != the_type()) return nullptr;
  return static_cast<table_ref*>(RedisModule_ModuleTypeGetValue(key));
}

/// A replica empties itself before it loads what its master sends, and no command asks for that.
bool synchronising(RedisModuleCtx* ctx) {
  RedisModuleServerInfoData* facts = RedisModule_GetServerInfo(ctx, "replication");
  int failed = 0;
  const bool now =
      RedisModule_ServerInfoGetFieldSigned(facts, "master_sync_in_progress", &failed) == 1;
  RedisModule_FreeServerInfo(ctx, facts);
  return now;
}

}  // namespace

keyspace& the_keyspace() {
  static auto* one = new keyspace;
  return *one;
}

RedisModuleType*& the_type() {
  static RedisModuleType* type = nullptr;
  return type;
}

void keyspace::note(status s, const char* what) {
  if (s == status::ok) return;
  ++failures_;
  log(nullptr, "warning",
      std::string("catalog: ") + what + ": " + std::string(durahash::message(s)));
}

// ----------------------------------------------------------------------------- rows of the catalog

bool keyspace::write_row(hosted_table& t) {
  if (phase_ != phase::serving) return true;  // commit_load writes all
  // A swap that the catalog refused says which area is which database: it comes before.
  const std::uint64_t area = settle_swaps() ? catalog_->area_of(t.where.database) : 0;
  t.epoch = ++epoch_;
  const status s = area == 0
                       ? status::io_error
                       : catalog_->put(t.id(), {area, t.epoch, t.where.expire_at, t.where.name});
  note(s, "a row was not written");
  if (s == status::ok) t.has_row = true, t.row_written_at = catalog_->last_change();
  else if (std::ranges::find(unwritten_, &t, &table_ref::get) == unwritten_.end())
    unwritten_.push_back(linked_[t.id()]);
  return s == status::ok;
}

bool keyspace::erase_row(hosted_table& t) {
  if (!t.has_row) return true;
  const status s = catalog_->erase(t.id());
  note(s, "a row was not erased");
  // Its pool stays as long as the row does: a start before the next try has both.
  if (s == status::ok) t.has_row = false, t.row_erased_at = catalog_->position();
  else unerased_.push_back(t.shared_from_this());
  return s == status::ok;
}

bool keyspace::settle_swaps() {
  while (!unswapped_.empty()) {
    const auto [one, other] = unswapped_.front();
    const status s = catalog_->swap(one, other);
    note(s, "databases were not swapped");
    if (s != status::ok) return false;
    unswapped_.pop_front();
  }
  return true;
}

void keyspace::drop(const pool_id& id) {
  auto known = linked_.find(id);
  if (known == linked_.end()) return;
  let_go(std::move(known->second));
  linked_.erase(known);
}

/// Rows of tables without a key go: their key was deleted, overwritten, or has expired.
void keyspace::settle_unlinked() {
  for (table_ref& t : unlinked_) {
    if (t->linked) continue;
    if (!planted("deleted-tables-keep-their-rows")) erase_row(*t);
    drop(t->id());
    let_go(std::move(t));
  }
  unlinked_.clear();
}

/// Whatever was done with the key, its row says where it is now.
void keyspace::reconcile(RedisModuleCtx* ctx, RedisModuleString* name) {
  server_key key(ctx, name, look);
  table_ref* held = held_by(key.get());
  if (held == nullptr) return;
  hosted_table& t = **held;
  placement now{RedisModule_GetSelectedDb(ctx), std::string(view_of(name)),
                RedisModule_GetAbsExpire(key.get())};
  if (planted("names-stay-as-they-were") && t.has_row) now.name = t.where.name;
  if (planted("expiries-are-not-kept")) now.expire_at = -1;
  if (t.linked && t.has_row && t.where == now) return;
  t.linked = true;
  t.where = std::move(now);
  if (t.is_placeholder()) return;
  linked_[t.id()] = *held;
  write_row(t);
}

// ------------------------------------------------------------------------------------ for commands

keyspace::found keyspace::find(RedisModuleKey* key, hosted_table*& t) const {
  if (key == nullptr || RedisModule_KeyType(key) == REDISMODULE_KEYTYPE_EMPTY) return found::absent;
  table_ref* held = held_by(key);
  if (held == nullptr) return found::other_type;
  t = held->get();
  return found::table;
}

result<table_ref> keyspace::new_table(const table_kind& kind) {
  if (table_ref t = phase_ == phase::serving ? spares_.take(kind) : table_ref()) return t;
  return hosted_table::create(kind);
}

result<table_ref> keyspace::table_for_contents(table_kind kind) {
  if (spares_.waits_for_disk() && kind.capacity <= few_records) kind.capacity = 0;
  return new_table(kind);
}

/// A file with the pages of another one waits for the disk several times: a small table goes record
/// by record into a pool that is there.
result<table_ref> keyspace::copy_of(hosted_table& t) {
  if (!spares_.waits_for_disk() || !t.is_small()) return hosted_table::copy(t);
  const pool_kinds& kinds = t.kinds();
  auto made = new_table({kinds.engine, kinds.key, kinds.value, kinds.durability, 0});
  if (!made) return made;
  if (const status s = (*made)->take_records_of(t); s != status::ok) {
    let_go(std::move(*made));
    return error{s, std::string(durahash::message(s))};
  }
  return made;
}

error keyspace::attach_new(RedisModuleCtx* ctx, RedisModuleKey* key, std::string_view name,
                           const table_kind& kind) {
  auto made = new_table(kind);
  if (!made) return made.failure();
  table_ref t = std::move(*made);
  t->taken_as = kind;
  t->where = {RedisModule_GetSelectedDb(ctx), std::string(name), -1};
  t->linked = true;
  linked_[t->id()] = t;
  waits_.apart(*catalog_, [&] { write_row(*t); });
  if (phase_ == phase::serving && !t->has_row) {
    unwritten_.pop_back();  // its own; those of other tables are still to be written
    drop(t->id());
    let_go(std::move(t));
    return {status::io_error, "the catalog has no room for a table, or no disk"};
  }
  RedisModule_ModuleTypeSetValue(key, the_type(), new table_ref(std::move(t)));
  return {status::ok, {}};
}

bool keyspace::row_is_durable(hosted_table& t) const {
  if (t.row_written_at == 0) return true;
  if (!catalog_->is_durable(t.row_written_at)) return false;
  t.row_written_at = 0;
  return true;
}

std::vector<table_ref> keyspace::all() const {
  std::vector<table_ref> every;
  every.reserve(linked_.size());
  for (const auto& [id, t] : linked_) every.push_back(t);
  return every;
}

// -------------------------------------------------------------------------------------- of a value

void keyspace::on_value_made(table_ref t, placement where, std::uint64_t epoch_elsewhere) {
  epoch_ = std::max(epoch_, epoch_elsewhere);
  t->where = std::move(where);
  if (t->is_placeholder()) placeholders_.push_back(t);
  else if (loading_) loaded_.push_back(std::move(t));
}

void keyspace::on_unlink(hosted_table& t) {
  t.linked = false;
  if (t.is_placeholder()) return;
  if (planted("unlink-removes-the-pool")) remove_pool_files(t.path());
  if (auto known = linked_.find(t.id()); known != linked_.end()) unlinked_.push_back(known->second);
}

// ------------------------------------------------------------------------------------------ events

void keyspace::on_key_event(RedisModuleCtx* ctx, int type, std::string_view event,
                            RedisModuleString* key) {
  // The value has left its first key, and the event for its second one follows at once.
  if (event == "rename_from" || event == "move_from") return;
  const auto change = [&] {
    if ((type & REDISMODULE_NOTIFY_GENERIC) != 0 && event != "del") reconcile(ctx, key);
    if (!unlinked_.empty()) settle_unlinked();
  };
  if (catalog_ && phase_ == phase::serving) waits_.around(ctx, *catalog_, change);
  else change();
}

void keyspace::on_flush(RedisModuleCtx* ctx, std::optional<int> database) {
  if (phase_ != phase::serving) {
    if (phase_ == phase::starting) linked_.clear(), loaded_.clear();
    return;
  }
  for (table_ref& t : loaded_) let_go(std::move(t));
  loaded_.clear();
  settle_unlinked();
  const bool keeps_rows = !database && synchronising(ctx) && !planted("a-sync-flushes-at-once");
  // What is refused here goes row by row below, and is tried again.
  if (!keeps_rows && !planted("flushes-are-not-told") && settle_swaps())
    note(catalog_->clear(database), "tables were not flushed");
  for (auto at = linked_.begin(); at != linked_.end();) {
    table_ref& t = at->second;
    if (database && t->where.database != *database) {
      ++at;
      continue;
    }
    t->linked = false;
    if (keeps_rows) {
      superseded_.push_back(std::move(t));
    } else {
      if (!planted("flushes-are-not-told")) erase_row(*t);
      let_go(std::move(t));
    }
    at = linked_.erase(at);
  }
  if (!keeps_rows && !database) on_promotion();
}

void keyspace::on_swap(int one, int other) {
  auto swap = [&](int& database) {
    database = database == one ? other : database == other ? one : database;
  };
  for (auto& [id, t] : linked_) swap(t->where.database);
  for (auto& p : placeholders_)
    if (auto t = p.lock()) swap(t->where.database);
  if (planted("swaps-are-not-told")) return;
  if (phase_ != phase::serving) return;
  unswapped_.emplace_back(one, other);
  settle_swaps();
}

/// No synchronisation will end any more: what it was to replace is gone from the keyspace already.
void keyspace::on_promotion() {
  if (superseded_.empty()) return;
  for (table_ref& t : superseded_) {
    erase_row(*t);
    let_go(std::move(t));
  }
  superseded_.clear();
}

void keyspace::await_disk() {
  if (!catalog_ || planted("no-replica-asks-its-disk")) return;
  if (names_are_waited_for()) end_if_names_are_refused(catalog_->await(catalog_->position()));
  for (auto& [id, t] : linked_) {
    table& pool = t->pool();
    if (const status s = pool.wait_durable(pool.position()); s != status::ok)
      log(nullptr, "warning", "the disk does not take a table: " + std::string(message(s)));
  }
}

void keyspace::before_sleep(RedisModuleCtx* ctx) {
  if (loading_) return;
  if (phase_ != phase::serving) on_load_ended(ctx);  // a module that was loaded late
  if (!unlinked_.empty()) settle_unlinked();
  try_again();
  waits_.before_replies(ctx, *catalog_);
}

/// What the catalog refused: once a second, up to the first that it refuses again.
void keyspace::try_again() {
  if (unwritten_.empty() && unerased_.empty() && unswapped_.empty()) return;
  const auto now = std::chrono::steady_clock::now();
  if (now < next_try_) return;
  next_try_ = now + std::chrono::seconds(1);
  if (!settle_swaps()) return;
  while (!unwritten_.empty()) {
    const table_ref t = std::move(unwritten_.front());
    unwritten_.pop_front();
    if (t->linked && !write_row(*t)) return;  // it is the last one now
  }
  while (!unerased_.empty()) {
    table_ref t = std::move(unerased_.front());
    unerased_.pop_front();
    if (!t->linked && !erase_row(*t)) return;
    let_go(std::move(t));
  }
}

/// Closes all pools, in order behind what the module's thread has to do. Where somebody reads
/// longer than its patience they are left as they are, as by a kill.
void keyspace::on_shutdown() {
  constexpr auto patience = std::chrono::seconds(2);
  const auto end = std::chrono::steady_clock::now() + patience;
  while (children_served() != 0) {  // ends: the server has killed its children
    if (std::chrono::steady_clock::now() > end) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  struct progress {
    std::promise<void> begun, closed;
  };
  auto made = std::make_shared<progress>();  // the thread may come to it later than this waits
  the_worker().submit([this, made] {
    made->begun.set_value();
    spares_.drop_all();
    for (auto& [id, t] : linked_) t->pool().close();
    catalog_->close();
    made->closed.set_value();
  });
  if (made->begun.get_future().wait_until(end) == std::future_status::ready)
    made->closed.get_future().wait();
}

}  // namespace durahash::server
