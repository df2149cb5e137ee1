// Level hashing (OSDI'18): figures 2, 4, 6(b), 8 to 16, and what the text says beside them.
#include <fmt/format.h>

#include <cmath>

#include "bench/reproduce/laboratory.hpp"

namespace durahash::reproduce {
namespace {

using enum evidence;

const setup level{engine_kind::level};
/// The paper's buckets have four slots.
const setup four = level.with("slots", 4);
const setup as_published = four.with("in_place", 0);

/// A table of about so many slots, before it grows.
setup sized(const setup& made, const laboratory& lab) {
  return made.for_records(lab.size(30'000, 2'000));
}

picture figure(const char* number, const char* title, const char* x, const char* y) {
  return {fmt::format("level-{}", number), engine_kind::level,
          fmt::format("Level hashing, figure {}: {}", number, title), x, y};
}

// ---- Load factors

finding by_slots(laboratory& lab) {
  picture& drawn =
      lab.draw(figure("8", "load factor at the first growth", "slots of a bucket", "load factor"));
  drawn.lines = {{"level", {}}};
  finding f = judged(0, "with 14 slots", true, "", "level, 1 to 14 slots");
  double last = 0;
  bool rising = true;
  for (std::uint64_t slots : {1, 2, 4, 7, 8, 14}) {
    const double full = lab.first_growth_of(sized(level.with("slots", slots), lab), lab.runs(4));
    drawn.lines[0].points.emplace_back(slots, full);
    f.beside.emplace_back(fmt::format("{} slots", slots), full);
    rising = rising && full > last - 0.01;
    f.value = last = full;
  }
  if (rising) return f;
  f.is = verdict::differs;
  f.reason = "a larger bucket filled sooner";
  return f;
}

/// Integers whose logarithm is normally distributed: the paper's skewed keys.
double first_growth_of_normal(laboratory& lab, double sigma) {
  bench::random_source random(lab.seed(), 0x6e6f'726d'616c);
  auto table = make(sized(four, lab), lab.seed());
  const std::uint64_t slots = table->info().slots;
  std::uint64_t records = 0;
  while (table->info().slots == slots)
    for (int i = 0; i < 8; ++i) {
      const double two_pi = 6.283185307179586, u = 1 - random.unit(), v = random.unit(),
                   normal = std::sqrt(-2 * std::log(u)) * std::cos(two_pi * v);
      // A key that was drawn before is passed over.
      if (table->insert(static_cast<std::uint64_t>(std::exp(sigma * normal) * (1 << 28))))
        ++records;
    }
  return static_cast<double>(records) / static_cast<double>(slots);
}

finding by_distribution(laboratory& lab) {
  const double uniform = lab.first_growth_of(sized(four, lab), lab.runs(4)),
               wide = first_growth_of_normal(lab, 1), narrow = first_growth_of_normal(lab, 0.25),
               apart = std::max(std::abs(wide - uniform), std::abs(narrow - uniform));
  picture& drawn = lab.draw(figure("9", "load factor by keys", "", "load factor"));
  drawn.bars = {"uniform", "normal, sigma 1", "normal, sigma 1/4"};
  drawn.lines = {{"level", {{0, uniform}, {1, wide}, {2, narrow}}}};
  return judged(apart, "apart at most", apart < 0.03, "small tables scatter more", four.text(),
                {{"uniform", uniform}, {"sigma 1", wide}, {"sigma 1/4", narrow}});
}

/// Load factors at successive growths, and of the records how many each moved.
const std::vector<growth_step>& growths(laboratory& lab, bool bottom_to_top) {
  return lab.growths_of(four.with("bottom_to_top", bottom_to_top).for_records(2'000),
                        lab.size(6, 3));
}

finding resizes(laboratory& lab, bool bottom_to_top) {
  picture& drawn =
      lab.draw(figure("4", "load factor at successive resizes", "resize", "load factor"));
  drawn.lines.push_back({bottom_to_top ? "with B2T" : "without B2T", {}});
  double least = 1, most = 0;
  finding f = judged(0, "", true, "", four.with("bottom_to_top", bottom_to_top).text());
  const auto& seen = growths(lab, bottom_to_top);
  for (std::size_t n = 0; n < seen.size(); ++n) {
    drawn.lines.back().points.emplace_back(n + 1, seen[n].load_factor);
    f.beside.emplace_back(fmt::format("resize {}", n + 1), seen[n].load_factor);
    if (n > 0) least = std::min(least, seen[n].load_factor);
    most = std::max(most, seen[n].load_factor);
  }
  f.value = least;
  f.unit = "at the least, after the first";
  return f;
}

finding movements(laboratory& lab) {
  auto table = make(sized(four, lab), lab.seed());
  const std::uint64_t slots = table->info().slots;
  std::uint64_t records = 0;
  while (table->info().slots == slots)
    for (std::uint64_t i = 0; i < slots / 1024 + 1; ++i) table->insert(lab.key(records++));
  const double share = 100 * table->figure("movements") / static_cast<double>(records);
  return judged(share, "% of the insertions", share <= 1.2, "the tables are small", four.text());
}

// ---- Figure 6(b), 11: updates

finding free_beside(laboratory& lab) {
  picture& drawn =
      lab.draw(figure("6b", "updates that need no log", "load factor", "share of the records"));
  finding f = judged(0, "of the records at load factor 0.5", true, "", as_published.text());
  std::vector<double> shares;
  for (std::uint64_t slots : {4, 7}) {
    drawn.lines.push_back({fmt::format("{} slots", slots), {}});
    for (double load : {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 2.0 / 3, 0.7, 0.8, 0.85}) {
      const double share =
          lab.figure_at(sized(level.with("slots", slots), lab), load, "free_beside", lab.runs(2));
      drawn.lines.back().points.emplace_back(load, share);
      if (slots == 4) shares.push_back(share);
    }
  }
  f.value = shares[4];
  f.beside = {{"at 0.2", shares[1]}, {"at 2/3", shares[6]}, {"at 0.85", shares[9]}};
  if (shares[1] > 0.9 && shares[1] > shares[6]) return f;
  f.is = verdict::differs;
  f.reason = "buckets fill unevenly";
  return f;
}

cost update_at(laboratory& lab, const setup& made, double load) {
  const setup counted = sized(made, lab).on(medium_kind::emulated);
  auto table = lab.filled(counted, load);
  const auto records = static_cast<std::uint64_t>(load * static_cast<double>(table->info().slots));
  // filled() may have tried several sets of keys: those that are there are updated.
  std::uint64_t updated = 0;
  const cost all = lab.cost_of(*table, 1, [&] {
    for (std::uint64_t i = 0; i < records; ++i) updated += table->update(lab.key(i), 1);
  });
  expect_right(updated == records, "update");
  const auto n = static_cast<double>(records);
  return {all.flushes / n, all.fences / n, all.blocks_read / n, all.blocks_written / n};
}

finding log_free_updates(laboratory& lab) {
  picture& drawn = lab.draw(figure("11", "what an update flushes", "load factor", "lines flushed"));
  drawn.lines = {{"as in the paper", {}}, {"in place, one word (default)", {}}};
  std::vector<double> lines;
  for (double load : {0.2, 0.4, 0.6, 0.8}) {
    lines.push_back(update_at(lab, as_published, load).flushes);
    drawn.lines[0].points.emplace_back(load, lines.back());
    drawn.lines[1].points.emplace_back(load, update_at(lab, four, load).flushes);
  }
  const double spared = 1 - lines[0] / lines[3];
  return judged(
      100 * spared, "% fewer lines at load factor 0.2 than at 0.8", spared > 0.15,
      "few buckets have an empty slot", as_published.text(),
      {{"lines at 0.2", lines[0]}, {"0.4", lines[1]}, {"0.6", lines[2]}, {"0.8", lines[3]}});
}

// ---- Figures 10, 12 to 15

finding insertion_by_load(laboratory& lab) {
  const setup made = sized(four, lab).on(medium_kind::emulated);
  picture& drawn = lab.draw(figure("10", "what an insertion costs", "load factor", "a piece"));
  drawn.lines = {{"lines flushed", {}}, {"blocks read", {}}};
  auto table = make(made, lab.seed());
  const auto slots = static_cast<double>(table->info().slots);
  std::uint64_t records = 0;
  std::vector<double> lines;
  for (int tenth = 1; tenth <= 8; ++tenth) {
    const auto until = static_cast<std::uint64_t>(slots * tenth / 10);
    const cost c = lab.cost_of(*table, until - records, [&] {
      while (records < until) expect_right(table->insert(lab.key(records++)), "insert");
    });
    lines.push_back(c.flushes);
    drawn.lines[0].points.emplace_back(tenth / 10.0, c.flushes);
    drawn.lines[1].points.emplace_back(tenth / 10.0, c.blocks_read);
  }
  return judged(lines.back() - lines.front(), "more lines at load factor 0.8 than at 0.1",
                lines.back() < 3, "records are moved more often", four.text(),
                {{"at 0.1", lines.front()}, {"at 0.8", lines.back()}});
}

finding durability_costs(laboratory& lab) {
  setup without = four;
  without.durability = durability_level::process;
  const contest c = lab.compare({four, without}, operation::insert);
  return judged(c.ratio(0, 1), "times the time without flushes", c.ratio(0, 1) > 1.1,
                "the processor writes lines back while it goes on", four.text());
}

finding buckets_of_a_search(laboratory& lab, const char* figure_name, double most,
                            const char* why_not) {
  // Before a resize the paper's searches begin in the top level. The dynamic order is a matter of
  // chance where both levels hold as many records, as at 0.6.
  const setup made = sized(four.with("dynamic", 0), lab);
  const double at_low = lab.figure_at(made, 0.6, figure_name, lab.runs(2)),
               at_high = lab.figure_at(made, 0.8, figure_name, lab.runs(2));
  picture& drawn = lab.draw(figure("12", "buckets that a search looks at", "", "buckets"));
  drawn.bars = {"load factor 0.6", "load factor 0.8"};
  drawn.lines.push_back(
      {figure_name[0] == 'p' ? "present key" : "absent key", {{0, at_low}, {1, at_high}}});
  return judged(at_high, "buckets at load factor 0.8", at_high <= most && at_high >= at_low,
                why_not, made.text(), {{"at 0.6", at_low}});
}

/// Buckets of a hit before a resize at 0.85 and after it.
struct search_order {
  double before = 0, after = 0;
};
search_order around_a_resize(laboratory& lab, bool dynamic) {
  auto table = lab.filled(sized(four.with("dynamic", dynamic), lab), 0.85);
  search_order s{table->figure("positive_probe_mean"), 0};
  table->reserve(static_cast<std::uint64_t>(1.4 * static_cast<double>(table->info().slots)));
  s.after = table->figure("positive_probe_mean");
  return s;
}

finding search_after_resize(laboratory& lab, bool dynamic) {
  const search_order fixed = around_a_resize(lab, false), moving = around_a_resize(lab, true);
  picture& drawn =
      lab.draw(figure("13", "buckets of a present key around a resize", "", "buckets"));
  drawn.bars = {"before", "after"};
  drawn.lines = {{"static order", {{0, fixed.before}, {1, fixed.after}}},
                 {"dynamic order", {{0, moving.before}, {1, moving.after}}}};
  if (!dynamic)
    return judged(fixed.after - fixed.before, "buckets more after it",
                  fixed.after > fixed.before + 0.2, "the top level had caught up", four.text(),
                  {{"before", fixed.before}, {"after", fixed.after}});
  return judged(fixed.after - moving.after, "buckets fewer than the static order",
                moving.after < fixed.after, "the top level had caught up", four.text(),
                {{"static", fixed.after}, {"dynamic", moving.after}});
}

/// Lines that are flushed to double a table at load factor 0.85, and to load its records anew.
finding resize_against_rehash(laboratory& lab) {
  const setup made = sized(four, lab).on(medium_kind::emulated);
  auto table = lab.filled(made, 0.85);
  const std::uint64_t slots = table->info().slots;
  const auto records = static_cast<std::uint64_t>(0.85 * static_cast<double>(slots));
  const auto wanted = static_cast<std::uint64_t>(1.4 * static_cast<double>(slots));
  const double in_place = lab.cost_of(*table, 1, [&] { table->reserve(wanted); }).flushes;
  auto anew = make(four.on(medium_kind::emulated), lab.seed());
  const double full = lab.cost_of(*anew, 1,
                                  [&] {
                                    anew->reserve(wanted);
                                    for (std::uint64_t i = 0; i < records; ++i)
                                      anew->insert(lab.key(i));
                                  })
                          .flushes;
  picture& drawn = lab.draw(figure("15", "lines that a resize flushes", "", "lines"));
  drawn.bars = {"in place", "full rehash"};
  drawn.lines = {{"level", {{0, in_place}, {1, full}}}};
  return judged(full / in_place, "times the lines", full / in_place > 2,
                "a resize writes all the lines of the new level, a full rehash those of both; the "
                "paper counts time, and not the zeros of the new level",
                four.text(), {{"in place", in_place}, {"full rehash", full}});
}

finding threads_search(laboratory& lab) {
  picture& drawn =
      lab.draw(figure("16", "searches and insertions", "% of insertions", "million a second"));
  drawn.lines = {{"level, one thread", {}}};
  const contest one = lab.compare({four}, operation::hit),
                two = lab.compare_with_threads({four}, operation::hit, 2);
  const double gain = one.ns[0] / two.ns[0];
  finding f = judged(gain, "times with two threads", gain > 1.2,
                     "small tables end before the second thread runs, or the processors were busy",
                     four.text());
  for (unsigned percent : {10, 30, 50, 70, 90}) {
    const contest c = lab.compare_mixes({four}, percent, operation::insert, 0.99);
    drawn.lines[0].points.emplace_back(percent, 1e3 / c.ns[0]);
    f.beside.emplace_back(fmt::format("M/s with {} % insertions", percent), 1e3 / c.ns[0]);
  }
  return f;
}

const std::pair<const char*, const char*> others[] = {
    {"pfht", "PFHT"}, {"bucketized-cuckoo", "BCH"}, {"path-hashing", "path"}};

finding load_factors_of_others(laboratory& lab) {
  const double own = lab.first_growth_of(sized(four, lab), lab.runs(4));
  finding f = judged(own, "", true, "", four.text());
  std::vector<double> seen;
  for (const auto& [name, title] : others) {
    seen.push_back(lab.first_growth_of(sized(baseline_named(name), lab), lab.runs(4)));
    f.beside.emplace_back(title, seen.back());
  }
  const bool as_told = std::abs(seen[0] - own) < 0.03 && seen[1] < own && seen[2] > 0.9;
  f.is = as_told ? verdict::holds : verdict::differs;
  if (!as_told)
    f.reason =
        "with long paths of displacements cuckoo fills more than level's one movement; the "
        "paper names no limit of its paths";
  return f;
}

/// Lines and fences of an insertion between load factors 0.8 and 0.88.
finding full_tables(laboratory& lab) {
  std::vector<cost> seen;
  std::vector<setup> tables = {four};
  for (const auto& [name, title] : others) tables.push_back(baseline_named(name));
  for (const setup& one : tables) {
    auto table = make(sized(one, lab).on(medium_kind::emulated), lab.seed());
    const auto slots = static_cast<double>(table->info().slots);
    const auto from = static_cast<std::uint64_t>(0.8 * slots),
               until = static_cast<std::uint64_t>(0.88 * slots);
    for (std::uint64_t i = 0; i < from; ++i) expect_right(table->insert(lab.key(i)), "insert");
    seen.push_back(lab.cost_of(*table, until - from, [&] {
      for (std::uint64_t i = from; i < until; ++i)
        expect_right(table->insert(lab.key(i)), "insert");
    }));
  }
  finding f =
      judged(seen[0].flushes / seen[1].flushes, "of PFHT's lines",
             seen[0].flushes < seen[1].flushes && seen[0].flushes < seen[2].flushes &&
                 seen[0].flushes < seen[3].flushes,
             "each scheme writes the item and its token, about two lines; what path hashing "
             "pays for is reading",
             four.text());
  for (std::size_t t = 0; t < tables.size(); ++t) {
    const std::string name = t == 0 ? "level" : others[t - 1].second;
    f.beside.emplace_back(name + ", lines", seen[t].flushes);
    f.beside.emplace_back(name + ", blocks read", seen[t].blocks_read);
  }
  return f;
}

}  // namespace

const std::vector<claim>& level_claims() {
  constexpr auto e = engine_kind::level;
  static const std::vector<claim> all = {
      {"level.fig2", e, "figure 2, §3.1",
       "two places, two levels and one movement fill more than 90 % of the slots",
       "load factor at the first growth, 4 slots", counts, better::higher,
       [](laboratory& lab) {
         const double full = lab.first_growth_of(sized(four, lab), lab.runs(4));
         return judged(full, "", full > 0.9, "the larger the table, the sooner one place is full",
                       four.text());
       }},
      {"level.fig2-decisions", e, "figure 2",
       "each of the four design decisions raises the load factor", "", none, better::neither,
       [](laboratory&) {
         return not_measured("no setting takes the second place or the second level away");
       }},
      {"level.movements", e, "§3.1", "1.2 % of the insertions move a record",
       "insertions that move one, until the first growth", counts, better::lower, movements},
      {"level.four-buckets", e, "§3.1", "a search looks at four buckets at most",
       "buckets of an absent key at load factor 0.8", counts, better::lower,
       [](laboratory& lab) {
         const double mean =
             lab.figure_at(sized(four, lab), 0.8, "negative_probe_mean", lab.runs(2));
         return judged(mean, "buckets on average", mean <= 4, "", four.text());
       }},
      {"level.fig4", e, "figure 4, §3.2",
       "without movements to the top the load factor falls at every other resize",
       "lowest load factor after the first resize, without B2T", counts, better::higher,
       [](laboratory& lab) {
         finding f = resizes(lab, false);
         const auto& seen = growths(lab, false);
         f.is =
             seen[1].load_factor < seen[0].load_factor - 0.02 ? verdict::holds : verdict::differs;
         f.note = "it falls once and stays: each old top is as full as the one before";
         return f;
       }},
      {"level.fig4-b2t", e, "figure 4, §3.2", "with movements to the top it falls less",
       "lowest load factor after the first resize, with B2T", counts, better::higher,
       [](laboratory& lab) {
         finding f = resizes(lab, true);
         const auto& seen = growths(lab, false);
         f.is = f.value > seen[1].load_factor + 0.01 ? verdict::holds : verdict::differs;
         return f;
       }},
      {"level.rehashed", e, "§3.2, §4.2.6", "a resize rehashes less than a third of the records",
       "records that a resize moves, the mean of several", counts, better::lower,
       [](laboratory& lab) {
         double sum = 0, first = 0;
         for (const growth_step& step : growths(lab, true)) {
           sum += step.rehashed;
           if (first == 0) first = step.rehashed;
         }
         const double mean = sum / static_cast<double>(growths(lab, true).size());
         return judged(mean, "of the records", mean < 1.0 / 3,
                       "so it is at the first resize; after one, the old top is the bottom, as "
                       "full as the new top",
                       four.text(), {{"at the first", first}});
       }},
      {"level.fig6b", e, "figure 6(b)",
       "below a load factor of 2/3 most updates find an empty slot beside them",
       "records with an empty slot in their bucket", counts, better::higher, free_beside},
      {"level.fig6b-rises", e, "figure 6(b)",
       "above 2/3 the share of updates without a log rises again",
       "that share at 0.85 less that at 2/3, 4 slots", counts, better::neither,
       [](laboratory& lab) {
         const setup made = sized(four, lab);
         const double low = lab.figure_at(made, 2.0 / 3, "free_beside", lab.runs(2)),
                      high = lab.figure_at(made, 0.85, "free_beside", lab.runs(2));
         return judged(high - low, "of the records", high > low,
                       "the less loaded of the two bottom buckets is filled first, so that both "
                       "fill evenly",
                       made.text(), {{"at 2/3", low}, {"at 0.85", high}});
       }},
      {"level.fig8", e, "figure 8", "more slots in a bucket, a higher load factor",
       "load factor at the first growth", counts, better::higher, by_slots},
      {"level.fig8-others", e, "figure 8",
       "PFHT fills as much as level, bucketized cuckoo less, path hashing 94.2 %",
       "load factor at the first growth, four schemes", counts, better::higher,
       load_factors_of_others},
      {"level.fig9", e, "figure 9", "the distribution of the keys does not matter",
       "load factors at the first growth, three distributions", counts, better::lower,
       by_distribution},
      {"level.fig10", e, "figure 10",
       "an insertion costs little more in a full table than in an empty one",
       "lines flushed by an insertion at load factors 0.1 and 0.8", counts, better::lower,
       insertion_by_load},
      {"level.fig10-fences", e, "§3.3",
       "an insertion without a log needs the record and its token, in order",
       "fences of an insertion while the table grows", counts, better::lower,
       [](laboratory& lab) {
         const cost& c = lab.costs_of(four).growing;
         return judged(c.fences, "fences", c.fences < 2.2, "growth is in it", four.text(),
                       {{"lines", c.flushes}});
       }},
      {"level.fig10-nvm", e, "figures 10(a), 10(b)",
       "flushes make an insertion much slower, however fast the memory",
       "time of an insertion at the level power over process", times, better::neither,
       durability_costs},
      {"level.fig10-others", e, "figure 10(b)",
       "above 0.8 an insertion takes a third of bucketized cuckoo's time, 57 % of PFHT's, 70 % of "
       "path hashing's",
       "lines flushed by an insertion between load factors 0.8 and 0.88, level over PFHT", counts,
       better::lower, full_tables},
      {"level.fig11", e, "figure 11",
       "updates without a log are 15 to 52 % faster than with one each time",
       "lines of an update where all find an empty slot, and where few do", counts, better::higher,
       log_free_updates},
      {"level.fig11-word", e, "§3.3", "an update writes the item anew, or logs it first",
       "lines flushed by an update of one word in place", counts, better::lower,
       [](laboratory& lab) {
         const cost& c = lab.costs_of(four).update;
         return judged(c.flushes, "lines", c.flushes >= 2,
                       "a value is one word here: one store, one flush and one fence change it",
                       four.text(), {{"fences", c.fences}});
       }},
      {"level.fig12-positive", e, "figure 12", "a present key is found in few buckets, more at 0.8",
       "buckets of a present key", counts, better::lower,
       [](laboratory& lab) {
         return buckets_of_a_search(lab, "positive_probe_mean", 2.5, "the levels are fuller");
       }},
      {"level.fig12-negative", e, "figure 12", "an absent key takes all four buckets",
       "buckets of an absent key", counts, better::lower,
       [](laboratory& lab) {
         const double mean =
             lab.figure_at(sized(four, lab), 0.8, "negative_probe_mean", lab.runs(2));
         buckets_of_a_search(lab, "negative_probe_mean", 4, "");
         return judged(mean, "buckets at load factor 0.8", mean > 3.9,
                       "a filter in the bucket above tells that nothing lies below", four.text());
       }},
      {"level.fig12-order", e, "figure 12", "absent keys cost more than present ones",
       "blocks of 256 bytes, absent less present", counts, better::neither,
       [](laboratory& lab) {
         const operation_costs& c = lab.costs_of(four);
         const double more = c.miss.blocks_read - c.hit.blocks_read;
         return judged(more, "blocks", more > 0, "the filter spares the bottom level", four.text(),
                       {{"present", c.hit.blocks_read}, {"absent", c.miss.blocks_read}});
       }},
      {"level.fig13", e, "figure 13",
       "after a resize searches in static order look at more buckets",
       "buckets of a present key, after a resize less before", counts, better::neither,
       [](laboratory& lab) { return search_after_resize(lab, false); }},
      {"level.fig13-dynamic", e, "figure 13", "the dynamic order spares most of that",
       "buckets of a present key after a resize, static less dynamic", counts, better::higher,
       [](laboratory& lab) { return search_after_resize(lab, true); }},
      {"level.fig14", e, "figure 14", "a deletion is a search and one flush",
       "lines flushed by a deletion", counts, better::lower,
       [](laboratory& lab) {
         const operation_costs& c = lab.costs_of(four);
         picture& drawn = lab.draw(figure("14", "a deletion beside a search", "", "a piece"));
         drawn.bars = {"blocks read", "lines flushed", "fences"};
         drawn.lines = {
             {"present key", {{0, c.hit.blocks_read}, {1, c.hit.flushes}, {2, c.hit.fences}}},
             {"deletion", {{0, c.erase.blocks_read}, {1, c.erase.flushes}, {2, c.erase.fences}}}};
         return judged(
             c.erase.flushes, "lines", c.erase.flushes < 1.1,
             "a removal now and then starts to shrink the table", four.text(),
             {{"fences", c.erase.fences},
              {"blocks read more than by a search", c.erase.blocks_read - c.hit.blocks_read}});
       }},
      {"level.fig15", e, "figure 15", "a resize in place takes a quarter of a full rehash's time",
       "lines flushed by a full rehash over those of a resize", counts, better::higher,
       resize_against_rehash},
      {"level.fig16", e, "figure 16",
       "searches lock nothing for long: throughput grows with threads",
       "searches with two threads over one", times, better::higher, threads_search},
      {"level.fig16-libcuckoo", e, "figure 16", "1.6 to 2.1 times the throughput of libcuckoo", "",
       none, better::neither,
       [](laboratory&) { return not_measured("libcuckoo is no part of this project"); }},
  };
  return all;
}

}  // namespace durahash::reproduce
