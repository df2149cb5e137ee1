// TurboHash, table 1, figures 2, 6 and 8: what an operation reads and writes.
#include <algorithm>

#include "bench/baselines/access_groups.hpp"
#include "bench/reproduce/turbo_claims.hpp"

namespace durahash::reproduce::turbo_paper {
namespace {

using enum evidence;

// ---- Figure 2

finding groups_of_accesses(laboratory& lab, bool writes) {
  picture& drawn = lab.draw(figure(
      writes ? "2-writes" : "2-reads",
      writes ? "blocks written, random and sequential" : "blocks read, random and sequential",
      "accesses of a group", "blocks for each access", true));
  drawn.lines = {{"sequential", {}}, {"random", {}}};
  finding f = judged(0, "times the blocks", true, "", "medium emulated, 8 bytes in each line");
  for (unsigned group : {1, 2, 4, 8, 16, 32}) {
    double blocks[2];
    for (bool random : {false, true}) {
      const auto c = baselines::cost_of_accesses(group, !random, writes, lab.seed());
      blocks[random] = writes ? c.blocks_written : c.blocks_read;
      drawn.lines[random].points.emplace_back(group, blocks[random]);
    }
    f.beside.emplace_back(fmt::format("groups of {}", group), blocks[1] / blocks[0]);
    if (group == 16) f.value = blocks[1] / blocks[0];
  }
  f.is = f.value >= 4 && f.value <= 7 ? verdict::holds : verdict::differs;
  if (f.is == verdict::differs)
    f.reason =
        "a block has four lines, so the count cannot pass 4; the paper's throughput has "
        "prefetching besides, which no count shows";
  return f;
}

// ---- Table 1, figures 6 and 8: what an operation reads and writes

/// The row of figure 6 for one operation: bytes of medium traffic of the tables of words.
finding traffic(laboratory& lab, const char* letter, const char* name, cost operation_costs::*of,
                finding (*judge)(const std::vector<double>&)) {
  picture& drawn = lab.draw(figure(letter, name, "", "bytes of 256-byte blocks"));
  drawn.bars = {"16-byte items", "30-byte items"};
  std::vector<double> bytes;
  for (const setup& one : {turbo, cceh, level, clht, dash, clevel}) {
    bytes.push_back(bytes_of(lab.costs_of(one).*of));
    drawn.lines.push_back({one.text(), {{0, bytes.back()}}});
    if (one.baseline.empty())
      drawn.lines.back().points.emplace_back(1, bytes_of(lab.costs_of(thirty(one)).*of));
  }
  finding f = judge(bytes);
  f.parameters = turbo.text() + "; 16-byte items";
  for (std::size_t i = 0; i < bytes.size(); ++i)
    f.beside.emplace_back(drawn.lines[i].name + ", bytes", bytes[i]);
  return f;
}

/// Turbo's traffic is the least of all.
finding least_traffic(const std::vector<double>& bytes) {
  const double next = *std::min_element(bytes.begin() + 1, bytes.end());
  return judged(next / bytes[0], "times turbo's bytes, the next best table", next > bytes[0],
                "a search that ends in one block is least for any table: what differs is how "
                "full each is at that size",
                "");
}

finding cceh_over_turbo(laboratory& lab, const setup& ours, const setup& theirs,
                        cost operation_costs::*of, double least, double most, const char* why_not) {
  const double own = bytes_of(lab.costs_of(ours).*of), other = bytes_of(lab.costs_of(theirs).*of);
  return judged(other / own, "times turbo's bytes", other / own >= least && other / own <= most,
                why_not, ours.text() + "; " + theirs.text(),
                {{"turbo, bytes", own},
                 {theirs.text() + ", bytes", other},
                 {"load factor of turbo", lab.costs_of(ours).load_factor},
                 {"of " + theirs.text(), lab.costs_of(theirs).load_factor}});
}

/// Why an absent key of CCEH moves more.
constexpr const char* two_windows =
    "two windows of eight lines are four to six blocks, by where each begins";

/// Insertions of the published code, and of the same with its slots written back (bit 0).
finding fences_of_own_code(laboratory& lab) {
  const cost &published = lab.costs_of(own_code).steady,
             &mended = lab.costs_of(own_code.with("mended", 1)).steady;
  return judged(published.fences, "fences", near(published.fences, 2, 0.1),
                "it writes the first line of a bucket back, and not the slot's: hole "
                "turbo-published.slot-not-flushed",
                own_code.text(),
                {{"lines", published.flushes},
                 {"mended, fences", mended.fences},
                 {"mended, lines", mended.flushes}});
}

finding absent_in_cceh(laboratory& lab) {
  auto table = make(cceh, lab.seed());
  for (std::uint64_t i = 0; i < lab.keys(); ++i) table->insert(lab.key(i));
  const double mean = table->figure("negative_probe_mean");
  return judged(mean, "of 8 buckets, the mean", mean > 7.5,
                "here a search ends in the first bucket with a slot that was never used",
                cceh.text(), {{"longest", table->figure("negative_probe_max")}});
}

}  // namespace

std::vector<claim> traffic_claims() {
  return {
      {"turbo.table1", e, "table 1", "a search looks at fewer than 2 buckets on average",
       "buckets of an absent key at load factor 0.7", counts, better::lower,
       [](laboratory& lab) {
         const double mean =
             lab.figure_at(two_shards(128), 0.7, "negative_probe_mean", lab.runs(4));
         return judged(mean, "buckets", mean < 2, "", two_shards(128).text());
       }},
      {"turbo.table1-cceh", e, "table 1", "CCEH searches all of its 8 buckets for an absent key",
       "buckets of an absent key", counts, better::lower, absent_in_cceh},
      {"turbo.fig2-reads", e, "figure 2",
       "16 sequential accesses are 4 to 7 times as fast as 16 random ones: reads",
       "blocks of random groups over blocks of sequential ones", counts, better::neither,
       [](laboratory& lab) { return groups_of_accesses(lab, false); }},
      {"turbo.fig2-writes", e, "figure 2",
       "16 sequential accesses are 4 to 7 times as fast as 16 random ones: writes",
       "blocks of random groups over blocks of sequential ones", counts, better::neither,
       [](laboratory& lab) { return groups_of_accesses(lab, true); }},
      {"turbo.block", e, "§1, §3.2", "an insertion writes one 256-byte block",
       "blocks written by an insertion with room reserved", counts, better::lower,
       [](laboratory& lab) {
         const cost& c = lab.costs_of(turbo).steady;
         return judged(c.blocks_written, "blocks", c.blocks_written < 1.05, "", turbo.text(),
                       {{"lines", c.flushes}, {"fences", c.fences}});
       }},
      {"turbo.insert-fences", e, "§3.4, algorithm 2",
       "an insertion takes two flushes and two fences", "fences of an insertion with room reserved",
       counts, better::lower,
       [](laboratory& lab) {
         const cost& c = lab.costs_of(turbo).steady;
         return judged(c.fences, "fences", near(c.fences, 2, 0.1), "", turbo.text(),
                       {{"lines", c.flushes}});
       }},
      {"turbo.near-place", e, "§3.2, §3.4", "an update writes one block, old and new version in it",
       "blocks written by an update as in the paper", counts, better::lower,
       [](laboratory& lab) {
         const cost& c = lab.costs_of(near_place).update;
         finding f = judged(c.blocks_written, "blocks", c.blocks_written < 1.05, "",
                            near_place.text(), {{"lines", c.flushes}, {"fences", c.fences}});
         f.note = "the default changes a value of one word in place: one line and one fence";
         return f;
       }},
      {"turbo.delete", e, "§3.4, algorithm 3", "a deletion is one atomic write and one fence",
       "fences of a deletion", counts, better::lower,
       [](laboratory& lab) {
         const cost& c = lab.costs_of(turbo).erase;
         return judged(c.fences, "fences", near(c.fences, 1, 0.05), "", turbo.text(),
                       {{"lines", c.flushes}, {"blocks written", c.blocks_written}});
       }},
      {"turbo.fig6f", e, "figure 6(f)", "insertions of TURBO16 and CCEH16 move about as many bytes",
       "bytes of blocks, cceh over turbo, growth in it", counts, better::neither,
       [](laboratory& lab) {
         return cceh_over_turbo(lab, turbo, cceh, &operation_costs::growing, 0.7, 1.3,
                                "a split reads and writes a segment, turbo's growth a shard");
       }},
      {"turbo.fig6f-30", e, "figure 6(f)", "with 30-byte items CCEH moves ten times TURBO's bytes",
       "bytes of blocks, cceh over turbo, growth in it", counts, better::neither,
       [](laboratory& lab) {
         return cceh_over_turbo(lab, thirty(turbo), thirty(cceh), &operation_costs::growing, 3, 100,
                                "no undo log: a record lies in the heap, and one word commits it");
       }},
      {"turbo.fig6f-clht", e, "figure 6(f)", "an insertion of CLHT moves more bytes",
       "bytes of blocks of an insertion with growth", counts, better::lower,
       [](laboratory& lab) {
         return traffic(lab, "6f", "insertion", &operation_costs::growing,
                        [](const std::vector<double>& bytes) {
                          return judged(
                              bytes[3] / bytes[0], "times turbo's bytes", bytes[3] > bytes[0],
                              "the published table begins large and is rehashed seldom", "");
                        });
       }},
      {"turbo.fig6g", e, "figure 6(g)", "a search for a present key moves least bytes in TURBO",
       "bytes of blocks of a present key", counts, better::higher,
       [](laboratory& lab) {
         return traffic(lab, "6g", "present key", &operation_costs::hit, least_traffic);
       }},
      {"turbo.fig6h", e, "figure 6(h)", "a search for an absent key moves least bytes in TURBO",
       "bytes of blocks of an absent key", counts, better::higher,
       [](laboratory& lab) {
         return traffic(lab, "6h", "absent key", &operation_costs::miss, least_traffic);
       }},
      {"turbo.fig6i", e, "figure 6(i)", "an update of TURBO30 moves 30 % more bytes than CLHT30's",
       "bytes of an update of 30-byte items over those of a baseline of words", counts,
       better::lower,
       [](laboratory& lab) {
         traffic(lab, "6i", "update", &operation_costs::update, least_traffic);
         const double own = bytes_of(lab.costs_of(thirty(turbo)).update),
                      other = bytes_of(lab.costs_of(clht).update);
         return judged(own / other, "times", own / other > 1.1 && own / other < 1.6,
                       "an update here writes a record and its bucket; the baseline's item of 16 "
                       "bytes changes in place",
                       thirty(turbo).text(), {{"turbo, bytes", own}, {"p-clht, bytes", other}});
       }},
      {"turbo.fig6j", e, "figure 6(j)", "a deletion moves least bytes in TURBO",
       "bytes of blocks of a deletion", counts, better::higher,
       [](laboratory& lab) {
         return traffic(lab, "6j", "deletion", &operation_costs::erase, least_traffic);
       }},
      {"turbo.fig8", e, "figure 8", "an absent key moves four times TURBO16's bytes in CCEH16",
       "bytes of blocks, cceh over turbo", counts, better::neither,
       [](laboratory& lab) {
         return cceh_over_turbo(
             lab, turbo, cceh, &operation_costs::miss, 2.5, 6,
             "a window of 8 lines is 2 blocks, and a search ends at a free slot; "
             "the published code searches a second window");
       }},
      {"turbo.fig8-locks", e, "figure 8", "CCEH30 writes while it reads: its locks are in the pool",
       "blocks written by a search of cceh", counts, better::lower,
       [](laboratory& lab) {
         const double written = lab.costs_of(thirty(cceh)).hit.blocks_written;
         return judged(written, "blocks", written > 0.5, "readers lock nothing here (hole X2)",
                       thirty(cceh).text());
       }},
      {"turbo.fig6-dash", e, "figure 6(f)", "DASH16 has 30 % more traffic for insertions",
       "bytes of blocks of an insertion with growth, dash-eh over turbo", counts, better::neither,
       [](laboratory& lab) {
         const double own = bytes_of(lab.costs_of(turbo).growing),
                      other = bytes_of(lab.costs_of(dash).growing);
         return judged(other / own, "times turbo's bytes", near(other / own, 1.3, 0.2),
                       "a split of Dash writes its new segment twice and its old one once; which "
                       "of its splits the paper's table took part in is not told",
                       dash.text(), {{"dash-eh, bytes", other}, {"turbo, bytes", own}});
       }},
      {"turbo.fig6g-dash", e, "figure 6(g)", "DASH16 reads more for a present key: its stash",
       "bytes of blocks of a present key, dash-eh over turbo", counts, better::neither,
       [](laboratory& lab) {
         const double ratio = bytes_of(lab.costs_of(dash).hit) / bytes_of(lab.costs_of(turbo).hit);
         return judged(ratio, "times turbo's bytes", ratio > 1.05,
                       "most keys lie in their home bucket, which is one block", dash.text());
       }},
      {"turbo.fig6h-dash", e, "figure 6(h)", "DASH16 searches all target buckets for an absent key",
       "bytes of blocks of an absent key, dash-eh over turbo", counts, better::neither,
       [](laboratory& lab) {
         const double ratio =
             bytes_of(lab.costs_of(dash).miss) / bytes_of(lab.costs_of(turbo).miss);
         return judged(ratio, "times turbo's bytes", ratio > 1.5,
                       "the neighbour's meta data lie in a line of their own block", dash.text());
       }},
      {"turbo.fig8-clevel", e, "figure 8",
       "an insertion of CLEVEL30 moves 2.5 times TURBO30's bytes",
       "bytes of blocks of an insertion with growth, clevel over turbo with 30-byte items", counts,
       better::neither,
       [](laboratory& lab) {
         const double own = bytes_of(lab.costs_of(thirty(turbo)).growing),
                      other = bytes_of(lab.costs_of(clevel).growing);
         return judged(
             other / own, "times turbo's bytes", other / own > 2 && other / own < 3.5,
             "an item of a word each takes a line of its own here, as one of 30 bytes does",
             clevel.text(), {{"clevel, bytes", other}, {"turbo, bytes", own}});
       }},
      {"turbo.fig8-published", e, "figure 8",
       "an absent key moves four times TURBO16's bytes in CCEH16, whose code has a second window",
       "bytes of blocks, cceh-copying over turbo", counts, better::neither,
       [](laboratory& lab) {
         return cceh_over_turbo(lab, turbo, cceh_code, &operation_costs::miss, 2.5, 6, two_windows);
       }},
      {"turbo.code-fences", e, "§3.4, algorithm 2; its code",
       "an insertion takes two flushes and two fences: the published code",
       "fences of an insertion with room reserved, turbo-published", counts, better::neither,
       fences_of_own_code},
      {"turbo.code-fig6f", e, "figure 6(f)",
       "insertions of TURBO16 and CCEH16 move about as many bytes: both as published",
       "bytes of blocks, cceh-copying over turbo-published, growth in it", counts, better::neither,
       [](laboratory& lab) {
         return cceh_over_turbo(lab, own_code_grown(lab), cceh_code, &operation_costs::growing, 0.7,
                                1.3,
                                "an insertion looks for its key in both windows first, which "
                                "CCEH's code does not");
       }},
      {"turbo.code-fig6g", e, "figure 6(g)",
       "a present key moves more bytes in CCEH16 than in TURBO16: both as published",
       "bytes of blocks, cceh-copying over turbo-published", counts, better::neither,
       [](laboratory& lab) {
         return cceh_over_turbo(lab, own_code_grown(lab), cceh_code, &operation_costs::hit, 1.05, 6,
                                "TURBO16's bytes rise with its load factor: a record leaves its "
                                "home's block");
       }},
      {"turbo.code-fig8", e, "figure 8",
       "an absent key moves four times TURBO16's bytes in CCEH16: both as published",
       "bytes of blocks, cceh-copying over turbo-published", counts, better::neither,
       [](laboratory& lab) {
         return cceh_over_turbo(lab, own_code_grown(lab), cceh_code, &operation_costs::miss, 2.5, 6,
                                two_windows);
       }},
  };
}

}  // namespace durahash::reproduce::turbo_paper
