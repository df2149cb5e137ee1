// Who owns a pool beside the file's lock: the process whose device writes to it. A process that is
// killed loses its memory and its files one after the other, the lock among them, and the driver
// may end its kernels after that; whoever comes next must not begin before.
//
// The processor's own writers need no record: the lock goes when the last of the process's threads
// lets go of its files, and none runs in the pool by then.
#pragma once

#include <chrono>

#include "durahash/status.hpp"
#include "persist/format.hpp"

namespace durahash {

/// This process, as the owner of a pool that a device of its works on.
owner_record this_process(owner_side side);

/// Whether the owner may still have a device at work: its process is there and has open files, and
/// is not this one. (Who opens a pool in the process that owned it has closed it before, and waited
/// for its device.) A process that /proc does not show, as one of another pid namespace, counts as
/// gone.
bool is_at_large(const owner_record& owner);

/// Waits for the end of an owner that is at large: the time in which a driver ends the kernels of a
/// killed process.
/// Returns   ok, or locked when it is still there.
error outlast(const owner_record& owner, const std::string& path,
              std::chrono::milliseconds patience = std::chrono::seconds(10));

}  // namespace durahash
