// What tests of gpu::table share: one on a device of host threads.
#pragma once

#include <stdexcept>

#include "gpu/table.hpp"
#include "test/gpu/lockstep_device.hpp"
#include "test/store/scratch.hpp"

namespace durahash::test {

inline gpu::table open_rows_in_lockstep(const std::string& path, gpu::table_place place,
                                        bool lazy = false,
                                        std::size_t max_own_bytes = ~std::size_t{0}) {
  auto device = std::make_unique<lockstep_device>();
  device->lazy = lazy;
  device->max_own_bytes = max_own_bytes;
  auto made = gpu::open_rows_on(std::move(device), path, {}, {.place = place});
  if (!made) throw std::runtime_error(made.failure().message);
  return std::move(*made);
}

}  // namespace durahash::test
