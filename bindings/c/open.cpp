// Opening and closing.
#include <cstring>
#include <memory>

#include "durahash/convert.hpp"
#include "durahash/processes.hpp"
#include "durahash/remove.hpp"
#include "pool.hpp"

namespace durahash::c {
namespace {

// What version 0.1 has. What comes later stands behind it, and its zero is what was before.
constexpr std::size_t first_options_bytes = 104;
static_assert(sizeof(durahash_options) == first_options_bytes);

durahash_options defaults() noexcept {
  const options as;
  durahash_options how = {};
  how.size = sizeof how;
  how.engine = how.key = how.value = how.durability = DURAHASH_UNSET;
  how.lag_milliseconds = as.lag_milliseconds;
  return how;
}

/// The caller's struct as this library has it. Returns false where it is none, or asks for what
/// this library does not know.
bool take(const durahash_options& given, durahash_options& how) {
  if (given.size < first_options_bytes) return false;
  const auto* bytes = reinterpret_cast<const unsigned char*>(&given);
  for (std::size_t i = sizeof how; i < given.size; ++i)
    if (bytes[i] != 0) return false;
  how = defaults();
  std::memcpy(&how, &given, std::min(sizeof how, given.size));
  return true;
}

template <class Kind>
bool take(std::int32_t number, std::optional<Kind>& kind, Kind first, Kind last) {
  if (number == DURAHASH_UNSET) return true;
  if (number < static_cast<std::int32_t>(first) || number > static_cast<std::int32_t>(last))
    return false;
  kind = static_cast<Kind>(number);
  return true;
}

/// Fills `as`. Returns what is wrong, or null.
const char* translate(const durahash_options& given, options& as) {
  durahash_options how;
  if (!take(given, how))
    return "the options are of no version that this library knows: durahash_options_init fills "
           "them in";
  if (how.mode < 0 || how.mode > DURAHASH_MODE_READ_BESIDE) return "there is no such mode";
  as.mode = static_cast<open_mode>(how.mode);
  if (how.medium < 0 || how.medium > DURAHASH_MEDIUM_DISK) return "there is no such medium";
  as.medium = static_cast<medium_kind>(how.medium);
  // whether there is such an engine is for the build to say
  if (!take(how.engine, as.engine, engine_kind{1}, engine_kind{255}))
    return "no engine has this number";
  if (!take(how.key, as.key, data_kind::u64, data_kind::bytes)) return "there is no such key kind";
  if (!take(how.value, as.value, data_kind::u64, data_kind::bytes))
    return "there is no such value kind";
  if (!take(how.durability, as.durability, durability_level::none,
            durability_level::power_buffered))
    return "there is no such durability level";
  if (how.settings == nullptr && how.setting_count != 0) return "the settings are a null pointer";
  for (std::size_t i = 0; i < how.setting_count; ++i) {
    if (how.settings[i].name == nullptr) return "the name of a setting is a null pointer";
    as.settings[how.settings[i].name] = how.settings[i].value;
  }
  as.capacity = how.capacity;
  as.max_bytes = how.max_bytes;
  as.address_space_bytes = how.address_space_bytes;
  as.lag_milliseconds = how.lag_milliseconds;
  as.log_bytes = how.log_bytes;
  as.salvage = how.salvage != 0;
  as.flush_latency_ns = how.flush_latency_ns;
  as.block_latency_ns = how.block_latency_ns;
  as.read_latency_ns = how.read_latency_ns;
  return nullptr;
}

/// Puts what Table::open gives into a new pool's `part`.
template <class Table>
durahash_status open(const char* path, const durahash_options* how, durahash_pool** opened,
                     std::optional<Table> durahash_pool::*part) noexcept {
  if (opened == nullptr) return refuse("there is no place for the pool: a null pointer");
  *opened = nullptr;
  return guarded([&]() -> durahash_status {
    options as;
    if (how != nullptr)
      if (const char* wrong = translate(*how, as)) return refuse(wrong);
    if (path == nullptr && as.medium != medium_kind::memory)
      return refuse("there is no path: a null pointer");
    auto pool = std::make_unique<durahash_pool>();  // what comes behind a creation must not fail
    auto table = Table::open(path == nullptr ? "" : path, as);
    if (!table) return fail(table.failure().code, table.failure().message);
    ((*pool).*part).emplace(std::move(*table));
    *opened = pool.release();
    return DURAHASH_OK;
  });
}

}  // namespace
}  // namespace durahash::c

using namespace durahash;
using namespace durahash::c;

durahash_status durahash_options_init(durahash_options* how, size_t size) {
  if (how == nullptr) return refuse("there are no options: a null pointer");
  if (size < first_options_bytes)
    return refuse(
        "the options are smaller than those of version 0.1: say sizeof(durahash_options)");
  const durahash_options made = defaults();
  std::memset(how, 0, size);
  std::memcpy(how, &made, std::min(size, sizeof made));
  how->size = size;
  return DURAHASH_OK;
}

durahash_status durahash_u64_open(const char* path, const durahash_options* how,
                                  durahash_pool** opened) {
  return c::open<word_map>(path, how, opened, &durahash_pool::words);
}

durahash_status durahash_bytes_open(const char* path, const durahash_options* how,
                                    durahash_pool** opened) {
  return c::open<table>(path, how, opened, &durahash_pool::bytes);
}

durahash_status durahash_close(durahash_pool* pool) {
  if (pool == nullptr) return DURAHASH_OK;
  const durahash_status closed = on_any(pool, [](handle& all) { return all.close(); });
  delete pool;
  return closed;
}

durahash_status durahash_processes(const char* path, durahash_process_visitor visit,
                                   void* context) {
  if (path == nullptr) return refuse("there is no path: a null pointer");
  if (visit == nullptr) return refuse("there is no visitor: a null pointer");
  return guarded([&]() -> error {
    const auto found = processes_with(path);
    if (!found) return found.failure();
    for (const pool_process& one : *found) {
      const durahash_process shown{one.id, one.started_unix_seconds, one.command.c_str(),
                                   one.writes ? 1u : 0u, 0};
      visit(context, &shown);
    }
    return {status::ok, {}};
  });
}

durahash_status durahash_convert(const char* path, int32_t durability) {
  if (path == nullptr) return refuse("there is no path: a null pointer");
  if (durability < 0 || durability > DURAHASH_DURABILITY_POWER_BUFFERED)
    return refuse("there is no such durability level");
  return guarded([&] { return convert(path, static_cast<durability_level>(durability)); });
}

durahash_status durahash_remove(const char* path) {
  if (path == nullptr) return refuse("there is no path: a null pointer");
  return guarded([&] { return remove_pool(path); });
}
