// GPHash, figure 7, and figure 13's load factors.
#include "bench/reproduce/gphash_claims.hpp"

namespace durahash::reproduce::gphash_paper {
namespace {

using enum evidence;

finding load_by_shape(laboratory& lab) {
  picture& drawn = lab.draw(figure("13", "load factor by configuration", "", "load factor"));
  drawn.lines = {{"at the first growth", {}}};
  finding f = judged(0, "with 4L-4H-2S", true, "", sized(gphash, lab).text());
  struct shape {
    std::uint64_t levels, hashes, slots;
  };
  for (const shape& s : {shape{1, 1, 16}, {1, 2, 16}, {2, 2, 8}, {4, 2, 4}, {2, 4, 4}, {4, 4, 2}}) {
    const double full =
        lab.first_growth_of(sized(shaped(s.levels, s.hashes, s.slots), lab), lab.runs(4));
    const std::string name = fmt::format("{}L-{}H-{}S", s.levels, s.hashes, s.slots);
    drawn.lines[0].points.emplace_back(static_cast<double>(drawn.bars.size()), full);
    drawn.bars.push_back(name);
    f.beside.emplace_back(name, full);
    f.value = full;
  }
  const auto of = [&](std::size_t i) { return f.beside[i].second; };
  f.is = of(0) < of(1) && of(1) <= of(2) + 0.03 && of(2) < of(3) && of(4) < of(5)
             ? verdict::holds
             : verdict::differs;
  if (f.is == verdict::differs) f.reason = "a richer configuration filled less: small tables";
  return f;
}

finding load_curves(laboratory& lab) {
  picture& drawn =
      lab.draw(figure("7", "load factor while a table grows", "records", "load factor", true));
  finding f = judged(0, "of gphash at most", true, "", gphash.text());
  for (const setup& one : {gphash, level, cceh, clht, baseline_named("dash-eh"),
                           baseline_named("clevel"), baseline_named("seph")}) {
    const load_curve& c = lab.curve_of(one);
    drawn.lines.push_back({one.text(), {}});
    for (const auto& look : c.looks)
      drawn.lines.back().points.emplace_back(static_cast<double>(look.records), look.load_factor);
    f.beside.emplace_back(one.text(), c.most);
  }
  f.value = f.beside[0].second;
  bool highest = true;
  for (std::size_t i = 1; i < f.beside.size(); ++i)
    highest = highest && f.value > f.beside[i].second;
  f.is = highest ? verdict::holds : verdict::differs;
  if (f.is == verdict::differs)
    f.reason =
        "level's engine fills more: it moves a record before it grows, and gphash moves none";
  return f;
}

/// Of the tables that the CPU manages, figure 7 has 85 % at most.
finding load_of_a_peer(laboratory& lab, const char* name, const char* why_not) {
  const load_curve& c = lab.curve_of(baseline_named(name));
  return judged(c.most, "at most", c.most >= 0.75 && c.most <= 0.9, why_not, name,
                {{"mean", c.mean}, {"least", c.least}});
}

}  // namespace

std::vector<claim> load_claims() {
  constexpr auto e = engine_kind::gphash;
  return {
      {"gphash.fig7", e, "§4.2, figure 7", "load factors of up to 92 %",
       "load factor at the first growth, 2L-2H-8S", counts, better::higher,
       [](laboratory& lab) {
         const double usual_shape = lab.first_growth_of(sized(gphash, lab), lab.runs(4)),
                      rich = lab.first_growth_of(sized(shaped(4, 4, 2), lab), lab.runs(4));
         return judged(
             usual_shape, "", usual_shape >= 0.91,
             "the larger the table, the sooner some bucket is full; the paper does not name "
             "its table, and configurations with more places reach 92 %",
             sized(gphash, lab).text(), {{"4L-4H-2S", rich}});
       }},
      {"gphash.fig7-others", e, "§4.2, figure 7", "the load factor is higher than all others'",
       "highest load factor while the table grows", counts, better::higher, load_curves},
      {"gphash.fig7-dash", e, "figure 7", "Dash reaches a load factor of up to 85 %",
       "load factor of dash-eh while the table grows", counts, better::neither,
       [](laboratory& lab) {
         return load_of_a_peer(
             lab, "dash-eh",
             "segments split at different moments, or fill further with two buckets of a "
             "stash");
       }},
      {"gphash.fig7-clevel", e, "figure 7", "Clevel reaches a load factor of up to 85 %",
       "load factor of clevel while the table grows", counts, better::neither,
       [](laboratory& lab) {
         return load_of_a_peer(lab, "clevel",
                               "a level comes when both buckets of a key are full in all levels");
       }},
      {"gphash.fig7-seph", e, "figure 7", "SEPH reaches a load factor of up to 85 %",
       "load factor of seph while the table grows", counts, better::neither,
       [](laboratory& lab) {
         return load_of_a_peer(
             lab, "seph",
             "a key has one bucket above and one below, and the first pair that is full "
             "splits its level segment");
       }},
      {"gphash.fig13", e, "figure 13", "more places and more levels fill more",
       "load factor at the first growth", counts, better::higher, load_by_shape},
  };
}

}  // namespace durahash::reproduce::gphash_paper
