// TurboHash, figure 10: load factors while tables grow.
#include <bit>

#include "bench/reproduce/turbo_claims.hpp"

namespace durahash::reproduce::turbo_paper {
namespace {

using enum evidence;

// ---- Figure 10

/// Shards of 16 buckets to begin with; a quarter of the records fill them.
setup many_shards(const laboratory& lab) {
  const std::uint64_t shards = std::max<std::uint64_t>(2, std::bit_floor(lab.keys() / 1000));
  return turbo.with("shards", shards).for_records(140 * shards);
}

finding load_curve_of(laboratory& lab, const setup& made, double from, double to,
                      const char* why_not) {
  const load_curve& c = lab.curve_of(made);
  picture& drawn =
      lab.draw(figure("10", "load factor while a table grows", "records", "load factor", true));
  setup plain = made;
  plain.settings.erase("shards"), plain.capacity = 0;
  drawn.lines.push_back({plain.text(), {}});
  for (const auto& look : c.looks)
    drawn.lines.back().points.emplace_back(static_cast<double>(look.records), look.load_factor);
  return judged(c.most, "at most", c.most >= from && c.most <= to, why_not, made.text(),
                {{"mean", c.mean}, {"least", c.least}});
}

}  // namespace

std::vector<claim> load_claims() {
  return {
      {"turbo.fig10", e, "figure 10", "the load factor peaks at 85 %",
       "load factor while the table grows", counts, better::higher,
       [](laboratory& lab) {
         return load_curve_of(lab, many_shards(lab), 0.8, 0.93,
                              "shards fill at different moments, so that the sum is smoother");
       }},
      {"turbo.fig10-cceh30", e, "figure 10", "CCEH30 with 4 buckets stays below 44 %",
       "load factor of cceh while the table grows", counts, better::neither,
       [](laboratory& lab) {
         return load_curve_of(lab, cceh.with("probe", 4), 0, 0.44,
                              "the longest moment before the segments split is above it; CCEH's "
                              "own figure 11 has 50 to 60 %");
       }},
      {"turbo.fig10-cceh16", e, "figure 10", "CCEH16 with a second window peaks at 70 %",
       "load factor of cceh while the table grows", counts, better::neither,
       [](laboratory& lab) {
         return load_curve_of(lab, cceh, 0.65, 0.75,
                              "the engine has one window, as the paper; the second one is the "
                              "published code's");
       }},
      {"turbo.fig10-level", e, "figure 10", "CLEVEL peaks at 80 %: level here",
       "load factor of level while the table grows", counts, better::neither,
       [](laboratory& lab) {
         return load_curve_of(lab, level, 0.7, 0.9,
                              "level grows when no place in either level is left: 0.9 and more");
       }},
      {"turbo.fig10-clht", e, "figure 10", "CLHT peaks at 80 %",
       "load factor of p-clht while the table grows", counts, better::neither,
       [](laboratory& lab) {
         return load_curve_of(lab, clht, 0.7, 0.9,
                              "the published code grows when it has as many chained buckets as "
                              "its array");
       }},
      {"turbo.fig10-published", e, "figure 10", "CCEH16 with its second window peaks at 70 %",
       "load factor of cceh-copying while the table grows", counts, better::neither,
       [](laboratory& lab) {
         return load_curve_of(lab, cceh_code, 0.65, 0.8,
                              "two windows of eight lines fill a segment further");
       }},
      {"turbo.code-fig10", e, "figure 10", "the load factor peaks at 85 %: the published code",
       "load factor of turbo-published while the table grows", counts, better::neither,
       [](laboratory& lab) {
         return load_curve_of(lab, own_code_grown(lab), 0.8, 0.93,
                              "shards fill at different moments, so that the sum is smoother");
       }},
      {"turbo.fig10-dash", e, "figure 10", "DASH peaks at 85 %",
       "load factor of dash-eh while the table grows", counts, better::neither,
       [](laboratory& lab) {
         return load_curve_of(
             lab, dash, 0.78, 0.9,
             "segments split at different moments, or fill further with two buckets of a "
             "stash");
       }},
      {"turbo.fig10-clevel", e, "figure 10", "CLEVEL peaks at 80 %",
       "load factor of clevel while the table grows", counts, better::neither,
       [](laboratory& lab) {
         return load_curve_of(lab, clevel, 0.7, 0.9,
                              "a level comes when both buckets of a key are full in all levels");
       }},
  };
}

}  // namespace durahash::reproduce::turbo_paper
