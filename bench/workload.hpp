// The workloads: what each does, and to which records.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/distribution.hpp"

namespace durahash::bench {

/// In the order in which they run on one table: what changes the set of records comes last.
enum class workload_kind : std::uint8_t {
  insert,         ///< insert of every record into an empty table that grows
  load,           ///< the same with put: the load phase of YCSB
  positive,       ///< get of records that are there
  negative,       ///< get of keys that are absent
  update,         ///< update of records that are there
  ycsb_c,         ///< 100 % get
  ycsb_b,         ///< 95 % get, 5 % update
  ycsb_a,         ///< 50 % get, 50 % update
  ycsb_f,         ///< 50 % get, 50 % read, modify, write
  dlrm,           ///< get of one row of each of 26 embedding tables, again and again
  pagerank,       ///< get of the source of every edge of a graph, update of every vertex
  ycsb_d,         ///< 95 % get of the latest, 5 % insert
  erase,          ///< erase of records that are there, each once
  insert_steady,  ///< insert of new records into a table that has room reserved for them
  churn,          ///< insert of a new record, erase of one that was loaded, in turn
};

enum class operation_kind : std::uint8_t {
  get,
  get_absent,
  insert,
  put,
  update,
  erase,
  read_modify_write
};

/// What a workload is made of. A mix draws `second` with probability `second_share`, `first`
/// otherwise.
struct workload_traits {
  workload_kind kind;
  std::string_view name;
  std::string_view help;
  operation_kind first;
  operation_kind second;
  double second_share;
  distribution_kind distribution;  ///< unless the user chooses another
  bool distribution_fixed;         ///< the user's choice does not apply
};

const workload_traits& traits_of(workload_kind) noexcept;
const std::vector<workload_traits>& all_workloads() noexcept;

/// Fills an empty table with every record: insert and load.
constexpr bool is_load(workload_kind kind) noexcept {
  return kind == workload_kind::insert || kind == workload_kind::load;
}
/// Needs a table of its own.
constexpr bool is_apart(workload_kind kind) noexcept {
  return kind == workload_kind::insert_steady || kind == workload_kind::churn;
}

/// The workload of that name, or nothing. "insert,erase" is two names: split first.
std::optional<workload_kind> workload_named(std::string_view name) noexcept;

/// Comma-separated names, or "all". Sorted into running order, each once. Returns the first name
/// that is none in `unknown`.
std::vector<workload_kind> workloads_named(std::string_view list, std::string& unknown);

/// The share of operations that write.
double write_share(workload_kind) noexcept;

}  // namespace durahash::bench
