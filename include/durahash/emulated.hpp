// The medium `emulated`, for programs that measure: it counts flushes, fences and 256-byte blocks,
// and adds latencies. It lies in a library of its own, `durahash::emulated`
// (find_package(durahash COMPONENTS emulated)): others need not carry each engine once more.
#pragma once

namespace durahash {

/// From now on pools of this program may have the medium `emulated`. Without this call they are
/// refused with a sentence.
/// Threads   before the first pool is opened; again does no harm.
void use_emulated_medium() noexcept;

}  // namespace durahash
