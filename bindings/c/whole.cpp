// What concerns a pool as a whole.
#include <cstring>

#include "durahash/deferred_wait.hpp"
#include "pool.hpp"

namespace durahash::c {

durahash_status refuse_as_words(const durahash_pool* pool) noexcept {
  return refuse(pool == nullptr ? "there is no pool: a null pointer"
                                : "the pool was opened by durahash_bytes_open, not by "
                                  "durahash_u64_open");
}
durahash_status refuse_as_bytes(const durahash_pool* pool) noexcept {
  return refuse(pool == nullptr ? "there is no pool: a null pointer"
                                : "the pool was opened by durahash_u64_open, not by "
                                  "durahash_bytes_open");
}

namespace {

// What version 0.1 has, as of durahash_options.
constexpr std::size_t first_info_bytes = 96;
static_assert(sizeof(durahash_info) == first_info_bytes);

/// Gives the caller as much of it as there is room for.
durahash_status give(durahash_info made, durahash_info* to) noexcept {
  const std::size_t room = to->size;
  made.size = std::min(room, sizeof made);
  std::memcpy(to, &made, made.size);
  to->size = room;
  return DURAHASH_OK;
}

template <class Fill>
durahash_status with_info(const durahash_pool* pool, durahash_info* facts, Fill&& fill) noexcept {
  if (facts == nullptr || facts->size < first_info_bytes)
    return refuse("size of the struct durahash_info is not sizeof(durahash_info)");
  return on_any(pool, [&](handle& all) -> durahash_status {
    if (const status s = usable(all); s != status::ok) return answer(s);
    durahash_info made = {};
    fill(all, made);
    return give(made, facts);
  });
}

/// Runs run(handle&), unless nothing can be done on the pool.
template <class Run>
durahash_status on_usable(const durahash_pool* pool, Run&& run) noexcept {
  return on_any(pool, [&](handle& all) -> status {
    if (const status s = usable(all); s != status::ok) return s;
    return run(all);
  });
}

}  // namespace
}  // namespace durahash::c

using namespace durahash;
using namespace durahash::c;

struct durahash_deferral {
  explicit durahash_deferral(const handle& of) : wait(of) {}
  deferred_wait wait;
};

durahash_status durahash_kinds(const durahash_pool* pool, durahash_info* facts) {
  return with_info(pool, facts, [](handle& all, durahash_info& made) {
    const pool_kinds kinds = all.kinds();
    made.engine = static_cast<int32_t>(kinds.engine);
    made.key = static_cast<int32_t>(kinds.key);
    made.value = static_cast<int32_t>(kinds.value);
    made.durability = static_cast<int32_t>(kinds.durability);
  });
}

durahash_status durahash_get_info(const durahash_pool* pool, durahash_info* facts) {
  return with_info(pool, facts, [](handle& all, durahash_info& made) {
    const pool_info info = all.info();
    made.engine = static_cast<int32_t>(info.engine);
    made.key = static_cast<int32_t>(info.key);
    made.value = static_cast<int32_t>(info.value);
    made.durability = static_cast<int32_t>(info.durability);
    made.medium = static_cast<int32_t>(info.medium);
    made.format_version = info.format_version;
    made.records = info.records;
    made.slots = info.slots;
    made.load_factor = info.load_factor;
    made.file_bytes = info.file_bytes;
    made.live_bytes = info.live_bytes;
    made.free_bytes = info.free_bytes;
    made.clean = info.clean;
    made.checkpoint_under_way = info.checkpoint_under_way;
    made.may_lack_last_moments = info.may_lack_last_moments;
  });
}

durahash_status durahash_size(const durahash_pool* pool, uint64_t* records) {
  if (records == nullptr) return refuse("there is no place for the number: a null pointer");
  return on_usable(pool, [&](handle& all) { return *records = all.size(), status::ok; });
}

durahash_status durahash_reserve(durahash_pool* pool, uint64_t records) {
  return on_any(pool, [&](handle& all) { return all.reserve(records); });
}

durahash_status durahash_compact(durahash_pool* pool) {
  return on_any(pool, [](handle& all) { return all.compact(); });
}

durahash_status durahash_sync(durahash_pool* pool) {
  return on_any(pool, [](handle& all) { return all.sync(); });
}

durahash_status durahash_check(durahash_pool* pool, uint64_t* records, durahash_line_visitor visit,
                               void* context) {
  return on_usable(pool, [&](handle& all) {
    const check_report report = all.check();
    if (records != nullptr) *records = report.records;
    if (visit != nullptr)
      for (const std::string& violation : report.violations) visit(context, violation.c_str());
    return report.ok ? status::ok : status::damaged;
  });
}

durahash_status durahash_stats(const durahash_pool* pool, durahash_figure_visitor visit,
                               void* context) {
  if (visit == nullptr) return refuse("there is no visitor: a null pointer");
  return on_usable(pool, [&](handle& all) {
    const table_stats stats = all.stats();
    auto count = [&](const char* name, std::uint64_t figure) {
      visit(context, name, static_cast<double>(figure));
    };
    count("flushes", stats.media.flushes);
    count("fences", stats.media.fences);
    count("media_read_blocks", stats.media.media_read_blocks);
    count("media_write_blocks", stats.media.media_write_blocks);
    for (const auto& [name, figure] : stats.figures) visit(context, name.c_str(), figure);
    return status::ok;
  });
}

durahash_status durahash_salvage_report(const durahash_pool* pool, durahash_line_visitor visit,
                                        void* context) {
  if (visit == nullptr) return refuse("there is no visitor: a null pointer");
  return on_usable(pool, [&](handle& all) {
    for (const std::string& line : all.salvage_report()) visit(context, line.c_str());
    return status::ok;
  });
}

durahash_status durahash_backup(durahash_pool* pool, const char* path) {
  if (path == nullptr) return refuse("there is no path: a null pointer");
  return on_any(pool, [&](handle& all) { return all.backup(path); });
}

durahash_status durahash_position(const durahash_pool* pool, uint64_t* position) {
  if (position == nullptr) return refuse("there is no place for the position: a null pointer");
  return on_usable(pool, [&](handle& all) { return *position = all.position(), status::ok; });
}

durahash_status durahash_durable_position(const durahash_pool* pool, uint64_t* position) {
  if (position == nullptr) return refuse("there is no place for the position: a null pointer");
  return on_usable(pool,
                   [&](handle& all) { return *position = all.durable_position(), status::ok; });
}

durahash_status durahash_wait_durable(durahash_pool* pool, uint64_t position) {
  return on_any(pool, [&](handle& all) { return all.wait_durable(position); });
}

durahash_status durahash_when_durable(durahash_pool* pool, uint64_t position,
                                      durahash_durable_callback call, void* context) {
  if (call == nullptr) return refuse("there is no function to call: a null pointer");
  return on_any(pool, [&](handle& all) {
    return all.when_durable(
        position, [call, context](status s) { call(context, static_cast<durahash_status>(s)); });
  });
}

durahash_status durahash_defer(const durahash_pool* pool, durahash_deferral** begun) {
  if (begun == nullptr) return refuse("there is no place for the deferral: a null pointer");
  *begun = nullptr;
  return on_usable(pool, [&](handle& all) {
    *begun = new durahash_deferral(all);
    return status::ok;
  });
}

durahash_status durahash_end_defer(durahash_deferral* begun, uint64_t* position) {
  if (begun == nullptr) return refuse("there is no deferral: a null pointer");
  if (position != nullptr) *position = begun->wait.position();
  delete begun;
  return DURAHASH_OK;
}
