#include "bench/instruction_counter.hpp"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace durahash::bench {

instruction_counter::instruction_counter() noexcept {
  perf_event_attr what{};
  what.type = PERF_TYPE_HARDWARE;
  what.size = sizeof what;
  what.config = PERF_COUNT_HW_INSTRUCTIONS;
  what.exclude_kernel = what.exclude_hv = 1;
  constexpr int this_thread = 0, any_processor = -1, no_group = -1;
  file_ = static_cast<int>(::syscall(SYS_perf_event_open, &what, this_thread, any_processor,
                                     no_group, PERF_FLAG_FD_CLOEXEC));
}

instruction_counter::~instruction_counter() {
  if (file_ >= 0) ::close(file_);
}

std::optional<std::uint64_t> instruction_counter::value() const noexcept {
  std::uint64_t seen = 0;
  if (file_ < 0 || ::read(file_, &seen, sizeof seen) != sizeof seen) return std::nullopt;
  return seen;
}

}  // namespace durahash::bench
