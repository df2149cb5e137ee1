// Opens or makes a pool. registry.hpp knows the engines, this knows what may be opened, and on
// which medium.
#pragma once

#include <memory>
#include <string>

#include "durahash/detail/any_table.hpp"
#include "durahash/options.hpp"
#include "durahash/status.hpp"
#include "store/inspected_table.hpp"
#include "store/opening.hpp"

namespace durahash {

/// An open pool: exactly one of the two, by the pool's kinds.
struct opened {
  std::unique_ptr<detail::word_table> words;   // u64 keys and u64 values
  std::unique_ptr<detail::bytes_table> bytes;  // all others
};

result<opened> open_pool(const std::string& path, options how);

/// Maps a file to be looked at: one that begins as a pool does. Nothing more of it is believed.
result<opening> open_to_look(const std::string& path);

/// Its table as it lies there, torn by a power cut or copied while it was open though it may be.
/// Sets block and root where they are sound.
result<std::unique_ptr<inspected_table>> look_at_table(opening& o);

}  // namespace durahash
