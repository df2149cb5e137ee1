// The pool's file goes last: what else there is of it is found by it.
#include "durahash/remove.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "disk/disk_file.hpp"
#include "disk/log_ring.hpp"
#include "media/file_lock.hpp"
#include "persist/format.hpp"
#include "store/levels.hpp"

namespace durahash {

error remove_pool(const std::string& path) {
  mapping_request request;
  request.path = path;
  auto file = locked_file::open(request);
  if (!file) return file.failure();
  auto system_says = [&] { return system_error(status::io_error, "cannot remove", path); };
  disk_file disk = disk_file::of(file->descriptor());
  page_buffer header(engine_area_offset);
  if (!disk.is_open() || !disk.read(0, header.at(), header.bytes())) return system_says();
  auto block = read_superblock(header.at(), file->bytes(), false, path);
  if (!block) return block.failure();

  struct stat facts {};
  struct stat named {};
  if (::fstat(file->descriptor(), &facts) != 0 || ::lstat(path.c_str(), &named) != 0)
    return system_says();
  if (!S_ISREG(named.st_mode) || named.st_ino != facts.st_ino)
    return {status::invalid_argument,
            "cannot remove " + path + ": it is a link or a device; name the pool's own file"};
  if (::unlink((path + "-log").c_str()) != 0 && errno != ENOENT) return system_says();
  log_ring::remove_all(facts);
  if (::unlink(path.c_str()) != 0) return system_says();
  if (survives_power(block->durability) && !name_to_disk(file->descriptor(), path))
    return system_says();
  return {status::ok, {}};
}

}  // namespace durahash
