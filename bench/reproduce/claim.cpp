#include "bench/reproduce/claim.hpp"

namespace durahash::reproduce {

std::string_view name_of(evidence on) noexcept {
  constexpr std::string_view names[] = {"counts", "sampled", "times", "recorded", "none"};
  return names[static_cast<unsigned>(on)];
}

std::string_view name_of(verdict is) noexcept {
  constexpr std::string_view names[] = {"holds", "differs", "not measured here"};
  return names[static_cast<unsigned>(is)];
}

// Of a claim that has always held here: when it does not, nobody has looked for the reason yet.
constexpr const char* unexplained = "it held when this was written: not explained yet";

finding judged(double value, std::string unit, bool holds, std::string why_not,
               std::string parameters, std::vector<std::pair<std::string, double>> beside) {
  return {value,
          std::move(unit),
          holds ? verdict::holds : verdict::differs,
          holds             ? ""
          : why_not.empty() ? unexplained
                            : std::move(why_not),
          std::move(parameters),
          std::move(beside),
          ""};
}

finding not_measured(std::string reason) {
  return {0, "", verdict::not_measured, std::move(reason), "", {}, ""};
}

const std::vector<claim>& claims_of(engine_kind engine) {
  switch (engine) {
    case engine_kind::turbo: return turbo_claims();
    case engine_kind::cceh: return cceh_claims();
    case engine_kind::level: return level_claims();
    case engine_kind::gphash: return gphash_claims();
  }
  static const std::vector<claim> none;
  return none;
}

std::string_view paper_of(engine_kind engine) noexcept {
  switch (engine) {
    case engine_kind::turbo: return "TurboHash (SYSTOR'23)";
    case engine_kind::cceh: return "CCEH (FAST'19)";
    case engine_kind::level: return "Level hashing (OSDI'18)";
    case engine_kind::gphash: return "GPHash (FAST'25)";
  }
  return "";
}

}  // namespace durahash::reproduce
