// Who took the lock of a file. A child of fork() has its parent's locks until it comes to close
// them; of a parent that was killed meanwhile they are nobody's, and go in a moment.
#pragma once

#include <chrono>

namespace durahash {

/// Takes the lock (LOCK_SH or LOCK_EX) of an open file. Does not wait for a process that is there
/// and has it; waits for the children of those that are gone.
/// Returns   0, or the error: EWOULDBLOCK when somebody has it.
int lock_file(int descriptor, int kind,
              std::chrono::milliseconds patience = std::chrono::seconds(10)) noexcept;

}  // namespace durahash
