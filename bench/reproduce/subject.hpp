// A table under measurement: one of the engines, with settings, or a baseline; on a medium.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "bench/keys.hpp"
#include "bench/request.hpp"
#include "durahash/info.hpp"
#include "durahash/options.hpp"

namespace durahash::reproduce {

/// How a table is made. Two equal setups make equal tables.
struct setup {
  engine_kind engine{};
  std::map<std::string, std::uint64_t> settings = {};
  std::uint64_t capacity = 0;
  bench::record_shape shape = {};
  medium_kind medium = medium_kind::memory;
  durability_level durability = durability_level::power;
  std::uint32_t flush_ns = 0, block_ns = 0, read_ns = 0;  ///< medium emulated
  std::string_view baseline = {};  ///< one of bench/baselines by name; then there is no engine

  setup with(const std::string& name, std::uint64_t value) const;
  setup on(medium_kind) const;
  setup for_records(std::uint64_t) const;
  setup with_bytes(std::size_t key_bytes, std::size_t value_bytes) const;
  setup with_latencies(std::uint32_t flush, std::uint32_t block, std::uint32_t read) const;

  /// "cceh, probe 4": the engine and what is not its default. Unique: measurements are kept by it.
  /// A baseline has no settings, and words alone.
  std::string text() const;
};

/// Every operation is given an index and says whether the answer was right.
class subject {
 public:
  virtual ~subject() = default;
  virtual bool insert(std::uint64_t key) = 0;
  virtual bool update(std::uint64_t key, bench::generation) = 0;
  virtual bool get(std::uint64_t key) = 0;
  virtual bool get_absent(std::uint64_t key) = 0;
  virtual bool erase(std::uint64_t key) = 0;

  virtual media_counts counts() = 0;  ///< medium emulated; reads the whole table
  virtual double figure(const std::string& name) = 0;
  virtual pool_info info() = 0;
  virtual void reserve(std::uint64_t records) = 0;  ///< of a baseline: while it is empty
  virtual void compact() = 0;                       ///< no baseline can
};

/// "p-clht" and so on, as a setup.
setup baseline_named(std::string_view);

/// A new pool of that setup. Its hash seeds come from `seed` alone. Throws bench::failure.
std::unique_ptr<subject> make(const setup&, std::uint64_t seed);

/// Loads a pool in a child that kills itself, opens it again and reads one record. Returns the
/// seconds of both together, the median of three. The medium is `file`, in memory.
double seconds_to_reopen(const setup&, std::uint64_t seed, std::uint64_t records);

}  // namespace durahash::reproduce
