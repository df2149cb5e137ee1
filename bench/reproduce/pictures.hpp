// A report as pictures, and as a page.
#pragma once

#include <string>
#include <vector>

#include "bench/reproduce/report.hpp"

namespace durahash::reproduce {

/// Draws each figure of the report as PNG and SVG into `folder`, which is made, and all of it as
/// one page into `page`, with tables and figures; empty: not. With python3 and matplotlib. If the
/// run was compared with an earlier one, `changes` are marked in the page. Throws bench::failure.
void draw(const report& all, const std::vector<change>* changes, const std::string& folder,
          const std::string& page);

}  // namespace durahash::reproduce
