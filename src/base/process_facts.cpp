#include "base/process_facts.hpp"

#include <atomic>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <new>

#include "base/process_mark.hpp"

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

std::uint64_t start_ticks_of_this_process() noexcept {
  static std::atomic<const volatile unsigned char*> known_by{nullptr};
  static std::atomic<std::uint64_t> known{0};
  const auto* mark = known_by.load(std::memory_order_acquire);
  if (mark != nullptr && *mark != 0) return known.load(std::memory_order_relaxed);
  const auto facts = facts_of_this_process();
  if (!facts) return 0;
  try {
    mark = this_process_mark();
    known.store(facts->start_ticks, std::memory_order_relaxed);
    known_by.store(mark, std::memory_order_release);
  } catch (const std::bad_alloc&) {  // asked again the next time
  }
  return facts->start_ticks;
}

}  // namespace durahash
