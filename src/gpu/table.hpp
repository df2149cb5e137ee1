// How gpu::table is made: on any device, so that the tests need none.
#pragma once

#include "durahash/gpu_table.hpp"
#include "gpu/device.hpp"

namespace durahash::gpu {

result<table> open_rows_on(std::unique_ptr<device> d, const std::string& path, options how,
                           const device_options& on);

}  // namespace durahash::gpu
