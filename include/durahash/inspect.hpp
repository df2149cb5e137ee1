// What lies where in a pool, in words: for people who look at its bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "durahash/info.hpp"
#include "durahash/status.hpp"

namespace durahash {

/// Bytes as they lie in the pool: a key, or the beginning of a value.
struct raw_bytes {
  std::string bytes;
};

/// Something to be said of a part. A text is for people, and may change.
struct part_fact {
  std::string name;
  std::variant<std::uint64_t, bool, std::string, raw_bytes> value;
};

/// A range of a pool's bytes that means something.
struct pool_part {
  std::string kind;  ///< superblock, root record, directory, array, level, bucket, slot, record...
  std::string name;  ///< which one: "slot 3 of bucket 5 of shard 2"
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint64_t named_by = 0;  ///< offset of the word that leads here; 0: its place is known
  std::vector<part_fact> facts;

  /// One more fact.
  void add(std::string what, std::variant<std::uint64_t, bool, std::string, raw_bytes> value);
};

/// Parts that are too many to be listed, counted: "slot", "live".
struct part_group {
  std::string kind, state;
  std::uint64_t count = 0, bytes = 0;
};

/// All of a pool: what there is little of in full, the rest counted.
struct pool_overview {
  std::vector<pool_part> parts;
  std::vector<part_group> groups;
};

/// What lies at an offset: the parts that hold it, the largest first; and what leads to each of
/// them.
struct pool_place {
  std::vector<pool_part> parts;
  std::vector<pool_part> named_by;
};

/// A key's way through the table: what follows from its hash, then every bucket that it may be in,
/// slot by slot. The slot that holds it says `found`.
struct pool_search {
  bool found = false;
  std::vector<pool_part> parts;
};

/// A pool that is opened to be looked at. Nothing is ever written to it, and nothing repaired: a
/// pool that the machine went down under, or a copy of an open one, is shown as it lies there.
/// One thread. Answers throw std::bad_alloc where the process has no memory for them.
class inspection {
 public:
  /// Opens it, locked as by a reader: a pool that a process has open to write is refused, for its
  /// bytes do not hold still.
  /// Returns   an inspection as soon as the file is a pool; `refusal` tells of damage that keeps
  ///           the table from being read. Else what every open of it answers.
  /// Cost      that of opening the pool to read it.
  static result<inspection> open(const std::string& path);
  inspection(inspection&&) noexcept;
  inspection& operator=(inspection&&) noexcept;
  ~inspection();

  /// Of the superblock; engine 0 where it is damaged.
  pool_kinds kinds() const;

  /// Why the table cannot be read: superblocks and root records alone are known. Empty if it can.
  const std::string& refusal() const;

  /// Cost      reads every slot.
  pool_overview overview();

  /// Returns   parts; none in the free or unknown; invalid_argument behind the pool's end.
  /// Cost      reads every slot, twice.
  result<pool_place> at(std::uint64_t offset);

  /// `key` as `table` takes it: words are 8 bytes.
  /// Returns   invalid_argument for a key that the pool does not take; unusable with the refusal.
  /// Cost      that of a search, and all slots of its buckets.
  result<pool_search> find(std::string_view key);

 private:
  struct state;
  explicit inspection(std::unique_ptr<state>);
  std::unique_ptr<state> state_;
};

}  // namespace durahash
