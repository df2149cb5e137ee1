// A picture of a report.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bench/report.hpp"

namespace durahash::bench {

/// Throws `failure` with a sentence when python3 or matplotlib is missing: better before the
/// measurement than after it.
void check_that_plots_work();

/// Runs a program in Python whose first argument is a file with `data`. The program is a C++ string
/// literal in disguise: its first character belongs to that. Throws `failure` when it does not end
/// well; what it has to say is on standard error.
void run_plot_program(std::string_view program, const std::string& data,
                      std::vector<std::string> arguments);

/// Draws `all` into a PNG file, with python3 and matplotlib. Throws `failure`.
void plot(const std::vector<report>& all, const std::string& picture);

}  // namespace durahash::bench
