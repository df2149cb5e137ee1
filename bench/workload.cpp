#include "bench/workload.hpp"

#include <algorithm>

#include "bench/rmat_graph.hpp"

namespace durahash::bench {
namespace {

using operation = operation_kind;
using spread = distribution_kind;

constexpr bool writes(operation kind) noexcept {
  return kind != operation::get && kind != operation::get_absent;
}

}  // namespace

const std::vector<workload_traits>& all_workloads() noexcept {
  using enum workload_kind;
  // clang-format off
  static const std::vector<workload_traits> all = {
      {insert, "insert", "inserts of every record into an empty, growing table",
       operation::insert, operation::insert, 0, spread::distinct, true},
      {load, "load", "the same with put (load phase of YCSB)",
       operation::put, operation::put, 0, spread::distinct, true},
      {positive, "positive", "gets of records that are there",
       operation::get, operation::get, 0, spread::uniform, false},
      {negative, "negative", "gets of keys that are absent",
       operation::get_absent, operation::get_absent, 0, spread::uniform, false},
      {update, "update", "updates of records that are there",
       operation::update, operation::update, 0, spread::uniform, false},
      {ycsb_c, "ycsb-c", "gets",
       operation::get, operation::get, 0, spread::zipfian, false},
      {ycsb_b, "ycsb-b", "95 % gets, 5 % updates",
       operation::get, operation::update, 0.05, spread::zipfian, false},
      {ycsb_a, "ycsb-a", "50 % gets, 50 % updates",
       operation::get, operation::update, 0.5, spread::zipfian, false},
      {ycsb_f, "ycsb-f", "50 % gets, 50 % read-modify-writes",
       operation::get, operation::read_modify_write, 0.5, spread::zipfian, false},
      {dlrm, "dlrm", "gets of a recommender: samples of one row of each of 26 tables",
       operation::get, operation::get, 0, spread::tables, true},
      {pagerank, "pagerank", "36 gets, of the sources of a graph's edges, to 1 update of a vertex",
       operation::get, operation::update, 1.0 / (rmat_graph::edge_factor + 1), spread::rmat, true},
      {ycsb_d, "ycsb-d", "95 % gets of the latest records, 5 % inserts",
       operation::get, operation::insert, 0.05, spread::latest, true},
      {erase, "erase", "erases of records that are there, each once",
       operation::erase, operation::erase, 0, spread::distinct, true},
      {insert_steady, "insert-steady",
       "inserts of new records into a loaded table with room reserved",
       operation::insert, operation::insert, 0, spread::distinct, true},
      {churn, "churn", "inserts of new records and erases of loaded ones in turn, at one size",
       operation::insert, operation::erase, 0.5, spread::distinct, true},
  };
  // clang-format on
  return all;
}

const workload_traits& traits_of(workload_kind kind) noexcept {
  return all_workloads()[static_cast<std::size_t>(kind)];
}

std::optional<workload_kind> workload_named(std::string_view name) noexcept {
  for (const workload_traits& traits : all_workloads())
    if (traits.name == name) return traits.kind;
  return std::nullopt;
}

std::vector<workload_kind> workloads_named(std::string_view list, std::string& unknown) {
  std::vector<workload_kind> kinds;
  while (!list.empty()) {
    std::string_view name = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), name.size() + 1));
    if (name == "all") {
      for (const workload_traits& traits : all_workloads()) kinds.push_back(traits.kind);
    } else if (auto kind = workload_named(name)) {
      kinds.push_back(*kind);
    } else {
      unknown = name;
      return {};
    }
  }
  std::sort(kinds.begin(), kinds.end());
  kinds.erase(std::unique(kinds.begin(), kinds.end()), kinds.end());
  return kinds;
}

double write_share(workload_kind kind) noexcept {
  const workload_traits& traits = traits_of(kind);
  return (writes(traits.first) ? 1 - traits.second_share : 0) +
         (writes(traits.second) ? traits.second_share : 0);
}

}  // namespace durahash::bench
