// What a program that fills batches for a device needs beside a `gpu::map`, so that it can do
// without CUDA's own headers.
#pragma once

#include <cstddef>
#include <string>

#include "durahash/status.hpp"

namespace durahash::gpu {

/// What its maker calls the CUDA device of that number.
/// Returns   the name, or what stands in the way of using the device: as of gpu::map::open.
result<std::string> device_name(int number);

/// Pinned host memory for the arrays of batches: every CUDA device of this process reads and writes
/// it, over its bus, at the processor's own addresses. The device of that number pins it: no other
/// one gets a context by this. Null where there is none, or no device.
void* allocate_shared(std::size_t bytes, int number = 0);
void free_shared(void* memory, int number = 0);

/// Memory of the CUDA device of that number alone, for arrays of batches that stay there. Null
/// where there is none, or no device.
void* allocate_on(int number, std::size_t bytes);
void free_on(int number, void* memory);

/// From any memory to any; done when it returns. Cost: device and bus.
/// Returns   ok; io_error: the device failed.
status copy_on(int number, void* to, const void* from, std::size_t bytes);

}  // namespace durahash::gpu
