// What open_pool works out on its way, and hands to the engine that the pool names.
#pragma once

#include <memory>
#include <string>

#include "disk/disk_mapping.hpp"
#include "durahash/options.hpp"
#include "durahash/status.hpp"
#include "media/mapping.hpp"
#include "persist/format.hpp"

namespace durahash {

struct opening {
  std::string path;
  options how;
  bool creating = false;
  bool appears = true;  // a new pool gets its name as soon as it is one; else its caller gives it
  medium_kind mapped = medium_kind::file;  // where the bytes are
  superblock block{};
  root_record root{};
  std::unique_ptr<mapping> map;
  disk_mapping* image = nullptr;  // the same, where it is on a disk
};

inline error refused(status code, const std::string& why) { return {code, why}; }

}  // namespace durahash
