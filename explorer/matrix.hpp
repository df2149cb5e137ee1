// What is altered one at a time, to see that the explorer notices: elisions, and planted bugs.
#pragma once

#include <functional>
#include <map>

#include "explorer/campaign.hpp"

namespace durahash::crash {

/// Explores with each candidate in turn. Its witness comes first: the exploration that caught it
/// when scripts/witnesses.py last wrote them down, whatever the campaign's seed. Then the programs
/// of seed 1, then those of the campaign's own. An argued elision is tried in one round, and not at
/// a quick pace.
std::vector<matrix_line> run_matrix(
    const campaign& what, const std::vector<std::string>& candidates,
    const std::function<void(double, const std::string&)>& progress);

/// By what is altered: the name of an exploration that catches it.
const std::map<std::string, std::string>& witnesses(engine_kind engine);

}  // namespace durahash::crash
