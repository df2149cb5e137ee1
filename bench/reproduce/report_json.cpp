#include <cmath>
#include <nlohmann/json.hpp>

#include "bench/reproduce/report.hpp"

namespace durahash::reproduce {
namespace {

using json = nlohmann::ordered_json;

json number(double value) {
  if (!std::isfinite(value)) return nullptr;
  if (value == 0) return 0;
  return as_written(value);
}

json json_of(const row& one) {
  const claim& of = *one.of;
  json beside = json::object();
  for (const auto& [name, value] : one.found.beside) beside[name] = number(value);
  const bool measured = one.found.is != verdict::not_measured;
  return {{"id", of.id},
          {"engine", name_of(of.engine)},
          {"paper", paper_of(of.engine)},
          {"where", of.where},
          {"says", of.says},
          {"measured", of.measured},
          {"evidence", name_of(of.rests_on)},
          {"value", measured ? number(one.found.value) : json()},
          {"unit", one.found.unit},
          {"verdict", name_of(one.found.is)},
          {"reason", one.found.reason},
          {"note", one.found.note},
          {"parameters", one.found.parameters},
          {"beside", beside},
          {"seconds", number(one.seconds)},
          {"processor_seconds", number(one.processor_seconds)}};
}

json json_of(const picture& one) {
  json lines = json::array();
  for (const picture::line& line : one.lines) {
    json points = json::array();
    for (const auto& [x, y] : line.points) points.push_back({number(x), number(y)});
    lines.push_back({{"name", line.name}, {"points", points}});
  }
  return {{"id", one.id},       {"engine", name_of(one.engine)},
          {"title", one.title}, {"x", one.x},
          {"y", one.y},         {"log_x", one.log_x},
          {"log_y", one.log_y}, {"bars", one.bars},
          {"lines", lines}};
}

}  // namespace

double as_written(double value) {
  if (value == 0 || !std::isfinite(value)) return value;
  const double scale = std::pow(10, 5 - std::floor(std::log10(std::abs(value))));
  return std::round(value * scale) / scale;
}

json json_of(const report& all) {
  json engines = json::array(), rows = json::array(), pictures = json::array();
  json verdicts = {{"holds", 0}, {"differs", 0}, {"not measured here", 0}};
  for (const engine_kind engine : all.asked.engines) engines.push_back(name_of(engine));
  for (const row& one : all.rows) {
    rows.push_back(json_of(one));
    auto& count = verdicts[std::string(name_of(one.found.is))];
    count = count.get<int>() + 1;
  }
  for (const picture& one : all.pictures) pictures.push_back(json_of(one));
  return {{"report", "durahash reproduce"},
          {"version", 1},
          {"machine",
           {{"cpu", all.machine.cpu},
            {"cores", all.machine.cores},
            {"kernel", all.machine.kernel},
            {"commit", all.machine.commit},
            {"huge_pages", all.machine.huge_pages},
            {"device", all.asked.on ? json((*all.asked.on)->name()) : json()},
            {"load_average", number(all.load_average)}}},
          {"engines", engines},
          {"keys", all.asked.keys},
          {"seed", all.asked.seed},
          {"quick", all.asked.quick},
          {"seconds", number(all.seconds)},
          {"processor_seconds", number(all.processor_seconds)},
          {"verdicts", verdicts},
          {"rows", rows},
          {"figures", pictures}};
}

}  // namespace durahash::reproduce
