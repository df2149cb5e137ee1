// Random operations against std::unordered_map: a list of operations, what a pool and the model
// make of it, and the shortest list that still shows a disagreement.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "setup.hpp"

namespace durahash::test {

enum class action : std::uint8_t {
  put,
  insert,
  update,
  get,
  contains,
  erase,
  compare_and_set,
  fetch_add,
  update_with,
  take,
  get_many,
  put_many,
  erase_many,
  scan_some,
  size,
  reserve,
  compact,
  sync,
  reopen,
  check,
};

/// One operation; everything it does follows from these words, so that a list can be replayed and
/// cut.
struct operation {
  action what{};
  std::uint64_t key = 0;   ///< number of the key, or of the first of a batch
  std::uint64_t seed = 0;  ///< of the value, of the keys of a batch, of a limit
};

std::string to_string(const operation&);

/// How often each action comes, by the kind of run.
struct operation_mix {
  std::uint64_t key_range = 0;   ///< keys are numbered below this
  std::uint64_t structural = 0;  ///< one in so many is reserve, compact, sync, reopen or check
};

std::vector<operation> random_operations(std::uint64_t seed, std::size_t count,
                                         const operation_mix& mix);

/// Runs the list on a fresh pool beside a model. Nothing when they agree, else what they disagree
/// on.
std::optional<std::string> disagreement(const setup& with, const std::vector<operation>& list,
                                        std::uint64_t key_range);

/// A short list that still disagrees: parts are left out as long as that is so, within `seconds`.
std::vector<operation> shortened(const setup& with, std::vector<operation> list,
                                 std::uint64_t key_range, double seconds);

}  // namespace durahash::test
