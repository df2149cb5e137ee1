// Bytes written: by this process, as the kernel accounts them, and by the whole disk.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <string>

namespace durahash::peers {

struct write_counts {
  /// write_bytes of /proc/self/io: pages when they become dirty, direct writes when they are made
  std::uint64_t process = 0;
  std::uint64_t disk = 0;  ///< sectors of 512 bytes of its stat, by whomever
};

class write_counter {
 public:
  explicit write_counter(const std::string& folder) : folder_(folder) {
    struct stat facts {};
    if (::stat(folder.c_str(), &facts) == 0)
      disk_ = "/sys/dev/block/" + std::to_string(major(facts.st_dev)) + ":" +
              std::to_string(minor(facts.st_dev)) + "/stat";
  }

  /// Until the page cache has nothing for the disk.
  void sync() const {
    int folder = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return;
    ::syncfs(folder);
    ::close(folder);
  }

  write_counts now() const {
    write_counts counts;
    std::ifstream io("/proc/self/io");
    std::string name;
    for (std::uint64_t figure = 0; io >> name >> figure;)
      if (name == "write_bytes:") counts.process = figure;
    std::ifstream stat(disk_);
    std::uint64_t figure = 0;
    for (int i = 0; i < 7 && stat >> figure; ++i) counts.disk = figure * 512;
    return counts;
  }

 private:
  std::string folder_, disk_;
};

}  // namespace durahash::peers
