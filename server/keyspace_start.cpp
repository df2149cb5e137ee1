// How tables get their keys: at the server's start, and at the end of a load.
//
// Crash table of a start:
//   before the record `areas` is put for the first time: the catalog is not complete; the next
//     start begins anew, and takes the tables from the server's files
//   after it: the catalog has all tables, whatever the server's files say
// Crash table of the end of a synchronisation: catalog.hpp.
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <utility>

#include "configuration.hpp"
#include "fault.hpp"
#include "keyspace.hpp"

namespace durahash::server {
namespace {

bool there(const std::string& path) {
  struct stat facts {};
  return ::stat(path.c_str(), &facts) == 0;
}

/// Whether the server will load a file when its modules are loaded. Keys that are there before
/// would end it: it takes them for a damaged file.
bool will_load(RedisModuleCtx* ctx) {
  const std::string folder = configured(ctx, "dir") + "/";
  if (configured(ctx, "appendonly") != "yes") return there(folder + configured(ctx, "dbfilename"));
  const std::string log = configured(ctx, "appendfilename");
  return there(folder + log) ||  // of a server before 7.0
         there(folder + configured(ctx, "appenddirname") + "/" + log + ".manifest");
}

}  // namespace

error keyspace::start(RedisModuleCtx* ctx) {
  settings& s = the_settings();
  if (!s.folder.starts_with('/')) s.folder = configured(ctx, "dir") + "/" + s.folder;
  if (::mkdir(s.folder.c_str(), 0700) != 0 && errno != EEXIST)
    return {status::io_error, "cannot make the folder " + s.folder};
  auto opened = catalog::open(s.folder, s.durability);
  if (!opened) return opened.failure();
  catalog_.emplace(std::move(*opened));
  phase_ = catalog_->complete() ? phase::replaying : phase::starting;
  if (error e = remove_strays(); e.code != status::ok) return e;
  if (planted("a-start-is-complete-at-once")) note(catalog_->replace({}), "areas");
  if (will_load(ctx) && !planted("tables-come-before-files")) return {status::ok, {}};
  return attach_all(ctx);
}

/// Pools that no row names, and rows that count for nothing.
error keyspace::remove_strays() {
  std::map<std::pair<std::uint64_t, std::string>, std::pair<pool_id, std::uint64_t>> newest;
  std::vector<pool_id> void_rows;
  const auto rows = catalog_->rows();
  if (!rows) return {rows.failure().code, rows.failure().message + "; no pool was removed"};
  for (const auto& [id, row] : *rows) {
    epoch_ = std::max(epoch_, row.epoch);
    if (!catalog_->complete() || !catalog_->database_of(row.area)) {
      void_rows.push_back(id);
      continue;
    }
    auto [at, first] = newest.try_emplace({row.area, row.name}, id, row.epoch);
    if (first) continue;
    auto& [other, its_epoch] = at->second;
    void_rows.push_back(row.epoch > its_epoch ? other : id);
    if (row.epoch > its_epoch) other = id, its_epoch = row.epoch;
  }
  for (const pool_id& id : void_rows) note(catalog_->erase(id), "a void row was not erased");

  std::set<std::string> kept;
  for (const auto& [key, value] : newest) kept.insert(value.first.text());
  DIR* folder = ::opendir(the_settings().folder.c_str());
  if (folder == nullptr) return {status::io_error, "cannot read " + the_settings().folder};
  std::vector<pool_id> strays;
  while (const dirent* entry = ::readdir(folder)) {
    const std::string_view name = entry->d_name;
    const auto dot = name.find('.');
    if (dot == name.npos || (!name.ends_with(".dh") && !name.ends_with(".dh-log"))) continue;
    auto id = pool_id::named(name.substr(0, dot));
    if (id && !kept.contains(id->text())) strays.push_back(*id);
  }
  ::closedir(folder);
  for (const pool_id& id : strays) remove_pool_files(pool_path(id));
  return {status::ok, {}};
}

error keyspace::attach(RedisModuleCtx* ctx, const pool_id& id, const catalog_row& row,
                       int database) {
  auto opened = hosted_table::open(id);
  if (!opened)
    return {opened.failure().code, "the table of the key \"" + row.name + "\", database " +
                                       std::to_string(database) +
                                       ", cannot be used: " + opened.failure().message};
  table_ref t = std::move(*opened);
  t->where = {database, row.name, row.expire_at};
  t->epoch = row.epoch;
  t->has_row = t->linked = true;
  linked_[id] = t;
  RedisModule_SelectDb(ctx, database);
  server_string name(row.name);
  server_key key(ctx, name.get(), look);
  if (!key.empty())
    log(ctx, "warning",
        "the key \"" + row.name + "\" of an older file gives way to the table of that name");
  RedisModule_ModuleTypeSetValue(key.get(), the_type(), new table_ref(t));
  if (row.expire_at >= 0) RedisModule_SetAbsExpire(key.get(), row.expire_at);
  return {status::ok, {}};
}

error keyspace::attach_all(RedisModuleCtx* ctx) {
  const int selected = RedisModule_GetSelectedDb(ctx);
  const auto began = RedisModule_Milliseconds();
  const auto rows = catalog_->rows();
  if (!rows) return rows.failure();
  for (const auto& [id, row] : *rows) {
    const auto database = catalog_->database_of(row.area);
    if (!database) continue;  // void, and could not be erased
    if (error e = attach(ctx, id, row, *database); e.code != status::ok) return e;
  }
  RedisModule_SelectDb(ctx, selected);
  if (!catalog_->complete())
    if (status s = catalog_->replace({}); s != status::ok)
      return {s, "the catalog cannot be written: " + std::string(durahash::message(s))};
  phase_ = phase::serving;
  spares_.start();
  start_milliseconds_ = static_cast<std::uint64_t>(RedisModule_Milliseconds() - began);
  log(ctx, "notice",
      std::to_string(linked_.size()) + " tables are back after " +
          std::to_string(start_milliseconds_) + " ms");
  return {status::ok, {}};
}

void keyspace::remove_placeholders(RedisModuleCtx* ctx) {
  for (const auto& p : std::exchange(placeholders_, {})) {
    table_ref t = p.lock();
    if (!t) continue;
    RedisModule_SelectDb(ctx, t->where.database);
    server_string name(t->where.name);
    server_key key(ctx, name.get(), look);
    hosted_table* there = nullptr;
    if (find(key.get(), there) == found::table && there == t.get())
      RedisModule_DeleteKey(key.get());
  }
}

void keyspace::on_load_started() {
  loading_ = true;
  loaded_.clear();
}

void keyspace::on_load_failed() {
  loading_ = false;
  for (table_ref& t : loaded_) let_go(std::move(t));
  loaded_.clear();
}

void keyspace::on_load_ended(RedisModuleCtx* ctx) {
  loading_ = false;
  if (phase_ != phase::replaying) return commit_load(ctx);
  remove_placeholders(ctx);
  if (error e = attach_all(ctx); e.code != status::ok) {
    // A node that serves without one of its tables would say that its records never were.
    log(ctx, "warning", e.message + "; `durahash check` and `durahash backup` look at it");
    ::_exit(1);
  }
}

/// Of a change that replaces all rows. Until all of it is done the catalog has the tables of
/// before; to go on would remove their pools, with no rows for those of the load.
void keyspace::require(RedisModuleCtx* ctx, status s) {
  if (s == status::ok) return;
  log(ctx, "warning",
      "the catalog did not take what was loaded: " + std::string(durahash::message(s)) +
          "; this process ends, and the next start has what was there before");
  ::_exit(1);
}

/// Tables of the load get rows in areas of their own, which then replace all others at once.
void keyspace::commit_load(RedisModuleCtx* ctx) {
  const bool replaces_all = phase_ == phase::starting || linked_.empty();
  for (table_ref& t : std::exchange(loaded_, {})) {
    RedisModule_SelectDb(ctx, t->where.database);
    server_string name(t->where.name);
    server_key key(ctx, name.get(), look);
    hosted_table* there = nullptr;
    if (find(key.get(), there) != found::table || there != t.get()) {
      let_go(std::move(t));  // expired meanwhile
      continue;
    }
    t->linked = true;
    t->where.expire_at = RedisModule_GetAbsExpire(key.get());
    linked_[t->id()] = t;
    if (!replaces_all) write_row(*t);
  }
  if (!replaces_all) return;
  area_map areas;
  for (auto& [id, t] : linked_) {
    std::uint64_t& area = areas[t->where.database];
    if (area == 0) area = catalog_->new_area();
    t->epoch = ++epoch_;
    require(ctx, catalog_->put(id, {area, t->epoch, t->where.expire_at, t->where.name}));
    t->has_row = true;
  }
  require(ctx, catalog_->replace(areas));  // COMMIT
  unswapped_.clear();                      // of areas that are void now
  if (std::exchange(phase_, phase::serving) != phase::serving) spares_.start();
  on_promotion();  // what was there before is superseded for good
}

}  // namespace durahash::server
