// A pool's level is in its superblock, of which there are two copies: the second is written first,
// so that one of them is whole at any moment, and says the old level or the new one. The records of
// the log are cleared before that, and a log is removed behind it: a clean pool needs neither.
#include "durahash/convert.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "disk/disk_file.hpp"
#include "disk/log_format.hpp"
#include "media/file_lock.hpp"
#include "persist/format.hpp"
#include "store/levels.hpp"

namespace durahash {
namespace {

/// Whether the pool's file is not whole by itself, or nothing says that it is.
bool needs_its_log(const std::byte* header) {
  auto [newest, ever_written] = find_record(header + log_record_offset);
  return ever_written && newest.state != log_state::idle;
}

}  // namespace

error convert(const std::string& path, durability_level to) {
  auto refused = [&](status code, const std::string& why) {
    return error{code, "cannot convert " + path + ": " + why};
  };
  auto system_says = [&] { return refused(status::io_error, std::strerror(errno)); };
  if (name_of(to) == "unknown") return refused(status::invalid_argument, "there is no such level");
  mapping_request request;
  request.path = path;
  auto file = locked_file::open(request);
  if (!file) return file.failure();
  disk_file disk = disk_file::of(file->descriptor());
  page_buffer header(engine_area_offset);
  if (!disk.is_open() || !disk.read(0, header.at(), header.bytes())) return system_says();
  auto block = read_superblock(header.at(), file->bytes(), false, path);
  if (!block) return block.failure();
  auto root = read_root(header.at(), ~std::uint64_t{0}, *block, path);
  if (!root) return root.failure();
  bool logs = (block->incompat & has_log) != 0;
  if (root->state != pool_state::clean || (logs && needs_its_log(header.at())))
    return refused(status::unusable, "it was not closed cleanly; `durahash compact " + path +
                                         "` recovers it, and closes it");
  if (!logs && block->durability == durability_level::power)
    return refused(status::unusable, "it lives on persistent memory, which is its own log");
  if (survives_power(to) && is_in_memory(path))
    return refused(status::unusable,
                   "its file system is memory (tmpfs), and survives no loss of "
                   "power");
  if (block->durability == to) return {status::ok, {}};

  superblock changed = *block;
  changed.durability = to;
  changed.incompat = survives_power(to) ? changed.incompat | has_log : changed.incompat & ~has_log;
  changed = sealed(changed);
  auto write_page = [&](std::uint64_t offset) {
    return disk.write_through(offset, header.at(offset), page_bytes);
  };
  if (!survives_power(to)) {
    std::memset(header.at(log_record_offset), 0, page_bytes);
    if (!write_page(log_record_offset)) return system_says();
  }
  for (std::uint64_t offset : {superblock_offsets[1], superblock_offsets[0]}) {
    std::memcpy(header.at(offset), &changed, sizeof changed);
    if (!write_page(offset)) return system_says();
  }
  std::string log = path + "-log";
  if (logs && !survives_power(to) && ::unlink(log.c_str()) != 0 && errno != ENOENT)
    return system_says();
  return {status::ok, {}};
}

}  // namespace durahash
