#include "store/asked.hpp"

#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "media/pmem_mapping.hpp"
#include "store/levels.hpp"

namespace durahash {
namespace {

/// 0 if there is something at the path, else the errno that says why it cannot be looked at.
int why_absent(const std::string& path) {
  struct stat facts {};
  return ::stat(path.c_str(), &facts) == 0 ? 0 : errno;
}

template <class Kind>
bool unknown(const std::optional<Kind>& kind) {
  return kind && name_of(*kind) == "unknown";
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

/// What is asked of tmpfs is gone with the machine.
error refuse_memory_as_disk(const opening& o) {
  bool asks_for_disk = o.mapped == medium_kind::disk && o.how.mode != open_mode::read_only;
  if (!asks_for_disk || !is_in_memory(o.path)) return {status::ok, {}};
  return refused(status::unusable, "cannot promise that " + o.path +
                                       " survives a loss of power: its file system is memory "
                                       "(tmpfs); durability process survives kill -9 there");
}

}  // namespace

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

}  // namespace durahash
