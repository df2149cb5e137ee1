// Instructions of operations where the processor has no counter of them.
#pragma once

#include <functional>
#include <string>

#include "bench/report.hpp"
#include "tool/bench/bench_arguments.hpp"

namespace durahash::tool {

/// Fails with a sentence where valgrind is needed and not there.
void check_that_instructions_can_be_counted();

/// Of every result without a count: its workload once more under callgrind, in a process of its
/// own, in one thread, with at most 200,000 records and 100,000 operations. `tell` before each.
void count_by_callgrind(const bench_arguments& arguments, bench::report& all,
                        const std::function<void(const std::string&)>& tell);

}  // namespace durahash::tool
