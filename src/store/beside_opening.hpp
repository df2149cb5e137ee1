// What open_pool works out of a pool that is read beside its writer, and hands to the engine's
// reader.
#pragma once

#include <memory>
#include <string>

#include "disk/followed_mapping.hpp"
#include "durahash/options.hpp"
#include "media/beside_mapping.hpp"
#include "persist/format.hpp"

namespace durahash {

struct beside_opening {
  std::string path;
  superblock block{};
  medium_kind medium = medium_kind::file;
  std::unique_ptr<beside_mapping> map;
  followed_mapping* followed = nullptr;  // map.get() of a pool on a disk
};

}  // namespace durahash
