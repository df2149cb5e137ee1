// A pool's file in other processes: who has it open, and holds a lock of it. Locks belong to open
// files (media/file_lock.hpp), and /proc/PID/fdinfo shows those of each.
#include "durahash/processes.hpp"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <memory>
#include <optional>
#include <string_view>

#include "base/process_facts.hpp"
#include "media/file_lock.hpp"

namespace durahash {
namespace {

/// Calls visit(number) for each entry that is one; for none of a folder that may not be read.
template <class Visit>
void each_number_in(const std::string& folder, Visit&& visit) {
  const std::unique_ptr<DIR, int (*)(DIR*)> all(::opendir(folder.c_str()), ::closedir);
  if (!all) return;
  while (const dirent* entry = ::readdir(all.get())) {
    const std::string_view name = entry->d_name;
    std::int64_t number = 0;
    auto [end, bad] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (bad == std::errc() && end == name.data() + name.size()) visit(number);
  }
}

/// What an open file's locks make of its process: true, it writes; false, it reads.
std::optional<bool> writes_by(const std::string& file_facts) {
  std::ifstream lines(file_facts);
  std::optional<bool> writes;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("lock:")) continue;
    writes = writes.value_or(false) || line.find(" WRITE ") != std::string::npos;
  }
  return writes;
}

std::int64_t boot_unix_seconds() {
  std::ifstream lines("/proc/stat");
  constexpr std::string_view before = "btime ";
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(before)) return std::strtoll(line.c_str() + before.size(), nullptr, 10);
  return 0;
}

pool_process facts_of(std::int64_t id, bool writes, const std::string& folder) {
  pool_process made{.id = id, .writes = writes, .started_unix_seconds = 0, .command = {}};
  const std::int64_t boot = boot_unix_seconds();
  if (auto facts = facts_of_process(static_cast<std::uint64_t>(id)); facts && boot != 0)
    made.started_unix_seconds =
        boot + static_cast<std::int64_t>(facts->start_ticks) / ::sysconf(_SC_CLK_TCK);
  std::ifstream name(folder + "comm");
  std::getline(name, made.command, '\0');
  if (made.command.ends_with('\n')) made.command.pop_back();
  return made;
}

}  // namespace

result<std::vector<pool_process>> processes_with(const std::string& path) {
  struct stat pool {};
  if (::stat(path.c_str(), &pool) != 0) return system_error(status::unusable, "cannot stat", path);
  if (::access("/proc/self/fd", R_OK) != 0)
    return system_error(status::unusable, "cannot look at", "/proc/self/fd");
  std::vector<pool_process> found;
  each_number_in("/proc", [&](std::int64_t id) {
    if (id == ::getpid()) return;
    const std::string folder = "/proc/" + std::to_string(id) + "/";
    std::optional<bool> writes;
    each_number_in(folder + "fd", [&](std::int64_t descriptor) {
      const std::string file = std::to_string(descriptor);
      struct stat facts {};
      if (::stat((folder + "fd/" + file).c_str(), &facts) != 0) return;
      if (facts.st_dev != pool.st_dev || facts.st_ino != pool.st_ino) return;
      if (auto so = writes_by(folder + "fdinfo/" + file)) writes = writes.value_or(false) || *so;
    });
    if (writes) found.push_back(facts_of(id, *writes, folder));
  });
  std::sort(found.begin(), found.end(),
            [](const pool_process& a, const pool_process& b) { return a.id < b.id; });
  return found;
}

}  // namespace durahash
