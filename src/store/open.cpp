#include "store/open.hpp"

#include <unistd.h>

#include <algorithm>
#include <ctime>

#include "base/random.hpp"
#include "media/emulated_medium.hpp"
#include "store/asked.hpp"
#include "store/disk_table.hpp"
#include "store/existing_pool.hpp"
#include "store/open_beside.hpp"
#include "store/registry.hpp"

namespace durahash {
namespace {

error plan_superblock(opening& o) {
  const options& how = o.how;
  engine_kind engine = how.engine.value_or(engine_kind::turbo);
  const engine_entry* entry = find_engine(engine);
  if (entry == nullptr) return not_in_this_build(engine, o.path);
  auto plan = entry->plan(how);
  if (!plan) return plan.failure();
  bool flushing = how.medium == medium_kind::pmem || how.medium == medium_kind::emulated ||
                  how.medium == medium_kind::disk;
  o.block = new_superblock(
      engine, how.key.value_or(data_kind::bytes), how.value.value_or(data_kind::bytes),
      how.durability.value_or(flushing ? durability_level::power : durability_level::process),
      plan->settings, plan->engine_bytes);
  superblock& b = o.block;
  b.incompat |= plan->incompat;
  if (o.mapped == medium_kind::disk) b.incompat |= has_log;
  if (b.key != data_kind::u64 || b.value != data_kind::u64) b.incompat |= has_short_records;
  b.seed_flip = random_word(), b.seed_multiply = random_word() | 1;
  fill_random(b.uuid.data(), b.uuid.size());
  b.created_unix_seconds = static_cast<std::uint64_t>(std::time(nullptr));
  return {status::ok, {}};
}

disk_request log_request(const opening& o) {
  disk_request how;
  how.waits = o.block.durability == durability_level::power;
  how.delay = std::chrono::milliseconds(std::max<std::uint32_t>(o.how.lag_milliseconds, 1));
  how.log_bytes = o.how.log_bytes;
  return how;
}

/// The log of a pool on a disk, onto its image.
error replay_log(disk_mapping& image, const opening& o) {
  return image.recover(log_request(o), o.how.salvage);
}

/// A new pool's log comes when the pool has its name.
result<opened> on_disk(const engine_entry& entry, opening o) {
  disk_mapping& image = *o.image;
  opening facts;
  facts.path = o.path, facts.how = o.how, facts.block = o.block;
  const bool creating = o.creating, salvage = o.how.salvage && !creating;
  if (!creating)
    if (error e = image.begin(log_request(o), salvage); e.code != status::ok) return e;
  auto made = entry.on_pmem(std::move(o), std::make_unique<pmem_medium>(image));
  if (!made) return made;
  if (creating)
    if (error e = image.begin(log_request(facts), false); e.code != status::ok) {
      ::unlink(facts.path.c_str());
      image.remove_new_log();
      return refused(e.code, "cannot create " + facts.path + ": " + e.message);
    }
  if (salvage)
    if (error e = image.end_salvage(); e.code != status::ok) return e;
  if (made->words) made->words = std::make_unique<disk_words>(std::move(made->words), image);
  else made->bytes = std::make_unique<disk_bytes>(std::move(made->bytes), image);
  return made;
}

result<opened> finish(opening o) {
  const engine_entry* entry = find_engine(o.block.engine);
  if (entry == nullptr) return not_in_this_build(o.block.engine, o.path);
  persistence_domain domain = o.map->domain();
  bool flushes = o.block.durability == durability_level::power && !o.map->read_only();
  if (o.how.medium == medium_kind::emulated && !o.map->read_only()) {
    if (entry->on_emulated == nullptr)
      return refused(status::unusable,
                     "cannot open a pool on the medium emulated: this program does without it "
                     "(durahash/emulated.hpp)");
    emulated_medium::latency latency{o.how.flush_latency_ns, o.how.block_latency_ns,
                                     o.how.read_latency_ns};
    return entry->on_emulated(std::move(o), std::make_unique<emulated_medium>(latency));
  }
  if (o.mapped == medium_kind::disk && !o.map->read_only()) return on_disk(*entry, std::move(o));
  if (flushes) return entry->on_pmem(std::move(o), std::make_unique<pmem_medium>(domain));
  return entry->on_process(std::move(o), std::make_unique<process_medium>());
}

}  // namespace

result<opening> open_to_look(const std::string& path) {
  opening o;
  o.path = path;
  o.how.mode = open_mode::read_only;
  o.how.medium = medium_kind::file;
  if (error e = refuse_nonsense(o); e.code != status::ok) return e;
  if (error e = settle_medium(o); e.code != status::ok) return e;
  if (error e = settle_mode(o); e.code != status::ok) return e;
  if (error e = map_it(o); e.code != status::ok) return e;
  if (o.map->file_bytes_at_open() < engine_area_offset || !begins_as_a_pool(o.map->base()))
    return read_superblock(o.map->base(), o.map->file_bytes_at_open(), true, path).failure();
  if (error e = await_owner(o); e.code != status::ok) return e;
  // The log comes onto what is looked at, where it can; else the file is shown as it is.
  auto block = read_superblock(o.map->base(), o.map->file_bytes_at_open(), true, path);
  if (block && (block->incompat & has_log) != 0) {
    o.block = *block;
    if (error e = settle_mapping(o, medium_kind::automatic); e.code != status::ok) return e;
    [[maybe_unused]] error without = replay_log(*o.image, o);
  }
  return o;
}

result<std::unique_ptr<inspected_table>> look_at_table(opening& o) {
  if (error e = read_pool(o); e.code != status::ok) return e;
  if (error e = read_root_of(o); e.code != status::ok) return e;
  if (error e = refuse_cut_off(o); e.code != status::ok) return e;
  const engine_entry* entry = find_engine(o.block.engine);
  if (entry == nullptr) return not_in_this_build(o.block.engine, o.path);
  return entry->look(std::move(o), std::make_unique<process_medium>());
}

result<opened> open_pool(const std::string& path, options how) {
  medium_kind asked = how.medium;
  opening o;
  o.path = path;
  o.how = std::move(how);
  if (error e = refuse_nonsense(o); e.code != status::ok) return e;
  if (error e = settle_medium(o); e.code != status::ok) return e;
  if (error e = settle_mode(o); e.code != status::ok) return e;
  if (o.how.mode == open_mode::read_beside) return open_beside(std::move(o));
  if (o.creating) {
    if (error e = refuse_capacity(o); e.code != status::ok) return e;
    if (error e = plan_superblock(o); e.code != status::ok) return e;
    if (error e = map_it(o); e.code != status::ok) return e;
    return finish(std::move(o));
  }
  if (error e = map_it(o); e.code != status::ok) return e;
  if (error e = read_pool(o); e.code != status::ok) return e;
  if (error e = settle_mapping(o, asked); e.code != status::ok) return e;
  if (o.image != nullptr)
    if (error e = replay_log(*o.image, o); e.code != status::ok) return e;
  if (error e = read_root_of(o); e.code != status::ok) return e;
  if (error e = refuse_torn(o); e.code != status::ok) return e;
  if (error e = refuse_copy(o); e.code != status::ok) return e;
  if (error e = refuse_older_root(o); e.code != status::ok) return e;
  if (error e = refuse_cut_off(o); e.code != status::ok) return e;
  believe_file(o);
  if (error e = await_owner(o); e.code != status::ok) return e;
  return finish(std::move(o));
}

}  // namespace durahash
