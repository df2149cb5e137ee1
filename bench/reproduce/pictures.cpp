#include "bench/reproduce/pictures.hpp"

#include <nlohmann/json.hpp>
#include <string_view>

#include "bench/plot.hpp"

namespace durahash::reproduce {
namespace {

// The file is a C++ string literal and a Python program at once.
constexpr std::string_view script =
#include "bench/reproduce/pictures.py"
    ;

}  // namespace

void draw(const report& all, const std::vector<change>* changes, const std::string& folder,
          const std::string& page) {
  nlohmann::ordered_json data = json_of(all);
  if (changes != nullptr) {
    data["changes"] = nlohmann::ordered_json::array();
    for (const change& one : *changes)
      data["changes"].push_back(
          {{"id", one.id}, {"before", one.before}, {"worse", one.is_regression}, {"why", one.why}});
  }
  std::vector<std::string> arguments;
  if (!folder.empty()) arguments.insert(arguments.end(), {"--plot", folder});
  if (!page.empty()) arguments.insert(arguments.end(), {"--html", page});
  bench::run_plot_program(script, data.dump(), std::move(arguments));
}

}  // namespace durahash::reproduce
