// Which pool is the value of which key: a table of its own, `catalog.dh`.
//
// A pool belongs to a key if and only if the catalog says so. A row names an *area*, which is a
// number that stands for a database; one record, `areas`, says which area is which database now.
// So FLUSHALL, FLUSHDB, SWAPDB and the end of a full synchronisation are one record's change: rows
// of an area that `areas` does not name are void.
//
// Crash table of a change of many rows (a flush, a synchronisation):
//   before the record `areas` is put: all rows are as they were; new rows are void
//   after it: old rows are void; the next start removes them, and their pools
//
// Of two rows with one area and one name the greater epoch counts: RENAME onto a key writes the
// renamed row first and erases the other one then.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "durahash/table.hpp"
#include "pool_id.hpp"

namespace durahash::server {

struct catalog_row {
  std::uint64_t area = 0;
  std::uint64_t epoch = 0;      ///< grows with each version of a row, and with each copy elsewhere
  std::int64_t expire_at = -1;  ///< milliseconds since 1970, or -1
  std::string name;
};

/// Areas of the databases that have one.
using area_map = std::map<int, std::uint64_t>;

class catalog {
 public:
  /// Opens or makes `catalog.dh` in the folder. Refuses one that another server has open.
  static result<catalog> open(const std::string& folder, durability_level level);

  /// Whether a start with it has come to its end once: else what it says is not the whole.
  bool complete() const noexcept { return complete_; }

  /// All of these survive kill -9 when they return ok. A loss of power they survive, at the level
  /// power, when await_changes() has returned ok: once for all of a turn of the event loop, and
  /// before its replies go out.
  status put(const pool_id& id, const catalog_row& row);
  status erase(const pool_id& id);
  status swap(int one, int other);       ///< SWAPDB
  status clear(std::optional<int> one);  ///< rows of that database, or all, are void
  status replace(const area_map& all);   ///< rows of other areas are void

  /// The area of a database; it gets one, durably, where it has none. 0 if that failed.
  std::uint64_t area_of(int database);
  /// An area that no row has. It counts from replace() on.
  std::uint64_t new_area() noexcept { return next_area_++; }
  /// The database that has this area, if one has.
  std::optional<int> database_of(std::uint64_t area) const;

  /// Whether a row that was put up to there survives what the level names.
  bool is_durable(std::uint64_t position) const { return table_.durable_position() >= position; }
  status await_changes() { return table_.wait_durable(needed_); }
  /// Calls back, from another thread, when await_changes() would return at once.
  status when_durable(std::function<void(status)> call) {
    return when_durable(needed_, std::move(call));
  }
  status when_durable(std::uint64_t position, std::function<void(status)> call) {
    return table_.when_durable(position, std::move(call));
  }
  /// Grows with each change that has to be waited for: at the level power with all of them.
  std::uint64_t needed() const noexcept { return needed_; }
  /// Behind the last change, as is_durable wants it; 0 where no log has it.
  std::uint64_t last_change() const noexcept { return last_change_; }
  /// Behind all changes so far, for who must not act on one that a loss of power may undo.
  std::uint64_t position() const { return table_.position(); }
  status await(std::uint64_t position) { return table_.wait_durable(position); }

  using row_list = std::vector<std::pair<pool_id, catalog_row>>;
  /// All rows, or none: pools that no row names are removed, so a part of them is worse than none.
  result<row_list> rows() const;
  std::uint64_t size() const { return table_.size(); }
  durability_level level() const { return table_.kinds().durability; }
  void close() { table_.close(); }

 private:
  explicit catalog(table t) : table_(std::move(t)) {}
  template <class Change>
  status change(Change&& run);
  status publish(area_map areas);
  bool read_areas();

  table table_;
  area_map areas_;
  std::uint64_t next_area_ = 1;
  bool complete_ = false;
  std::uint64_t needed_ = 0;  // where the log must be durable for all changes so far
  std::uint64_t last_change_ = 0;
};

}  // namespace durahash::server
