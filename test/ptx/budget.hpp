// What the kernels cost per operation, counted on the interpreter: one workload for each kernel and
// shape, the same at every run.
#pragma once

#include <map>
#include <string>

#include "test/ptx/counters.hpp"

namespace durahash::ptx {

/// Figure by name, of one row.
using costs = std::map<std::string, double>;

/// Row by name: "find hit, pool, levels2_hashes2_slots8". Those of "slab lists" and of "lone
/// threads" are what GPHash's paper compares with; insertions of lists have a "load_factor"
/// besides. "rows" have values of 128 bytes.
std::map<std::string, costs> count_budgets();

}  // namespace durahash::ptx
