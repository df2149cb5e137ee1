#include "hosted_table.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include "durahash/deferred_wait.hpp"
#include "durahash/remove.hpp"
#include "keyspace.hpp"
#include "worker.hpp"

namespace durahash::server {
namespace {

// Of tables whose capacity nobody told: the library's 4,096 take 24 KiB more of memory each. A
// million records lie in shards of 1,000.
constexpr std::uint64_t usual_shards = 1024;
// 1,000 tables of it fit the address space of a process. A pool of a cluster's table is smaller.
constexpr std::uint64_t usual_address_space_bytes = std::uint64_t{64} << 30;

options usual_options(open_mode mode) {
  options how;
  how.mode = mode;
  how.max_bytes = the_settings().max_bytes;
  how.address_space_bytes = how.max_bytes != 0 ? 2 * how.max_bytes : usual_address_space_bytes;
  return how;
}

}  // namespace

settings& the_settings() {
  static auto* one = new settings;
  return *one;
}

std::string pool_path(const pool_id& id) { return the_settings().folder + "/" + id.text() + ".dh"; }

void remove_pool_files(const std::string& path) {
  if (remove_pool(path).code == status::ok) return;
  // no pool, or part of one
  ::unlink(path.c_str());
  ::unlink((path + "-log").c_str());
}

hosted_table::hosted_table(const pool_id& id, std::optional<table> pool)
    : id_(id), pool_(std::move(pool)) {
  if (pool_) kinds_ = pool_->kinds();
}

table_kind usual_kind() {
  table_kind kind;
  kind.engine = the_settings().engine;
  kind.durability = the_settings().durability;
  return kind;
}

result<table_ref> hosted_table::create(const table_kind& kind) {
  options how = usual_options(open_mode::create_new);
  how.engine = kind.engine;
  how.key = kind.key;
  how.value = kind.value;
  how.durability = kind.durability;
  how.capacity = kind.capacity;
  if (kind.engine == engine_kind::turbo && kind.capacity == 0)
    how.settings["shards"] = usual_shards;
  const pool_id id = pool_id::random();
  auto opened = table::open(pool_path(id), how);
  if (!opened) return opened.failure();
  table_ref made(new hosted_table(id, std::move(*opened)));
  made->counted_ = true;
  return made;
}

result<table_ref> hosted_table::open(const pool_id& id) {
  auto opened = table::open(pool_path(id), usual_options(open_mode::open_existing));
  if (!opened) return opened.failure();
  table_ref made(new hosted_table(id, std::move(*opened)));
  the_worker().submit([made] { made->size(); });
  return made;
}

result<table_ref> hosted_table::copy(hosted_table& of) {
  const pool_id id = pool_id::random();
  if (error e = of.pool().backup(pool_path(id)); e.code != status::ok) return e;
  auto made = open(id);
  if (!made) remove_pool_files(pool_path(id));
  return made;
}

bool hosted_table::is_small() {
  constexpr std::uint64_t few_bytes = 4 << 20;
  return counted() && size() <= few_records && file_bytes() <= few_bytes;
}

status hosted_table::take_records_of(hosted_table& other) {
  const deferred_wait later(pool());
  status worst = status::ok;
  const status read = other.pool().for_each([&](std::string_view key, std::string_view value) {
    if (const status s = pool().put(key, value); s != status::ok) worst = s;
  });
  if (read != status::ok) worst = read;
  const std::uint64_t needed = later.position();
  return worst == status::ok && needed != 0 ? pool().wait_durable(needed) : worst;
}

table_ref hosted_table::placeholder(const pool_id& id) {
  return table_ref(new hosted_table(id, std::nullopt));
}

hosted_table::~hosted_table() {
  if (!pool_) return;
  // Behind a loss of power the row may be there again, and wants its pool.
  if (!has_row && !the_keyspace().names_are_durable(row_erased_at)) has_row = true;
  // What has no name needs no bytes on the disk. A pool with a log keeps its name until the close.
  const bool logs = kinds_.durability >= durability_level::power;
  if (!has_row && !logs) ::unlink(path().c_str());
  pool_->close();
  if (!has_row) remove_pool_files(path());
}

std::string hosted_table::path() const { return pool_path(id_); }

std::uint64_t hosted_table::file_bytes() const {
  struct stat facts {};
  return ::stat(path().c_str(), &facts) == 0 ? static_cast<std::uint64_t>(facts.st_blocks) * 512
                                             : 0;
}

std::uint64_t hosted_table::size() {
  const std::uint64_t records = pool_->size();
  counted_.store(true, std::memory_order_release);
  return records;
}

void let_go(table_ref table) {
  if (!table) return;
  the_worker().submit([last = std::move(table)]() mutable { last.reset(); });
}

}  // namespace durahash::server
