#include "base/process_facts.hpp"

#include <cinttypes>
#include <cstdio>
#include <cstring>

namespace durahash {

namespace {

std::optional<process_facts> facts_in(const char* path) noexcept {
  char line[1024];
  std::FILE* file = std::fopen(path, "re");
  if (file == nullptr) return std::nullopt;
  const std::size_t bytes = std::fread(line, 1, sizeof line - 1, file);
  std::fclose(file);
  line[bytes] = 0;
  // the second field is the program's name, which may hold anything
  const char* name_end = std::strrchr(line, ')');
  process_facts facts;
  // fields 3, 20 and 22
  if (name_end == nullptr ||
      std::sscanf(name_end + 1,
                  " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %" SCNd64
                  " %*s %" SCNu64,
                  &facts.state, &facts.threads, &facts.start_ticks) != 3)
    return std::nullopt;
  return facts;
}

}  // namespace

std::optional<process_facts> facts_of_process(std::uint64_t process) noexcept {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%" PRIu64 "/stat", process);
  return facts_in(path);
}

std::optional<process_facts> facts_of_this_process() noexcept {
  return facts_in("/proc/self/stat");
}

}  // namespace durahash
