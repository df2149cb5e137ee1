// Level hashing, figures 6(b) and 10 to 16: operations.
#include <cmath>

#include "bench/baselines/registry.hpp"
#include "bench/reproduce/level_claims.hpp"

namespace durahash::reproduce::level_paper {
namespace {

using enum evidence;

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

/// In DRAM, as in the paper: nothing is written back.
finding beside_libcuckoo(laboratory& lab) {
  constexpr const char* name = "dram-libcuckoo";
  if (baselines::baseline_of(name) == nullptr)
    return not_measured(
        "libcuckoo was not there when this program was built (Debian: "
        "libcuckoo-dev)");
  setup ours = four;
  ours.durability = durability_level::process;
  const std::vector<setup> both = {ours, baseline_named(name)};
  const contest found = lab.compare_with_threads(both, operation::hit, 2),
                inserted = lab.compare_with_threads(both, operation::insert, 2);
  const double times =
      (found.ns[1] + inserted.ns[1]) / (found.ns[0] + inserted.ns[0]);  // half of each
  return judged(
      times, "times the operations of libcuckoo", times > 1.3,
      "with two threads few meet in a slot: what counts is an operation's own work", ours.text(),
      {{"searches", found.ns[1] / found.ns[0]}, {"insertions", inserted.ns[1] / inserted.ns[0]}});
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

std::vector<claim> operation_claims() {
  constexpr auto e = engine_kind::level;
  return {
      {"level.four-buckets", e, "§3.1", "a search looks at four buckets at most",
       "buckets of an absent key at load factor 0.8", counts, better::lower,
       [](laboratory& lab) {
         const double mean =
             lab.figure_at(sized(four, lab), 0.8, "negative_probe_mean", lab.runs(2));
         return judged(mean, "buckets on average", mean <= 4, "", four.text());
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
      {"level.fig16-libcuckoo", e, "figure 16", "1.6 to 2.1 times the throughput of libcuckoo",
       "half searches and half insertions by two threads, in DRAM, over libcuckoo's", times,
       better::higher, beside_libcuckoo},
  };
}

}  // namespace durahash::reproduce::level_paper
