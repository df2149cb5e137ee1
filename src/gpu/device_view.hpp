// What a kernel needs to work on a table: a borrowed table and what its device keeps for it.
// Trivially copyable.
#pragma once

#include "gpu/batch.hpp"

namespace durahash::gpu {

struct device_view {
  leased_table table = leased_table::none();
  bucket_copies copies;
  std::uint32_t* turns = nullptr;  // of stripes, in the device's memory, as `total` is
  tallies* total = nullptr;
  bool writes_at_once = false;  // without a commit
};

}  // namespace durahash::gpu
