// What the server's configuration says of the module: `CONFIG SET durahash.NAME`.
#pragma once

#include <cstdint>
#include <string>

#include "durahash/options.hpp"

namespace durahash::server {

struct settings {
  std::string folder = "durahash";  ///< of catalog and pools; absolute from the start on
  engine_kind engine = engine_kind::turbo;
  /// Of tables that name no other; and the catalog's, which no table's may exceed.
  durability_level durability = durability_level::process;
  std::uint64_t max_tables = 1000;
  /// A table whose slot moves is sent whole, and stops both event loops meanwhile. In a cluster it
  /// is kept small: 0 is "no limit", and what a server without cluster has.
  std::uint64_t max_records = 0;
  std::uint64_t max_bytes = 0;
  bool cluster = false;
  std::uint64_t spare_pools = 4;  ///< made ahead, where to make one waits for a disk
};

settings& the_settings();

}  // namespace durahash::server
