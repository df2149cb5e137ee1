#include "store/open.hpp"

#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <thread>

#include "base/random.hpp"
#include "disk/followed_medium.hpp"
#include "media/beside_mapping.hpp"
#include "media/emulated_medium.hpp"
#include "media/file_lock.hpp"
#include "media/pmem_mapping.hpp"
#include "persist/owner.hpp"
#include "store/disk_table.hpp"
#include "store/levels.hpp"
#include "store/registry.hpp"

namespace durahash {
namespace {

/// 0 if there is something at the path, else the errno that says why it cannot be looked at.
int why_absent(const std::string& path) {
  struct stat facts {};
  return ::stat(path.c_str(), &facts) == 0 ? 0 : errno;
}

error refused(status code, const std::string& why) { return {code, why}; }

// ------------------------------------------------------------------------------- what is asked for

template <class Kind>
bool unknown(const std::optional<Kind>& kind) {
  return kind && name_of(*kind) == "unknown";
}

error refuse_nonsense(const opening& o) {
  const options& how = o.how;
  auto nonsense = [](const std::string& why) { return refused(status::invalid_argument, why); };
  if (o.path.find('\0') != std::string::npos)
    return nonsense("the path holds a NUL byte, which no file's name can");
  if (unknown(how.engine)) return nonsense("options.engine is no engine_kind");
  if (unknown(how.key) || unknown(how.value))
    return nonsense("options.key or options.value is no data_kind");
  if (unknown(how.durability)) return nonsense("options.durability is no durability_level");
  if (unknown(std::optional(how.medium))) return nonsense("options.medium is no medium_kind");
  if (how.mode > open_mode::read_beside) return nonsense("options.mode is no open_mode");
  if (how.salvage && how.mode >= open_mode::read_only)
    return nonsense("salvage repairs the pool: it cannot be opened read-only for that");
  return {status::ok, {}};
}

// all that a process has on x86-64
constexpr std::uint64_t max_address_space_bytes = std::uint64_t{1} << 47;
constexpr std::uint64_t usual_address_space_bytes = std::uint64_t{64} << 30;

/// What a table of that capacity takes, at least.
std::uint64_t bytes_for(std::uint64_t capacity) {
  constexpr std::uint64_t bytes_per_record = 16;
  return capacity > max_address_space_bytes / bytes_per_record ? max_address_space_bytes
                                                               : capacity * bytes_per_record;
}

/// Bytes that the folder's file system has room for; all there can be where that is not known.
std::uint64_t room_beside(const std::string& path) {
  std::string folder = path.substr(0, path.find_last_of('/') + 1);
  struct statfs facts {};
  if (::statfs(folder.empty() ? "." : folder.c_str(), &facts) != 0) return max_address_space_bytes;
  return static_cast<std::uint64_t>(facts.f_bavail) * static_cast<std::uint64_t>(facts.f_bsize);
}

/// Before anything is written.
error refuse_capacity(const opening& o) {
  const options& how = o.how;
  std::uint64_t needed = bytes_for(how.capacity), most = max_address_space_bytes;
  std::string where = "a process can map";
  auto consider = [&](std::uint64_t limit, const std::string& what) {
    if (limit < most) most = limit, where = what;
  };
  if (how.max_bytes != 0) consider(how.max_bytes, "options.max_bytes allows");
  if (how.address_space_bytes != 0)
    consider(how.address_space_bytes, "options.address_space_bytes allows");
  if (o.mapped == medium_kind::memory)
    consider(static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                 static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)),
             "the machine has of memory");
  else consider(room_beside(o.path), "the file system has room for");
  if (needed <= most) return {status::ok, {}};
  return refused(how.max_bytes != 0 || how.address_space_bytes != 0 ? status::invalid_argument
                                                                    : status::no_space,
                 "a capacity of " + std::to_string(how.capacity) + " records needs " +
                     std::to_string(needed) + " bytes at least, and " + where + " " +
                     std::to_string(most));
}

/// The addresses that the pool may grow into.
std::uint64_t address_space_for(const opening& o) {
  if (o.how.address_space_bytes != 0)
    return std::min(o.how.address_space_bytes, max_address_space_bytes);
  struct stat facts {};
  std::uint64_t file = o.mapped != medium_kind::memory && ::stat(o.path.c_str(), &facts) == 0
                           ? static_cast<std::uint64_t>(facts.st_size)
                           : 0;
  return std::min(std::max({usual_address_space_bytes, 8 * file, 8 * bytes_for(o.how.capacity)}),
                  max_address_space_bytes / 2);
}

error settle_medium(opening& o) {
  options& how = o.how;
  if (how.medium == medium_kind::automatic) {
    if (o.path.empty())
      return refused(status::invalid_argument, "no path: give a file, or the medium memory");
    if (how.durability == durability_level::power)
      how.medium = is_persistent_memory(o.path) ? medium_kind::pmem : medium_kind::disk;
    else
      how.medium = how.durability == durability_level::power_buffered ? medium_kind::disk
                                                                      : medium_kind::file;
  }
  switch (how.medium) {
    case medium_kind::memory: o.mapped = medium_kind::memory; break;
    case medium_kind::emulated:
      o.mapped = o.path.empty() ? medium_kind::memory : medium_kind::file;
      break;
    case medium_kind::pmem:
    case medium_kind::disk: o.mapped = how.medium; break;
    default: o.mapped = medium_kind::file;
  }
  if (o.path.empty() && o.mapped != medium_kind::memory)
    return refused(status::invalid_argument,
                   "no path: the medium " + std::string(name_of(how.medium)) + " needs a file");
  auto cannot_promise = [&](const std::string& why) {
    return refused(status::unusable, "cannot promise durability " +
                                         std::string(name_of(*how.durability)) + " for " +
                                         (o.path.empty() ? "memory" : o.path) + ": " + why);
  };
  bool asks_for_power = how.durability == durability_level::power ||
                        how.durability == durability_level::power_buffered;
  if (how.medium == medium_kind::file && asks_for_power)
    return cannot_promise("the page cache is not persistent memory; the medium disk is for that");
  if (how.medium != medium_kind::disk && how.durability == durability_level::power_buffered)
    return cannot_promise("it is a level of the medium disk");
  if (how.medium == medium_kind::disk && how.durability && !asks_for_power)
    return refused(status::invalid_argument,
                   "the medium disk has the levels power and power_buffered; for others the medium "
                   "is file");
  return {status::ok, {}};
}

/// What is asked of tmpfs is gone with the machine.
error refuse_memory_as_disk(const opening& o) {
  bool asks_for_disk = o.mapped == medium_kind::disk && o.how.mode != open_mode::read_only;
  if (!asks_for_disk || !is_in_memory(o.path)) return {status::ok, {}};
  return refused(status::unusable, "cannot promise that " + o.path +
                                       " survives a loss of power: its file system is memory "
                                       "(tmpfs); durability process survives kill -9 there");
}

error settle_mode(opening& o) {
  const int absent = o.mapped == medium_kind::memory ? ENOENT : why_absent(o.path);
  const bool there = absent == 0;
  const bool opens = o.how.mode >= open_mode::open_existing;
  // A name that is too long, a folder that may not be entered: nobody knows what is there.
  if (!there && absent != ENOENT)
    return refused(status::unusable, std::string(opens ? "cannot open " : "cannot create ") +
                                         o.path + ": " + std::strerror(absent));
  switch (o.how.mode) {
    case open_mode::create_new:
      if (there) return refused(status::exists, "cannot create " + o.path + ": it exists");
      break;
    case open_mode::open_existing:
    case open_mode::read_only:
    case open_mode::read_beside:
      if (!there)
        return refused(status::unusable, "cannot open " + o.path + ": there is no such file");
      break;
    case open_mode::create_or_open: break;
  }
  o.creating = !there;
  return {status::ok, {}};
}

error map_it(opening& o) {
  mapping_request request{.path = o.path,
                          .medium = o.mapped,
                          .create = o.creating,
                          .read_only = o.how.mode == open_mode::read_only,
                          .address_space_bytes = address_space_for(o),
                          .max_bytes = o.how.max_bytes};
  if (o.mapped == medium_kind::disk) {
    if (error e = refuse_memory_as_disk(o); e.code != status::ok) return e;
    auto image = disk_mapping::open(request);
    if (!image) return image.failure();
    o.image = image->get();
    o.map = std::move(*image);
    return {status::ok, {}};
  }
  auto map = mapping::open(request);
  if (!map) return map.failure();
  o.map = std::move(*map);
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

// ---------------------------------------------------------------------------------------- creation

error not_in_this_build(engine_kind engine, const std::string& path) {
  return refused(status::unusable, "cannot open " + path + ": the engine " +
                                       std::string(name_of(engine)) + " is not in this build");
}

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
  fill_random(&b.seed_flip, sizeof b.seed_flip);
  fill_random(&b.seed_multiply, sizeof b.seed_multiply);
  b.seed_multiply |= 1;
  fill_random(b.uuid.data(), b.uuid.size());
  b.created_unix_seconds = static_cast<std::uint64_t>(std::time(nullptr));
  return {status::ok, {}};
}

// -------------------------------------------------------------------------------- an existing pool

template <class Kind>
std::string contradiction(const char* what, const std::optional<Kind>& asked, Kind has) {
  if (!asked || *asked == has) return {};
  return std::string(what) + " is " + std::string(name_of(has)) + ", not " +
         std::string(name_of(*asked));
}

error refuse_contradictions(const opening& o, const superblock& block) {
  for (const std::string& why :
       {contradiction("its engine", o.how.engine, block.engine),
        contradiction("its key kind", o.how.key, block.key),
        contradiction("its value kind", o.how.value, block.value),
        contradiction("its durability", o.how.durability, block.durability)})
    if (!why.empty())
      return refused(status::unusable, "cannot open " + o.path + " as asked: " + why);
  return {status::ok, {}};
}

error read_pool(opening& o) {
  auto block =
      read_superblock(o.map->base(), o.map->file_bytes_at_open(), o.map->read_only(), o.path);
  if (!block) return block.failure();
  o.block = *block;
  return refuse_contradictions(o, o.block);
}

error read_root_of(opening& o) {
  // refuse_cut_off looks at it, once it is known why the file may be short
  constexpr std::uint64_t any_length = ~std::uint64_t{0};
  auto root = read_root(o.map->base(), any_length, o.block, o.path);
  if (!root) return root.failure();
  o.root = *root;
  return {status::ok, {}};
}

/// A boot that is not known may have been another one.
bool perhaps_torn(const opening& o) {
  bool interrupted = o.root.state == pool_state::changing && !is_this_boot(o.root.boot_id);
  return interrupted && o.mapped == medium_kind::file && !is_in_memory(o.path);
}

error refuse_torn(const opening& o) {
  if (o.how.salvage || !perhaps_torn(o)) return {status::ok, {}};
  const bool is_known = this_boot() != std::array<std::uint8_t, 16>{};
  return refused(status::unusable,
                 "cannot use " + o.path + " as a pool: " +
                     (is_known ? "the machine went down while it was open and not synced"
                               : "it was open and not synced, and without /proc nothing here tells "
                                 "that the machine has not gone down since") +
                     ", and a plain file may be torn by that; `durahash check --salvage " + o.path +
                     "` verifies everything and keeps what is whole");
}

/// A copy that was made while the pool was written has pages of many moments; one that was made
/// later looks the same. A file that is not known is not known to be the one that was written to.
error refuse_copy(const opening& o) {
  std::uint32_t written_to = o.root.file_mark;
  std::optional<std::uint32_t> here = o.map->file_mark();
  bool is_known = written_to != 0 && here != 0;
  bool perhaps = o.root.state == pool_state::changing && here && !(is_known && here == written_to);
  if (o.how.salvage || !perhaps) return {status::ok, {}};
  return refused(status::unusable,
                 "cannot use " + o.path +
                     " as a pool: " + (is_known ? "it is" : "nothing here tells that it is not") +
                     " a copy of a pool that was open and not synced, and may hold pages of "
                     "several moments; "
                     "copy the pool when it is closed, or let `durahash check --salvage " +
                     o.path + "` verify everything and keep what is whole");
}

/// What is written over the file's bytes does not change what is noted beside them. Before an older
/// root is built on, it is noted.
error refuse_older_root(const opening& o) {
  std::optional<std::uint64_t> noted = o.map->noted_root();
  if (!noted || *noted <= o.root.sequence) return {status::ok, {}};
  std::string why =
      *noted == unreadable_note
          ? std::string("whether an older copy was written over it cannot be told (") +
                std::strerror(errno) + ")"
          : "an older copy of it, made while it was open, was written over it";
  if (!o.how.salvage && o.root.state == pool_state::changing)
    return refused(status::unusable,
                   "cannot use " + o.path + " as a pool: " + why +
                       ", and it may hold pages of several moments; `durahash check --salvage " +
                       o.path + "` verifies everything and keeps what is whole");
  if (o.map->read_only() || o.map->note_root(o.root.sequence)) return {status::ok, {}};
  return system_error(status::unusable, "cannot note which root it has at", o.path);
}

/// A file that a power cut tore may lack its end, too: the page of the root was written back, and
/// the file's new length was not.
error refuse_cut_off(opening& o) {
  std::uint64_t bytes = o.map->backed_bytes();
  if (o.root.pool_bytes <= bytes) return {status::ok, {}};
  if (o.how.salvage && o.root.state == pool_state::changing) {
    if (status s = o.map->grow(o.root.pool_bytes); s != status::ok)
      return refused(s, "cannot salvage " + o.path +
                            ": no room for the end that the power cut took, " +
                            std::to_string(o.root.pool_bytes - bytes) + " bytes");
    return {status::ok, {}};
  }
  return refused(status::unusable, "cannot use " + o.path + " as a pool: the file has " +
                                       std::to_string(o.map->file_bytes_at_open()) +
                                       " bytes, and the pool needs " +
                                       std::to_string(o.root.pool_bytes) + ": it was cut off");
}

/// The root of a torn file may be older than what lies behind the end that it names. Salvage looks
/// at all of the file; what nothing reaches there is free.
void believe_file(opening& o) {
  if (o.how.salvage && o.mapped == medium_kind::file && o.root.state == pool_state::changing)
    o.root.pool_bytes = std::max(o.root.pool_bytes, o.map->backed_bytes());
}

/// Readers wait, too: what they would read is being written.
error await_owner(const opening& o) {
  auto owner = read_owner(o.map->base());
  return owner ? outlast(*owner, o.path) : error{status::ok, {}};
}

/// Where a pool lives is the pool's to say: one with a log on a disk, another one of the level
/// power on persistent memory.
error settle_mapping(opening& o, medium_kind asked) {
  bool logs = (o.block.incompat & has_log) != 0;
  medium_kind home = logs                                            ? medium_kind::disk
                     : o.block.durability == durability_level::power ? medium_kind::pmem
                                                                     : medium_kind::file;
  if (o.mapped == home) return {status::ok, {}};
  if (asked != medium_kind::automatic && (logs || asked == medium_kind::disk))
    return refused(status::unusable, "cannot open " + o.path + " as asked: its medium is " +
                                         std::string(name_of(home)) + ", not " +
                                         std::string(name_of(asked)));
  if (asked != medium_kind::automatic) return {status::ok, {}};
  o.map.reset();
  o.image = nullptr;
  o.how.medium = o.mapped = home;
  return map_it(o);
}

// ---------------------------------------------------------------------------------------- choosing

/// A new pool's log comes when the pool has its name.
result<opened> on_disk(const engine_entry& entry, opening o) {
  disk_mapping& image = *o.image;
  opening facts;
  facts.path = o.path, facts.how = o.how, facts.block = o.block;
  const bool creating = o.creating, salvage = o.how.salvage && !creating;
  if (!creating)
    if (error e = image.begin(log_request(o), salvage); e.code != status::ok) return e;
  auto made = entry.on_disk(std::move(o), std::make_unique<disk_medium>(image));
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

// -------------------------------------------------------------------- beside a writer's process

error refuse_unread_beside(const beside_opening& o) {
  auto refused_beside = [&](const std::string& why) {
    return refused(status::unusable, "cannot read " + o.path + " beside its writer: " + why);
  };
  const auto noted = noted_root_of(o.map->descriptor());  // first: what is noted is never newer
  auto root = read_root(o.map->base(), ~std::uint64_t{0}, o.block, o.path);
  constexpr int tries = 100;  // it may be changing
  for (int n = 1; !root && n < tries; ++n) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    root = read_root(o.map->base(), ~std::uint64_t{0}, o.block, o.path);
  }
  if (!root) return root.failure();
  if (!o.map->holds(0, root->pool_bytes))
    return refused(status::unusable, "cannot use " + o.path + " as a pool: the file was cut off");
  if (o.map->writer_is_there() || root->state == pool_state::clean) return {status::ok, {}};
  if (o.medium == medium_kind::file && !is_this_boot(root->boot_id) && !is_in_memory(o.path))
    return refused_beside(
        "the machine went down while it was open, and a plain file may be torn "
        "by that; `durahash check --salvage` keeps what is whole");
  const auto here = file_mark_of(o.map->descriptor());
  if (here && (*here == 0 || root->file_mark != *here))
    return refused_beside("it may be a copy of a pool that was open and not synced");
  if (noted && *noted > root->sequence)
    return refused_beside(
        "an older copy of it, made while it was open, was written over it, or the system does not "
        "tell; `durahash check --salvage` keeps what is whole");
  return {status::ok, {}};
}

/// What its first pages have to say while a pool's log is followed: what they said when it was
/// opened, but for the level. Returns whether it is power.
result<bool> still_has_a_log(const std::byte* header, const superblock& opened,
                             const std::string& path) {
  auto now = read_superblock(header, ~std::uint64_t{0}, true, path);
  if (!now) return now.failure();
  if (now->uuid != opened.uuid || (now->incompat & has_log) == 0)
    return refused(status::unusable, "it has been converted, or replaced: open it anew");
  return now->durability == durability_level::power;
}

/// A pool on a disk, by an image that follows its log.
error follow(beside_opening& o) {
  auto image =
      followed_mapping::open(o.path, [block = o.block, path = o.path](const std::byte* header) {
        return still_has_a_log(header, block, path);
      });
  if (!image) return image.failure();
  if ((*image)->bytes() < o.block.heap_offset)
    return refused(status::unusable, "cannot use " + o.path + " as a pool: the file was cut off");
  o.followed = image->get();
  o.map = std::move(*image);
  o.medium = medium_kind::disk;
  followed_medium medium(*o.followed);
  std::optional<root_record> root;
  const status s = o.followed->look_at_one_moment([&] {
    medium.will_read(o.map->base(), engine_area_offset);
    auto read = read_root(o.map->base(), ~std::uint64_t{0}, o.block, o.path);
    if (!read) return looked::suspect;
    root = *read;
    return looked::hit;
  });
  if (s == status::unusable) return o.followed->refusal();
  if (s != status::ok) {
    const error why = o.followed->refusal();
    return refused(s, s == status::busy && !why.message.empty()
                          ? why.message
                          : "cannot read " + o.path + ": " + std::string(message(s)));
  }
  if (!o.map->holds(0, root->pool_bytes))
    return refused(status::unusable, "cannot use " + o.path + " as a pool: the file was cut off");
  const auto here = file_mark_of(o.map->descriptor());
  const bool is_known = here && *here != 0 && root->file_mark == *here;
  if (root->state == pool_state::clean || !here || is_known || o.map->writer_is_there())
    return {status::ok, {}};
  return refused(status::unusable, "cannot read " + o.path +
                                       " beside its writer: it may be a copy of a pool that was "
                                       "open and not synced");
}

/// Neither waits for who has the pool, nor keeps it from anybody.
result<opened> open_beside(opening o) {
  if (o.how.medium == medium_kind::memory)
    return refused(status::invalid_argument, "a pool in memory is of one process");
  beside_opening made;
  made.path = o.path;
  auto map = beside_mapping::open(o.path);
  if (!map) return map.failure();
  made.map = std::move(*map);
  auto block = read_superblock(made.map->base(), made.map->bytes(), true, o.path);
  if (!block) return block.failure();
  if (error e = refuse_contradictions(o, *block); e.code != status::ok) return e;
  made.block = *block;
  made.medium =
      block->durability == durability_level::power ? medium_kind::pmem : medium_kind::file;
  const bool logs = (block->incompat & has_log) != 0;
  if (error e = logs ? follow(made) : refuse_unread_beside(made); e.code != status::ok) return e;
  if (auto owner = read_owner(made.map->base()))
    if (error e = outlast(*owner, o.path); e.code != status::ok) return e;
  const engine_entry* entry = find_engine(block->engine);
  if (entry == nullptr) return not_in_this_build(block->engine, o.path);
  if (entry->beside == nullptr)
    return refused(status::unusable, "cannot read " + o.path + " beside its writer: the engine " +
                                         std::string(name_of(block->engine)) +
                                         " has no reader for that");
  return entry->beside(std::move(made));
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
