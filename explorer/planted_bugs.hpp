// The holes of the papers and of published code, and what the explorer has found in ours, as bugs
// that can be planted: `M::planted(NAME)` in the sources, or an elision. `durahash crash --mutants`
// sees that each is found.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "durahash/options.hpp"

namespace durahash::crash {

struct planted_bug {
  std::string_view name;  // a mutant's (media/site.hpp), or an elision's, as the matrix names it
  // an id of docs/explanation/crash-catalogue.md, or the invariant that it breaks
  std::string_view hole;
  std::string_view report;
  std::vector<engine_kind> engines;
  std::string_view kinds;  // of tables, as --only takes them: those that can show it
  // a test that shows it, where no program of the explorer does; empty: the explorer
  std::string_view shown_by = {};
};

const std::vector<planted_bug>& planted_bugs();
/// Those that the explorer shows.
std::vector<std::string> bugs_of(engine_kind engine);
std::string kinds_that_show(std::string_view name);

}  // namespace durahash::crash
