// A picture of a report.
#pragma once

#include <string>

#include "bench/report.hpp"

namespace durahash::bench {

/// Throws `failure` with a sentence when python3 or matplotlib is missing: better before the
/// measurement than after it.
void check_that_plots_work();

/// Draws `all` into a PNG file, with python3 and matplotlib. Throws `failure`.
void plot(const report& all, const std::string& picture);

}  // namespace durahash::bench
