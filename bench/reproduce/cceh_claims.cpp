// CCEH (FAST'19): figures 6 to 11, recovery, and what the text says beside them.
#include <fmt/format.h>

#include <algorithm>

#include "bench/reproduce/laboratory.hpp"

namespace durahash::reproduce {
namespace {

using enum evidence;

const setup cceh{engine_kind::cceh};
const setup level{engine_kind::level};
const setup turbo{engine_kind::turbo};
/// The paper probes four buckets, and splits in place unless it says CCEH(C).
const setup copying = cceh.with("probe", 4);
const setup in_place = copying.with("copy_on_write", 0);

double kib_of(std::uint64_t segment_log2) { return static_cast<double>(1 << segment_log2) / 16; }

/// Segments of 1 KiB to 256 KiB, but for those that a small table has too few of.
std::vector<std::uint64_t> segments(const laboratory& lab) {
  std::vector<std::uint64_t> some;
  for (std::uint64_t log2 : {4, 6, 8, 10, 12})
    if (lab.keys() >= std::uint64_t{32} << log2) some.push_back(log2);
  return some;
}

picture figure_6(const char* letter, const char* title, const char* y) {
  return {fmt::format("cceh-6{}", letter),
          engine_kind::cceh,
          fmt::format("CCEH, figure 6({}): {}", letter, title),
          "segment, KiB",
          y,
          true};
}

// ---- Figure 6: the size of a segment

finding insertion_by_segment(laboratory& lab) {
  std::vector<setup> tables;
  for (std::uint64_t log2 : segments(lab)) tables.push_back(in_place.with("segment", log2));
  const contest result = lab.compare(tables, operation::insert);
  picture& drawn =
      lab.draw(figure_6("a", "insertions by the size of a segment", "million per second"));
  drawn.lines.push_back({"CCEH(MSB)", {}});
  finding f = judged(0, "KiB is the fastest", true, "", in_place.text());
  double best = 0;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const double kib = kib_of(segments(lab)[i]), mops = 1e3 / result.ns[i];
    drawn.lines.back().points.emplace_back(kib, mops);
    f.beside.emplace_back(fmt::format("M/s with {} KiB", kib), mops);
    if (mops > best) best = mops, f.value = kib;
  }
  if (f.value >= 4 && f.value <= 16) return f;
  f.is = verdict::differs;
  f.reason = "a split writes whole lines in their order and fences once, so sizes differ little";
  return f;
}

finding flushes_by_segment(laboratory& lab) {
  picture& drawn = lab.draw(figure_6("b", "lines that an insertion flushes", "lines"));
  drawn.lines = {{"CCEH(MSB)", {}}, {"CCEH(C)", {}}};
  double least = 1e9, most = 0;
  for (std::uint64_t log2 : segments(lab)) {
    const double flushes = lab.costs_of(in_place.with("segment", log2)).growing.flushes;
    least = std::min(least, flushes), most = std::max(most, flushes);
    drawn.lines[0].points.emplace_back(kib_of(log2), flushes);
    drawn.lines[1].points.emplace_back(kib_of(log2),
                                       lab.costs_of(copying.with("segment", log2)).growing.flushes);
  }
  finding f = judged(lab.costs_of(in_place).growing.flushes, "lines", most < 3.5,
                     "splits write more lines than the paper counts", in_place.text(),
                     {{"least of all sizes", least}, {"most", most}});
  f.note = "one for the record, the rest is its share of splits";
  return f;
}

/// With room for eight times the records, so that no window fills.
finding insertion_without_a_split(laboratory& lab) {
  const std::uint64_t records = lab.size(25'000, 2'500);
  auto table = make(copying.on(medium_kind::emulated), lab.seed());
  table->reserve(8 * records);
  const double before = table->figure("splits");
  const cost c = lab.cost_of(*table, records, [&] {
    for (std::uint64_t i = 0; i < records; ++i) expect_right(table->insert(lab.key(i)), "insert");
  });
  const double splits = table->figure("splits") - before;
  return judged(c.flushes, "lines", c.flushes < 1.05, "segments were split in spite of the room",
                copying.text(), {{"fences", c.fences}, {"splits", splits}});
}

finding probing_by_segment(laboratory& lab) {
  picture& drawn = lab.draw(figure_6("c", "lines that a search reads beyond its home", "lines"));
  drawn.lines = {{"present key", {}}, {"absent key", {}}};
  finding f = judged(0, "extra lines at the largest segment", true, "", copying.text());
  std::vector<double> extra;
  for (std::uint64_t log2 : segments(lab)) {
    auto table = make(copying.with("segment", log2), lab.seed());
    for (std::uint64_t i = 0; i < lab.keys(); ++i) table->insert(lab.key(i));
    extra.push_back(table->figure("positive_probe_mean") - 1);
    drawn.lines[0].points.emplace_back(kib_of(log2), extra.back());
    drawn.lines[1].points.emplace_back(kib_of(log2), table->figure("negative_probe_mean") - 1);
    f.beside.emplace_back(fmt::format("{} KiB", kib_of(log2)), extra.back());
  }
  f.value = extra.back();
  f.note = "the paper names no sizes for its two figures";
  if (extra.back() < 0.05 && extra.front() > extra.back()) return f;
  f.is = verdict::differs;
  f.reason = "records leave their home lines more often";
  return f;
}

// ---- Figures 7 to 9

double lines_of_a_split(laboratory& lab, const setup& scheme) {
  auto table = make(scheme.on(medium_kind::emulated), lab.seed());
  const cost c = lab.cost_of(*table, 1, [&] {
    for (std::uint64_t i = 0; i < lab.keys(); ++i) table->insert(lab.key(i));
  });
  return (c.flushes - static_cast<double>(lab.keys())) / table->figure("splits");
}

finding split_in_either_scheme(laboratory& lab) {
  const double here = lines_of_a_split(lab, in_place), copied = lines_of_a_split(lab, copying);
  return judged(copied / here, "times the lines", copied / here > 1.8 && copied / here < 2.2,
                "two new segments are written where one is", copying.text(),
                {{"lines of a split, copying", copied}, {"in place", here}});
}

/// A latency is waited for, so that more records tell nothing but take longer.
constexpr std::uint64_t most_that_wait = 200'000;

/// ns that an insertion into a growing table takes, at each latency of a flush.
finding insertion_by_latency(laboratory& lab) {
  laboratory slow = lab.of_at_most(most_that_wait);
  picture& drawn = lab.draw({"cceh-7", engine_kind::cceh, "CCEH, figure 7: insertion by latency",
                             "ns that a flush takes longer", "ns of an insertion"});
  drawn.lines = {{"CCEH", {}}, {"CCEH(C)", {}}, {"level", {}}};
  bool fastest = true;
  finding f = judged(0, "of level's time at 500 ns", true, "", in_place.text());
  for (std::uint32_t flush : {0, 200, 500}) {
    const contest c = slow.compare({in_place.with_latencies(flush, 0, flush ? 300 : 0),
                                    copying.with_latencies(flush, 0, flush ? 300 : 0),
                                    level.with_latencies(flush, 0, flush ? 300 : 0)},
                                   operation::insert);
    for (int i = 0; i < 3; ++i) drawn.lines[i].points.emplace_back(flush, c.ns[i]);
    fastest = fastest && c.ns[0] < c.ns[2];
    f.value = c.ratio(0, 2);
    f.beside.emplace_back(fmt::format("ns, CCEH at {} ns", flush), c.ns[0]);
    f.beside.emplace_back(fmt::format("level at {} ns", flush), c.ns[2]);
  }
  f.parameters += fmt::format(
      "; {} records, medium emulated, a block read 300 ns longer where a flush does", slow.keys());
  if (fastest) return f;
  f.is = verdict::differs;
  f.reason = "splits in place flush more than level's filters spare";
  return f;
}

finding rehashing_share(laboratory& lab) {
  auto growth = [&](const setup& s) {
    const operation_costs& c = lab.costs_of(s);
    return c.growing.flushes - c.steady.flushes;
  };
  const double own = growth(in_place), copied = growth(copying), other = growth(level);
  return judged(other - own, "more lines an insertion", other > own,
                "level drains a bucket at a time and shares its fences; and its steady insertions "
                "write two lines, which a growing table spares at low load factors",
                in_place.text(),
                {{"lines for growth, CCEH", own}, {"CCEH(C)", copied}, {"level", other}});
}

finding longest_wait(laboratory& lab) {
  // The rate is what level does without waiting, so that a queue forms where growth takes long.
  const contest c = lab.compare({cceh, level, turbo}, operation::insert);
  const double rate = 0.5e9 / *std::max_element(c.ns.begin(), c.ns.end());
  picture& drawn = lab.draw(
      {"cceh-8a", engine_kind::cceh, "CCEH, figure 8(a): latency of an insertion, waiting included",
       "us from its arrival to its end", "share that takes longer", true, true});
  finding f = judged(0, "of level's longest", true, "", cceh.text());
  std::vector<double> longest;
  for (const setup& one : {cceh, level, turbo}) {
    const arrivals& seen = lab.load_with_arrivals(one, rate);
    const auto all = static_cast<double>(seen.ns.count());
    double left = all;
    drawn.lines.push_back({one.text(), {}});
    for (const auto& [at_most, count] : seen.ns.steps()) {
      left -= static_cast<double>(count);
      if (left > 0)
        drawn.lines.back().points.emplace_back(static_cast<double>(at_most) / 1e3, left / all);
    }
    longest.push_back(static_cast<double>(seen.ns.max()));
    f.beside.emplace_back("us at p99.9, " + one.text(), seen.at(0.999) / 1e3);
    f.beside.emplace_back("longest, " + one.text(), longest.back() / 1e3);
  }
  f.value = longest[0] / longest[1];
  f.parameters += fmt::format("; {:.0f} arrivals a second, Poisson", rate);
  if (f.value < 0.5) return f;
  f.is = verdict::differs;
  f.reason = "level does not rehash the whole table at once here: each write drains one bucket";
  return f;
}

finding threads_insert(laboratory& lab) {
  const contest one = lab.compare({in_place, copying}, operation::insert),
                two = lab.compare_with_threads({in_place, copying}, operation::insert, 2);
  return judged(one.ns[0] / two.ns[0], "times with two threads", two.ns[0] < one.ns[0],
                "small tables end before the second thread runs, or the processors were busy",
                in_place.text(),
                {{"CCEH(C)", one.ns[1] / two.ns[1]},
                 {"CCEH over CCEH(C), one thread", one.ns[1] / one.ns[0]},
                 {"two threads", two.ns[1] / two.ns[0]}});
}

finding search_of_schemes(laboratory& lab) {
  const contest c = lab.compare({in_place, copying, level}, operation::hit);
  return judged(c.ns[0] / c.ns[1], "times the searches", c.ns[0] / c.ns[1] > 1.3,
                "readers take no lock in either scheme here; what is left are stale records",
                copying.text(), {{"over level", c.ns[2] / c.ns[1]}});
}

finding absent_keys(laboratory& lab) {
  const contest c = lab.compare({in_place, copying, level}, operation::miss);
  return judged(c.ns[2] / c.ns[0], "times level's searches", c.ns[2] > c.ns[0],
                "level reads the bottom level rarely here: a filter in the bucket above tells that "
                "nothing is there",
                in_place.text(), {{"CCEH(C) over CCEH", c.ns[0] / c.ns[1]}});
}

// ---- Figures 10, 11, recovery

finding by_size(laboratory& lab) {
  // The same run with a small and a large table, in turns.
  laboratory small(std::max<std::uint64_t>(lab.keys() / 16, 1000), lab.seed(), true);
  const contest few = small.compare_mixes({cceh, level}, 50, operation::insert, 0.99),
                many = lab.compare_mixes({cceh, level}, 50, operation::insert, 0.99);
  const double ours = many.ns[0] / few.ns[0], theirs = many.ns[1] / few.ns[1];
  picture& drawn =
      lab.draw({"cceh-10", engine_kind::cceh, "CCEH, figure 10: half inserts, half reads",
                "records", "million operations per second", true});
  for (int i = 0; i < 2; ++i)
    drawn.lines.push_back({few.names[i],
                           {{static_cast<double>(small.keys()), 1e3 / few.ns[i]},
                            {static_cast<double>(lab.keys()), 1e3 / many.ns[i]}}});
  return judged(ours, "times as long in a table 16 times as large", ours > 1.05,
                "both tables and both directories fit into the caches", cceh.text(),
                {{"level", theirs}});
}

finding directory_bytes(laboratory& lab) {
  auto table = make(copying, lab.seed());
  for (std::uint64_t i = 0; i < lab.keys(); ++i) table->insert(lab.key(i));
  const auto depth = static_cast<unsigned>(table->figure("global_depth"));
  const double bytes = 8.0 * static_cast<double>(std::uint64_t{1} << depth),
               each = bytes / static_cast<double>(lab.keys());
  finding f = judged(each, "bytes", each < 0.13, "the deepest segment decides for all",
                     copying.text(), {{"bytes in all", bytes}, {"global depth", depth}});
  f.note = "1 MB for 16 million is 0.066 for each; between two doublings it is up to twice that";
  return f;
}

finding load_factor_by_probe(laboratory& lab, std::uint64_t probe, double from, double to) {
  const setup made = copying.with("probe", probe);
  const load_curve& c = lab.curve_of(made);
  picture& drawn = lab.draw({"cceh-11", engine_kind::cceh, "CCEH, figure 11: load factor",
                             "records", "load factor", true});
  drawn.lines.push_back({fmt::format("CCEH({})", probe), {}});
  for (const auto& look : c.looks)
    drawn.lines.back().points.emplace_back(static_cast<double>(look.records), look.load_factor);
  return judged(c.mean, "on average", c.mean >= from && c.mean <= to,
                "a segment splits as soon as one window is full, and its halves are half empty; "
                "TurboHash §4.5 gives less than .44 at a probe of 4",
                made.text(), {{"least", c.least}, {"most", c.most}});
}

finding load_factor_swing(laboratory& lab) {
  const load_curve &own = lab.curve_of(copying), &other = lab.curve_of(level.with("slots", 4));
  picture& drawn = lab.draw({"cceh-11", engine_kind::cceh, "CCEH, figure 11: load factor",
                             "records", "load factor", true});
  drawn.lines.push_back({"level", {}});
  for (const auto& look : other.looks)
    drawn.lines.back().points.emplace_back(static_cast<double>(look.records), look.load_factor);
  const double swing = own.most - own.least, theirs = other.most - other.least;
  return judged(swing, "between least and most", swing < theirs,
                "all segments of evenly spread keys split at nearly the same time", copying.text(),
                {{"level", theirs}, {"level, least", other.least}, {"level, most", other.most}});
}

finding recovery(laboratory& lab) {
  const std::uint64_t few = lab.keys() / 4, many = lab.keys();
  const double small = lab.seconds_to_reopen(copying, few),
               large = lab.seconds_to_reopen(copying, many);
  return judged(large * 1e3, "ms after a kill", large < 0.06 && large < small * 8,
                "it grew by more than the directory", copying.text() + ", level process",
                {{fmt::format("ms with {} records", few), small * 1e3},
                 {fmt::format("ms with {} records", many), large * 1e3}});
}

finding extendible_hashing_flushes(laboratory& lab) {
  const setup lsb = baseline_named("extendible-lsb");
  const double lines = lab.costs_of(lsb).growing.flushes,
               own = lab.costs_of(in_place.with("segment", 4)).growing.flushes;
  return judged(lines, "lines", lines >= 2.3 && lines <= 3.7,
                "a split writes each line of the new block once, the depth, and both halves' "
                "entries; what else the paper's table wrote back is not told",
                lsb.text(), {{"CCEH with its smallest segments", own}});
}

/// Insertions with slow write-backs. All tables begin small.
finding slow_writes(laboratory& lab) {
  laboratory slow = lab.of_at_most(most_that_wait);
  const setup linear = baseline_named("linear-probing"),
              cuckoo = baseline_named("bucketized-cuckoo"), path = baseline_named("path-hashing");
  const contest c =
      slow.compare({copying.with_latencies(500, 0, 300), linear.with_latencies(500, 0, 300),
                    cuckoo.with_latencies(500, 0, 300), path.with_latencies(500, 0, 300)},
                   operation::insert);
  finding f = judged(c.ratio(0, 1), "times linear probing's time",
                     c.ns[1] < c.ns[0] && c.ns[2] < c.ns[0] &&
                         c.ns[3] == *std::max_element(c.ns.begin(), c.ns.end()),
                     "a token costs cuckoo and path hashing a second line and fence, and all three "
                     "rehash the whole table as they grow",
                     fmt::format("{}; {} records, medium emulated, a flush 500 ns longer, a block "
                                 "read 300",
                                 copying.text(), slow.keys()));
  for (std::size_t t = 0; t < c.ns.size(); ++t)
    f.beside.emplace_back("ns, " + c.names[t].substr(0, c.names[t].find(',')), c.ns[t]);
  return f;
}

}  // namespace

const std::vector<claim>& cceh_claims() {
  constexpr auto e = engine_kind::cceh;
  static const std::vector<claim> all = {
      {"cceh.fig6a", e, "figure 6(a)", "insertion is fastest with segments of 4 to 16 KiB",
       "the segment with the fastest insertion", times, better::neither, insertion_by_segment},
      {"cceh.fig6b", e, "figure 6(b)",
       "an insertion without a collision flushes one line; with splits 1 to 3.5",
       "lines flushed by an insertion while the table grows", counts, better::lower,
       flushes_by_segment},
      {"cceh.fig6b-steady", e, "§6.1", "an insertion that meets no split flushes one line",
       "lines flushed by an insertion with ample room", counts, better::lower,
       insertion_without_a_split},
      {"cceh.fig6b-grows", e, "figure 6(b)",
       "the larger the segment, the more lines an insertion flushes",
       "lines with the largest segments less lines with the smallest", counts, better::neither,
       [](laboratory& lab) {
         const auto sizes = segments(lab);
         auto flushes = [&](std::uint64_t log2) {
           return lab.costs_of(in_place.with("segment", log2)).growing.flushes;
         };
         const double more = flushes(sizes.back()) - flushes(sizes.front());
         return judged(more, "lines", more > 0, "small segments have more directory to write",
                       in_place.text());
       }},
      {"cceh.fig6-exth", e, "figure 6(b)",
       "extendible hashing with 256-byte buckets flushes 3.5 lines, with larger ones 2.3",
       "lines flushed by an insertion, blocks of 256 bytes", counts, better::neither,
       extendible_hashing_flushes},
      {"cceh.fig6c", e, "figure 6(c)",
       "a search reads 0.221 extra lines with small segments, 0.017 with large ones",
       "lines that a hit reads beyond its home line", counts, better::lower, probing_by_segment},
      {"cceh.two-lines", e, "§1, §7", "a search reads at most two lines: directory and bucket",
       "lines of a present key, the directory's included", counts, better::lower,
       [](laboratory& lab) {
         auto table = make(copying, lab.seed());
         for (std::uint64_t i = 0; i < lab.keys(); ++i) table->insert(lab.key(i));
         const double mean = 1 + table->figure("positive_probe_mean");
         return judged(mean, "lines on average", mean < 2.05,
                       "two nearly always: now and then a record lies behind its home line",
                       copying.text());
       }},
      {"cceh.fig7", e, "figure 7", "CCEH inserts fastest at every latency of reads and writes",
       "time of an insertion into a growing table", times, better::lower, insertion_by_latency},
      {"cceh.fig7-split", e, "figure 7, §5",
       "rehashing costs CCEH(C) twice what it costs CCEH, which keeps one half in place",
       "lines of a copying split over lines of one in place", counts, better::neither,
       split_in_either_scheme},
      {"cceh.fig7-rehash", e, "figure 7", "level hashing rehashes at a higher cost than CCEH",
       "lines flushed for growth by an insertion, level less CCEH", sampled, better::neither,
       rehashing_share},  // level's next level is made beside its writers
      {"cceh.fig7-linear", e, "figure 7",
       "with slow writes linear probing and cuckoo hashing outdo CCEH(C); path hashing is slowest",
       "time of an insertion, CCEH(C) over linear probing", times, better::neither, slow_writes},
      {"cceh.fig8a", e, "figure 8(a)",
       "the longest insertion of level hashing takes ten times as long as CCEH's",
       "longest insertion of CCEH over level's, arrivals at random", times, better::neither,
       longest_wait},
      {"cceh.fig8b", e, "figure 8(b)",
       "insertions scale with threads, and CCEH is a little faster than CCEH(C)",
       "insertions with two threads over one", times, better::higher, threads_insert},
      {"cceh.fig8c", e, "figure 8(c)", "CCEH(C) finds 1.63 times as many present keys as CCEH",
       "searches of CCEH(C) over those of CCEH", times, better::neither, search_of_schemes},
      {"cceh.fig8c-level", e, "figure 8(c)",
       "CCEH(C) finds 2.74 times as many present keys as level hashing",
       "searches of CCEH(C) over those of level", times, better::higher,
       [](laboratory& lab) {
         const contest c = lab.compare({in_place, copying, level}, operation::hit);
         return judged(c.ns[2] / c.ns[1], "times", c.ns[2] / c.ns[1] > 1.2,
                       "level reads few buckets here, by tags and filters, and takes no lock",
                       copying.text());
       }},
      {"cceh.fig9", e, "figure 9", "CCEH answers absent keys faster than level hashing",
       "searches of CCEH over those of level", times, better::higher, absent_keys},
      {"cceh.fig9-lines", e, "figure 9, §3.2", "a search for an absent key reads up to four lines",
       "lines of an absent key, the longest over all homes", counts, better::lower,
       [](laboratory& lab) {
         auto table = make(in_place, lab.seed());
         for (std::uint64_t i = 0; i < lab.keys(); ++i) table->insert(lab.key(i));
         const double most = table->figure("negative_probe_max");
         return judged(most, "lines", most <= 4, "", in_place.text(),
                       {{"mean", table->figure("negative_probe_mean")}});
       }},
      {"cceh.fig9-stale", e, "§5",
       "CCEH(C) probes less than CCEH, since nothing invalid stays in its segments",
       "lines of an absent key in place over copying", counts, better::neither,
       [](laboratory& lab) {
         auto lines = [&](const setup& scheme) {
           auto table = make(scheme, lab.seed());
           for (std::uint64_t i = 0; i < lab.keys(); ++i) table->insert(lab.key(i));
           return table->figure("negative_probe_mean");
         };
         const double stale = lines(in_place), clean = lines(copying);
         return judged(stale / clean, "times", stale > clean, "", in_place.text(),
                       {{"in place", stale}, {"copying", clean}});
       }},
      {"cceh.fig10", e, "figure 10",
       "throughput falls as the table grows: the directory leaves the cache",
       "time of an operation, half inserts and half reads", times, better::neither, by_size},
      {"cceh.fig10-directory", e, "§6.3", "16 million records have a directory of 1 MB",
       "bytes of directory for a record", counts, better::lower, directory_bytes},
      {"cceh.fig11-4", e, "figure 11", "with a probe of 4 the load factor is 50 to 60 %",
       "load factor over three doublings", counts, better::higher,
       [](laboratory& lab) { return load_factor_by_probe(lab, 4, 0.5, 0.6); }},
      {"cceh.fig11-16", e, "figure 11", "with a probe of 16 the load factor is 70 to 80 %",
       "load factor over three doublings", counts, better::higher,
       [](laboratory& lab) { return load_factor_by_probe(lab, 16, 0.7, 0.8); }},
      {"cceh.fig11-64", e, "figure 11", "with a probe of 64 the load factor reaches 92 %",
       "highest load factor over three doublings", counts, better::higher,
       [](laboratory& lab) {
         finding f = load_factor_by_probe(lab, 64, 0, 1);
         const double most = f.beside[1].second;
         f.beside.emplace_back("mean", f.value);
         f.value = most, f.unit = "at most";
         f.reason = "a window is full before that, and the halves of a split are half empty";
         f.is = most >= 0.9 ? verdict::holds : verdict::differs;
         if (f.is == verdict::holds) f.reason.clear();
         return f;
       }},
      {"cceh.fig11-level", e, "figure 11",
       "level's load factor goes between 50 and 90 %, CCEH's curve is smoother",
       "load factor of CCEH: most less least", counts, better::neither, load_factor_swing},
      {"cceh.recovery", e, "§6.4", "recovery takes 13.7 ms at 32 million records, 59.5 at 128",
       "from the opening of a killed pool to the first answer", times, better::lower, recovery},
  };
  return all;
}

}  // namespace durahash::reproduce
