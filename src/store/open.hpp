// Opens or makes a pool. registry.hpp knows the engines, this knows what may be opened, and on
// which medium.
#pragma once

#include <memory>
#include <string>

#include "durahash/detail/any_table.hpp"
#include "durahash/options.hpp"
#include "durahash/status.hpp"

namespace durahash {

/// An open pool: exactly one of the two, by the pool's kinds.
struct opened {
  std::unique_ptr<detail::word_table> words;   // u64 keys and u64 values
  std::unique_ptr<detail::bytes_table> bytes;  // all others
};

result<opened> open_pool(const std::string& path, options how);

}  // namespace durahash
