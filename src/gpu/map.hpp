// How gpu::map is made: on any device, so that the tests need none.
#pragma once

#include "gpu/device.hpp"

namespace durahash::gpu {

result<map> open_on(std::unique_ptr<device> d, const std::string& path, options how,
                    const device_options& on);

}  // namespace durahash::gpu
