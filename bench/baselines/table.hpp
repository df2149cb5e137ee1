// A baseline: a hash table that the papers compare with, as its own paper has it. For measuring and
// for the explorer; not for data. Words alone, one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "durahash/info.hpp"
#include "durahash/status.hpp"

namespace durahash::baselines {

/// One table. All operations are for one thread at a time.
class table {
 public:
  using visitor = std::function<void(std::uint64_t key, std::uint64_t value)>;

  virtual ~table() = default;

  /// Whether the paper's table can hold this key. Others are refused with invalid_argument.
  virtual bool takes(std::uint64_t key) const = 0;

  /// Adds a record. The table grows as its paper has it, within this call.
  /// Returns   ok; exists; no_space, the table is then unchanged; invalid_argument.
  virtual status insert(std::uint64_t key, std::uint64_t value) = 0;
  /// Returns   ok; not_found; no_space where an update is a new record without a place.
  virtual status update(std::uint64_t key, std::uint64_t value) = 0;
  /// As update, or else as insert.
  virtual status put(std::uint64_t key, std::uint64_t value) = 0;
  /// Returns   ok; not_found, `value` is then left as it was.
  virtual status get(std::uint64_t key, std::uint64_t& value) = 0;
  virtual status erase(std::uint64_t key) = 0;  // ok or not_found

  /// Every record, each once.
  virtual void scan(const visitor& visit) = 0;
  virtual std::uint64_t size() const = 0;
  virtual std::uint64_t slots() const = 0;  // places for records, those of a stash among them
  double load_factor() const { return static_cast<double>(size()) / static_cast<double>(slots()); }
  virtual std::uint64_t bytes() const = 0;  // of the medium that are in use

  /// Forgets all that is not on the medium, and opens what is there as the paper says. The records
  /// are counted anew.
  virtual error recover() = 0;

  /// What should hold between operations.
  virtual check_report check() = 0;

  virtual media_counts counts() const = 0;
  /// Since it was made: `grows`, `records_moved` by growth, `displacements` by insertions. Of some
  /// designs more, which their sources tell of.
  virtual std::vector<std::pair<std::string, double>> figures() const = 0;
};

}  // namespace durahash::baselines
