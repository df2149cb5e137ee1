// Zeros that other processes may look at: memory with a descriptor (memfd_create), which they open
// through /proc/PID/fd. Gone with the last process that has it.
#pragma once

#include <cstddef>

namespace durahash {

struct shared_zeroes {
  void* at = nullptr;   // null: the system gives none
  int descriptor = -1;  // both are the caller's to give back

  /// Takes no descriptor of the last quarter of those that the process may have.
  static shared_zeroes of(std::size_t bytes) noexcept;
};

}  // namespace durahash
