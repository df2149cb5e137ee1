// What the kernels of gphash cost: counted by the interpreter of test/ptx, and recorded there. The
// build copies the record into the program.
#pragma once

#include <string>

namespace durahash::reproduce {

/// Of one operation, the mean: `figure` of the row `operation` of test/ptx/budgets.json. Throws
/// bench::failure where there is none.
double kernel_cost(const std::string& operation, const std::string& figure);

/// "nvcc 13.0.88, sm_90": what made the kernels that were counted.
std::string kernels_compiled_by();

}  // namespace durahash::reproduce
