// Removing a pool.
#pragma once

#include <string>

#include "durahash/status.hpp"

namespace durahash {

/// Removes a pool's file. Of a pool on a disk its log goes, too, and what a killed process has left
/// of it in memory (/dev/shm/durahash-*.ring), which nobody finds by the pool's name.
///
/// Returns   nothing (code ok), or what is wrong, and then nothing is removed: unusable where no
///           pool is there, or one with a damaged superblock; locked where a process has it open,
///           but for readers beside a writer, which keep what they map; invalid_argument of a link
///           or a device. io_error: a name cannot be removed, and the file is still there.
/// Durable   when it returns, as the pool was: where it was to survive a loss of power, that it is
///           gone does, too.
/// Threads   any, also beside openings: who opens the pool has it, or is refused.
/// Crash     at any point: the pool is there, or is gone. Between the two its file may stand
///           without its log: then it is refused, or whole where it was closed cleanly. It can be
///           removed again. A loss of power may leave the log alone, which a new pool replaces.
error remove_pool(const std::string& path);

}  // namespace durahash
