#include "value_type.hpp"

#include <algorithm>
#include <vector>

#include "durahash/deferred_wait.hpp"
#include "fault.hpp"
#include "keyspace.hpp"
#include "snapshot.hpp"
#include "text.hpp"
#include "worker.hpp"

namespace durahash::server {
namespace {

// The server's encoding of a type's data. Version 1:
//   id | epoch | engine | key | value | durability | records expected | (1 | key | value)* | end
// The end is 0, or 2 where the table could not be read to its own: such contents are refused.
// Version 0 is the same without the 2. Who knows that one alone would take half a table for a whole
// one, and refuses the newer version.
constexpr int encoding_version = 1;
constexpr std::uint64_t one_more = 1, end_of_all = 0, end_of_a_part = 2;
constexpr std::size_t records_per_batch = 64;
constexpr std::size_t bytes_per_batch = std::size_t{1} << 20;

hosted_table& table_of(void* value) { return **static_cast<table_ref*>(value); }
const hosted_table& table_of(const void* value) { return **static_cast<const table_ref*>(value); }

// The server is C, and nothing may throw through it: hence noexcept, where there is no answer to
// give in place of the exception.

void save(RedisModuleIO* to, void* value) noexcept {
  hosted_table& t = table_of(value);
  RedisModule_SaveStringBuffer(to, t.id().bytes.data(), t.id().bytes.size());
  RedisModule_SaveUnsigned(to, t.epoch);
  const pool_kinds& kinds = t.kinds();
  RedisModule_SaveUnsigned(to, static_cast<std::uint64_t>(kinds.engine));
  RedisModule_SaveUnsigned(to, static_cast<std::uint64_t>(kinds.key));
  RedisModule_SaveUnsigned(to, static_cast<std::uint64_t>(kinds.value));
  RedisModule_SaveUnsigned(to, static_cast<std::uint64_t>(kinds.durability));
  RedisModule_SaveUnsigned(to, !in_a_child() && t.counted() ? t.size() : 0);
  const bool whole = visit_records(t, [&](std::string_view key, std::string_view record) {
    RedisModule_SaveUnsigned(to, one_more);
    RedisModule_SaveStringBuffer(to, key.data(), key.size());
    RedisModule_SaveStringBuffer(to, record.data(), record.size());
  });
  RedisModule_SaveUnsigned(to, whole ? end_of_all : end_of_a_part);
  if (!whole) RedisModule_LogIOError(to, "warning", "a table could not be read to its end");
}

/// A string that the server has read, freed with its scope.
struct loaded_string {
  explicit loaded_string(RedisModuleIO* from) : first(RedisModule_LoadStringBuffer(from, &bytes)) {}
  loaded_string(loaded_string&& other) noexcept
      : bytes(other.bytes), first(std::exchange(other.first, nullptr)) {}
  ~loaded_string() {
    if (first != nullptr) RedisModule_Free(first);
  }
  std::string_view view() const { return {first, first == nullptr ? 0 : bytes}; }

  std::size_t bytes = 0;
  char* first;
};

/// Reads records up to their end, into the table if there is one.
/// Returns   why that failed; a damaged file is found by IsIOError.
status load_records(RedisModuleIO* from, hosted_table* into) {
  std::vector<loaded_string> held;
  std::vector<std::string_view> keys, values;
  std::vector<status> answers;
  std::size_t bytes = 0;
  status worst = status::ok;
  std::uint64_t needed = 0;  // of the pool's log, at the level power
  auto put = [&] {
    answers.resize(keys.size());
    if (into != nullptr && worst == status::ok) {
      const deferred_wait later(into->pool());
      into->pool().put_many(keys, values, answers);
      needed = std::max(needed, later.position());
      for (status s : answers)
        if (s != status::ok) worst = s;
    }
    held.clear(), keys.clear(), values.clear();
    bytes = 0;
  };
  std::uint64_t mark = 0;
  while ((mark = RedisModule_LoadUnsigned(from)) == one_more && !RedisModule_IsIOError(from)) {
    held.emplace_back(from);
    keys.push_back(held.back().view());
    held.emplace_back(from);
    values.push_back(held.back().view());
    bytes += keys.back().size() + values.back().size();
    if (keys.size() == records_per_batch || bytes >= bytes_per_batch) put();
  }
  put();
  if (mark != end_of_all && !planted("an-older-module") && into != nullptr && worst == status::ok)
    worst = status::damaged;
  // all of it before the row that names it
  if (worst == status::ok && needed != 0) worst = into->pool().wait_durable(needed);
  return worst;
}

std::optional<table_kind> load_kind(RedisModuleIO* from) {
  table_kind kind;
  kind.engine = static_cast<engine_kind>(RedisModule_LoadUnsigned(from));
  kind.key = static_cast<data_kind>(RedisModule_LoadUnsigned(from));
  kind.value = static_cast<data_kind>(RedisModule_LoadUnsigned(from));
  // What the sender promises for its disk is not this node's promise.
  const auto level = static_cast<durability_level>(RedisModule_LoadUnsigned(from));
  kind.durability = std::min(level, the_settings().durability);
  kind.capacity = RedisModule_LoadUnsigned(from);
  const bool known = name_of(kind.engine) != "unknown" && name_of(kind.key) != "unknown" &&
                     name_of(kind.value) != "unknown" && kind.capacity <= std::uint64_t{1} << 40;
  return known ? std::optional(kind) : std::nullopt;
}

placement place_of(RedisModuleIO* from) {
  placement made;
  made.database = RedisModule_GetDbIdFromIO(from);
  if (const RedisModuleString* name = RedisModule_GetKeyNameFromIO(from))
    made.name = std::string(view_of(name));
  return made;
}

void* load(RedisModuleIO* from, int version) try {
  if (version > encoding_version || (version != 0 && planted("an-older-module"))) {
    RedisModule_LogIOError(from, "warning", "a table of a later version of the module");
    return nullptr;
  }
  const loaded_string id_bytes(from);
  const auto id = pool_id::of(id_bytes.view());
  const std::uint64_t epoch = RedisModule_LoadUnsigned(from);
  const auto kind = load_kind(from);
  if (!id || !kind || RedisModule_IsIOError(from)) return nullptr;

  keyspace& keys = the_keyspace();
  table_ref made;
  if (keys.wants_contents()) {
    auto fresh = keys.table_for_contents(*kind);
    if (!fresh) {
      RedisModule_LogIOError(from, "warning", "%s", fresh.failure().message.c_str());
      return nullptr;
    }
    made = std::move(*fresh);
  } else {
    made = hosted_table::placeholder(*id);
  }
  const status answer = load_records(from, made->is_placeholder() ? nullptr : made.get());
  if (answer != status::ok || RedisModule_IsIOError(from)) {
    if (answer != status::ok)
      RedisModule_LogIOError(from, "warning", "a table was not filled: %s",
                             std::string(durahash::message(answer)).c_str());
    let_go(std::move(made));
    return nullptr;
  }
  keys.on_value_made(made, place_of(from), epoch);
  return new table_ref(std::move(made));
} catch (const std::exception&) {
  return nullptr;
}

/// As commands, for a rewrite without RDB and for slots that move between nodes of Valkey.
void rewrite(RedisModuleIO* to, RedisModuleString* key, void* value) noexcept {
  hosted_table& t = table_of(value);
  const pool_kinds& kinds = t.kinds();
  RedisModule_EmitAOF(to, "DH.CREATE", "scccccccc", key, "ENGINE",
                      std::string(name_of(kinds.engine)).c_str(), "KEYS",
                      std::string(name_of(kinds.key)).c_str(), "VALUES",
                      std::string(name_of(kinds.value)).c_str(), "DURABILITY",
                      std::string(name_of(kinds.durability)).c_str());
  std::vector<RedisModuleString*> some;
  auto emit = [&] {
    if (!some.empty()) RedisModule_EmitAOF(to, "DH.SET", "sv", key, some.data(), some.size());
    for (RedisModuleString* s : some) RedisModule_FreeString(nullptr, s);
    some.clear();
  };
  auto add = [&](data_kind kind, std::string_view bytes) {
    const std::string text = as_text(kind, bytes);
    some.push_back(RedisModule_CreateString(nullptr, text.data(), text.size()));
  };
  visit_records(t, [&](std::string_view field, std::string_view record) {
    add(kinds.key, field);
    add(kinds.value, record);
    if (some.size() == 2 * records_per_batch) emit();
  });
  emit();
}

/// Of all records, in whatever order: what DEBUG DIGEST-VALUE says of two equal tables is equal.
void digest(RedisModuleDigest* of, void* value) noexcept {
  visit_records(table_of(value), [&](std::string_view key, std::string_view record) {
    RedisModule_DigestAddStringBuffer(of, key.data(), key.size());
    RedisModule_DigestAddStringBuffer(of, record.data(), record.size());
    RedisModule_DigestEndSequence(of);
  });
}

void drop(void* value) noexcept {
  auto* held = static_cast<table_ref*>(value);
  let_go(std::move(*held));
  delete held;
}

void unlink(RedisModuleKeyOptCtx*, const void* value) noexcept {
  the_keyspace().on_unlink(**static_cast<const table_ref*>(value));
}

void* copy(RedisModuleKeyOptCtx* where, const void* value) try {
  hosted_table& of = **static_cast<const table_ref*>(value);
  placement to;
  to.database = RedisModule_GetToDbIdFromOptCtx(where);
  to.name = std::string(view_of(RedisModule_GetToKeyNameFromOptCtx(where)));
  if (of.is_placeholder()) {
    table_ref made = hosted_table::placeholder(of.id());
    the_keyspace().on_value_made(made, std::move(to), 0);
    return new table_ref(std::move(made));
  }
  // A replica has no limit of its own: the copy is one of its master's.
  const bool follows = (RedisModule_GetContextFlags(nullptr) & REDISMODULE_CTX_FLAGS_SLAVE) != 0;
  if (the_keyspace().tables() >= the_settings().max_tables && !follows) return nullptr;
  auto made = the_keyspace().copy_of(of);
  if (!made) {
    log(nullptr, "warning", "COPY of a table: " + made.failure().message);
    return nullptr;
  }
  the_keyspace().on_value_made(*made, std::move(to), of.epoch);
  return new table_ref(std::move(*made));
} catch (const std::exception&) {
  return nullptr;
}

/// Memory of the process alone: the pool is a file's pages, which `maxmemory` does not bound.
std::size_t memory(RedisModuleKeyOptCtx*, const void* value, std::size_t) noexcept {
  constexpr std::size_t bytes_of_an_open_pool = 64 << 10;  // as measured of 1,000
  return table_of(value).is_placeholder() ? sizeof(hosted_table) : bytes_of_an_open_pool;
}

/// Dropping it costs the event loop nothing: a thread of the module closes the pool.
std::size_t effort(RedisModuleKeyOptCtx*, const void*) noexcept { return 1; }

}  // namespace

bool make_value_type(RedisModuleCtx* ctx) {
  RedisModuleTypeMethods methods{};
  methods.version = REDISMODULE_TYPE_METHOD_VERSION;
  methods.rdb_load = load;
  methods.rdb_save = save;
  methods.aof_rewrite = rewrite;
  methods.digest = digest;
  methods.free = drop;
  methods.unlink2 = unlink;
  methods.copy2 = copy;
  methods.mem_usage2 = memory;
  methods.free_effort2 = effort;
  the_type() = RedisModule_CreateDataType(
      ctx, "durahash0", planted("contents-have-the-old-version") ? 0 : encoding_version, &methods);
  return the_type() != nullptr;
}

}  // namespace durahash::server
