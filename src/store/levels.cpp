#include "store/levels.hpp"

#include <linux/magic.h>
#include <sys/vfs.h>

#include <cerrno>

namespace durahash {

bool is_in_memory(const std::string& path) {
  struct statfs facts {};
  if (::statfs(path.c_str(), &facts) == 0) return facts.f_type == TMPFS_MAGIC;
  if (errno != ENOENT) return false;
  std::string folder = path.substr(0, path.find_last_of('/') + 1);
  return ::statfs(folder.empty() ? "." : folder.c_str(), &facts) == 0 &&
         facts.f_type == TMPFS_MAGIC;
}

}  // namespace durahash
