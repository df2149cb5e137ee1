// Instructions that a thread executes, by the processor's counter.
#pragma once

#include <cstdint>
#include <optional>

namespace durahash::bench {

/// Counts instructions of the calling thread in user space, from its construction on. Where the
/// kernel or the processor gives no counter (most virtual machines and containers), there is none.
class instruction_counter {
 public:
  instruction_counter() noexcept;
  ~instruction_counter();
  instruction_counter(const instruction_counter&) = delete;
  instruction_counter& operator=(const instruction_counter&) = delete;

  std::optional<std::uint64_t> value() const noexcept;

 private:
  int file_ = -1;
};

}  // namespace durahash::bench
