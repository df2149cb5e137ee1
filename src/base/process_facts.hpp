// What the system says of another process.
#pragma once

#include <cstdint>
#include <optional>

namespace durahash {

struct process_facts {
  char state = 0;
  std::int64_t threads = 0;
  std::uint64_t start_ticks = 0;

  /// A zombie has closed its files, if its first thread is the last one: others may outlive that.
  bool has_closed_its_files() const noexcept {
    return (state == 'Z' || state == 'X') && threads <= 1;
  }
};

/// Nothing if there is no such process, as far as this one can see (/proc).
std::optional<process_facts> facts_of_process(std::uint64_t process) noexcept;
std::optional<process_facts> facts_of_this_process() noexcept;

/// Of that what never changes; 0 where /proc does not tell. Asked of the system once in a process,
/// and once in each of its children.
std::uint64_t start_ticks_of_this_process() noexcept;

}  // namespace durahash
