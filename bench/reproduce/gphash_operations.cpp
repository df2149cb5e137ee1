// GPHash, figures 5 to 15, of the host's engine.
#include <algorithm>
#include <chrono>

#include "bench/clock.hpp"
#include "bench/embedding_tables.hpp"
#include "bench/reproduce/gphash_claims.hpp"
#include "bench/rmat_graph.hpp"
#include "bench/scratch_pool.hpp"

namespace durahash::reproduce::gphash_paper {
namespace {

using enum evidence;

// ---- Copies of hot buckets

struct looked {
  double hit_rate = 0;  ///< of the buckets that searches look at
  double blocks = 0;    ///< of the pool that an operation reads
};

enum class stream : std::uint8_t { zipfian, embeddings, graph };

/// Looks, behind three loads of the cache. A write updates the key.
looked look(laboratory& lab, std::uint64_t percent, std::uint64_t policy, double theta,
            unsigned percent_writes = 0, stream from = stream::zipfian) {
  const std::string name = fmt::format("gphash, cache {} {} {} {} {}", percent, policy, theta,
                                       percent_writes, static_cast<int>(from));
  return lab.once(name, [&] {
    const std::uint64_t n = lab.size(100'000, 10'000);
    const bench::zipfian_ranks ranks(n, theta);
    const bench::permutation order(n, lab.seed());
    const bench::embedding_tables rows(n, lab.seed());
    const bench::rmat_graph edges(n, lab.seed());
    bench::random_source random(lab.seed(), percent + 100 * policy);
    setup made = gphash.with("cache", percent).with("cache_policy", policy);
    if (percent == 0) made = gphash;
    auto table = make(made.on(medium_kind::emulated), lab.seed());
    table->reserve(n);
    for (std::uint64_t i = 0; i < n; ++i) expect_right(table->insert(lab.key(i)), "insert");
    std::uint64_t number = 0;
    auto next = [&] {
      switch (from) {
        case stream::embeddings: return rows.look_up(number++) % n;
        case stream::graph: return edges.edge(number++).target % n;
        default: return order(ranks.rank(random));
      }
    };
    auto work = [&](std::uint64_t count) {
      for (; count > 0; --count) {
        const std::uint64_t key = lab.key(next());
        if (random.below(100) < percent_writes) expect_right(table->update(key, 1), "update");
        else expect_right(table->get(key), "get");
      }
    };
    // A load begins after some searches, and goes on beside them in a thread of its own.
    constexpr unsigned most_rounds = 200;
    for (unsigned round = 0; percent != 0 && table->figure("cache_loads") < 3; ++round) {
      if (round == most_rounds)
        throw bench::failure(status::unusable, "the cache of gphash was not loaded");
      work(n / 2);
    }
    work(n);
    double looks = 0, hits = 0;
    auto add = [&](double sign) {
      if (percent == 0) return;
      const double all = table->figure("cache_looks");
      looks += sign * all, hits += sign * all * table->figure("cache_hit_rate");
    };
    add(-1);
    looked seen;
    seen.blocks = lab.cost_of(*table, 2 * n, [&] { work(2 * n); }).blocks_read;
    add(1);
    if (looks > 0) seen.hit_rate = hits / looks;
    return seen;
  });
}

constexpr double usual = 0.99;  // the paper's skewness
const std::string cached = "gphash, 2L-2H-8S, words, medium emulated; cache in DRAM";

finding hit_rates(laboratory& lab) {
  picture& drawn = lab.draw(figure("11", "hit rate of the copies", "% of the buckets", "hit rate"));
  drawn.lines = {{"LFU", {}}, {"LRU", {}}, {"random", {}}};
  finding f = judged(0, "of the looks, LFU with 20 %", true, "", cached);
  bool in_order = true;
  for (std::uint64_t percent : {10, 20, 40}) {
    double rate[3];
    for (std::uint64_t policy : {0, 1, 2}) {
      rate[policy] = look(lab, percent, policy, usual).hit_rate;
      drawn.lines[policy].points.emplace_back(percent, rate[policy]);
      f.beside.emplace_back(fmt::format("{} with {} %", drawn.lines[policy].name, percent),
                            rate[policy]);
    }
    in_order = in_order && rate[0] > rate[1] - 0.05 && std::min(rate[0], rate[1]) > rate[2];
    if (percent == 20) f.value = rate[0];
  }
  f.is = in_order ? verdict::holds : verdict::differs;
  if (!in_order) f.reason = "the policies were not in the paper's order";
  return f;
}

finding marginal_gain(laboratory& lab) {
  const double none = look(lab, 0, 0, usual).blocks, ten = look(lab, 10, 0, usual).blocks,
               forty = look(lab, 40, 0, usual).blocks;
  return judged((none - ten) / (ten - forty), "times the blocks spared", none - ten > ten - forty,
                "the host's search ends at its key: there is less to spare, and evenly", cached,
                {{"blocks without copies", none}, {"with 10 %", ten}, {"with 40 %", forty}});
}

finding spared_by_writes(laboratory& lab) {
  auto spared = [&](unsigned writes) {
    return 1 - look(lab, 20, 0, usual, writes).blocks / look(lab, 0, 0, usual, writes).blocks;
  };
  const double c = spared(0), b = spared(5), a = spared(50);
  picture& drawn = lab.draw(figure("9", "blocks that copies spare", "", "share"));
  drawn.bars = {"YCSB C", "YCSB B", "YCSB A"};
  drawn.lines = {{"20 % copies, LFU", {{0, c}, {1, b}, {2, a}}}};
  finding f = judged(c - a, "of the blocks more in C than in A", c > b - 0.02 && b > a,
                     "writes look for their key in the pool whatever is copied", cached,
                     {{"C", c}, {"B", b}, {"A", a}});
  if (a < 0) f.note = "with as many updates as reads copies cost more blocks than they spare";
  return f;
}

finding by_skewness(laboratory& lab) {
  picture& drawn = lab.draw(figure("12b", "hit rate by skewness", "theta", "hit rate"));
  drawn.lines = {{"20 % copies, LFU", {}}};
  finding f = judged(0, "more with theta 1.2 than with 0.5", true, "", cached);
  bool rising = true;
  double last = 0;
  for (double theta : {0.5, 0.8, 0.99, 1.2}) {
    const double rate = look(lab, 20, 0, theta).hit_rate;
    drawn.lines[0].points.emplace_back(theta, rate);
    f.beside.emplace_back(fmt::format("theta {}", theta), rate);
    rising = rising && rate > last;
    last = rate;
  }
  f.value = last - f.beside[0].second;
  f.is = rising ? verdict::holds : verdict::differs;
  if (!rising) f.reason = "a more skewed workload hit less";
  return f;
}

finding real_workloads(laboratory& lab) {
  const double uniform = look(lab, 20, 0, 0.0).hit_rate,
               dlrm = look(lab, 20, 0, usual, 0, stream::embeddings).hit_rate,
               graph = look(lab, 20, 0, usual, 0, stream::graph).hit_rate;
  picture& drawn = lab.draw(figure("10", "hit rate of real shapes", "", "hit rate"));
  drawn.bars = {"uniform", "embeddings (DLRM)", "graph (PageRank)"};
  drawn.lines = {{"20 % copies, LFU", {{0, uniform}, {1, dlrm}, {2, graph}}}};
  finding f = judged(std::min(dlrm, graph) - uniform, "of the looks more than with uniform keys",
                     std::min(dlrm, graph) > uniform + 0.1, "the shapes are hardly skewed", cached,
                     {{"uniform", uniform}, {"embeddings", dlrm}, {"graph", graph}});
  f.note = "shapes of the data sets, not the data sets: bench/embedding_tables, bench/rmat_graph";
  return f;
}

/// Searches go on while the cache is loaded: of windows of 20 ms, the slowest twentieth over
/// the median. The very slowest is the scheduler's where other programs run.
finding beside_a_load(laboratory& lab) {
  const std::uint64_t n = lab.keys();
  auto table = make(gphash.with("cache", 20), lab.seed());
  for (std::uint64_t i = 0; i < n; ++i) expect_right(table->insert(lab.key(i)), "insert");
  const bench::zipfian_ranks ranks(n, usual);
  bench::random_source random(lab.seed(), 15);
  picture& drawn =
      lab.draw(figure("15", "searches while copies are loaded", "ms", "million a second"));
  drawn.lines = {{"20 % copies, LFU", {}}};
  constexpr double window = 0.02;
  const std::size_t windows = lab.size(200, 25);
  std::vector<double> rates;
  const auto began = clock::now();
  while (rates.size() < windows) {
    const auto start = clock::now();
    std::uint64_t done = 0;
    double seconds = 0;
    while (seconds < window) {
      for (int i = 0; i < 64; ++i) expect_right(table->get(lab.key(ranks.rank(random) % n)), "get");
      done += 64;
      seconds = bench::seconds_between(start, clock::now());
    }
    rates.push_back(static_cast<double>(done) / seconds / 1e6);
    drawn.lines[0].points.emplace_back(1e3 * bench::seconds_between(began, start), rates.back());
  }
  const double loads = table->figure("cache_loads");
  std::sort(rates.begin(), rates.end());
  const double least = rates[rates.size() / 20] / rates[rates.size() / 2];
  return judged(least, "of the median", least > 0.2 && loads > 0,
                "another program had the processor, or no load came in time",
                gphash.text() + ", cache 20, DRAM",
                {{"loads", loads}, {"median, M/s", rates[rates.size() / 2]}});
}

// ---- Keys

finding by_key_size(laboratory& lab) {
  picture& drawn =
      lab.draw(figure("12a", "blocks of a present key", "bytes of a key", "blocks", true));
  drawn.lines = {{"key in the heap", {}}, {"key in its bucket", {}}};
  std::vector<double> in_heap;
  for (std::size_t bytes : {8, 16, 32, 64, 128}) {
    const setup made = gphash.with_bytes(bytes, 128);
    in_heap.push_back(lab.costs_of(made).hit.blocks_read);
    drawn.lines[0].points.emplace_back(bytes, in_heap.back());
    drawn.lines[1].points.emplace_back(bytes,
                                       lab.costs_of(made.with("key_bytes", bytes)).hit.blocks_read);
  }
  const double more = in_heap.back() / in_heap.front();
  return judged(more, "times the blocks with 128 bytes than with 8", more < 1.3,
                "the record with its key and a value of 128 bytes crosses more blocks",
                gphash.with_bytes(8, 128).text() + " and longer keys",
                {{"blocks, 8 bytes", in_heap.front()},
                 {"blocks, 128 bytes", in_heap.back()},
                 {"in its bucket, 8 bytes", drawn.lines[1].points.front().second},
                 {"in its bucket, 128 bytes", drawn.lines[1].points.back().second}});
}

finding keys_in_place(laboratory& lab) {
  const setup heap = gphash.with_bytes(32, 128), bucket = heap.with("key_bytes", 32);
  const double own = lab.costs_of(bucket).hit.blocks_read,
               other = lab.costs_of(heap).hit.blocks_read;
  return judged(other / own, "times the blocks", other > own,
                "the host reads the value's record anyway, and the bucket is larger", bucket.text(),
                {{"in its bucket", own}, {"in the heap", other}});
}

// ---- Growth and recovery

finding growth_copies(laboratory& lab) {
  const auto& seen = lab.growths_of(gphash.for_records(2'000), lab.size(6, 3));
  finding f =
      judged(seen.back().rehashed, "of the records", true, "", gphash.for_records(2'000).text());
  bool few = true;
  for (std::size_t n = 0; n < seen.size(); ++n) {
    f.beside.emplace_back(fmt::format("growth {}", n + 1), seen[n].rehashed);
    few = few && seen[n].rehashed < 0.45;
  }
  f.is = few ? verdict::holds : verdict::differs;
  if (!few) f.reason = "the bottom level was fuller than the others";
  return f;
}

finding time_of_growth(laboratory& lab) {
  picture& drawn = lab.draw(figure("14a", "the longest insertion", "records", "ms", true));
  drawn.lines = {{"host, one thread", {}}};
  finding f = judged(0, "ms", true, "", gphash.text());
  for (std::uint64_t records = lab.keys() / 16; records <= lab.keys(); records *= 4) {
    double least = 1e18;
    for (unsigned run = 0; run < lab.runs(3); ++run)
      least = std::min(least, lab.longest_insertion(gphash, records) / 1e6);
    drawn.lines[0].points.emplace_back(static_cast<double>(records), least);
    f.beside.emplace_back(fmt::format("{} records", records), least);
    f.value = least;
  }
  f.is = f.value < 300 ? verdict::holds : verdict::differs;
  if (f.is == verdict::differs) f.reason = "one thread of the host copies the bottom level";
  return f;
}

finding recovery(laboratory& lab, bool by_size) {
  const double small = lab.seconds_to_reopen(gphash, lab.keys() / 8),
               large = lab.seconds_to_reopen(gphash, lab.keys());
  picture& drawn =
      lab.draw(figure("14b", "from opening to the first answer", "records", "ms", true));
  drawn.lines = {{"host, one thread",
                  {{static_cast<double>(lab.keys() / 8), small * 1e3},
                   {static_cast<double>(lab.keys()), large * 1e3}}}};
  if (by_size)
    return judged(large / small, "times for eight times the records", large / small < 3,
                  "one thread looks at every slot: the paper's thousands of threads are not built",
                  gphash.text() + ", level process");
  return judged(large * 1e3, "ms", large < 0.3, "one thread looks at every slot",
                gphash.text() + ", level process", {{"an eighth of the records", small * 1e3}});
}

}  // namespace

std::vector<claim> operation_claims() {
  constexpr auto e = engine_kind::gphash;
  return {
      {"gphash.fig5-host", e, "§3.2.3", "an insertion claims, writes and publishes: no log",
       "lines flushed by an insertion with room reserved", counts, better::lower,
       [](laboratory& lab) {
         const operation_costs& c = lab.costs_of(gphash);
         return judged(c.steady.flushes, "lines", c.steady.flushes < 2.1 && c.update.flushes < 1.1,
                       "", gphash.text(),
                       {{"fences", c.steady.fences},
                        {"update", c.update.flushes},
                        {"deletion", c.erase.flushes}});
       }},
      {"gphash.write-optimized", e, "§3.1", "an insertion writes one bucket, and moves nothing",
       "blocks written by an insertion with room reserved", counts, better::lower,
       [](laboratory& lab) {
         const cost& c = lab.costs_of(gphash).steady;
         return judged(c.blocks_written, "blocks", c.blocks_written < 1.05, "", gphash.text(),
                       {{"blocks read", c.blocks_read}});
       }},
      {"gphash.fig9-keys", e, "figure 9", "keys in their buckets gain up to 13.7 %",
       "blocks of a search, key in the heap over key in its bucket, 32 bytes", counts,
       better::higher, keys_in_place},
      {"gphash.fig9-cache", e, "figure 9", "copies gain more the fewer updates there are",
       "blocks of the pool that copies spare", sampled, better::higher, spared_by_writes},
      {"gphash.fig10", e, "figure 10", "real workloads are skewed, and gain from the copies",
       "hit rate of two shapes over that of uniform keys", sampled, better::higher, real_workloads},
      {"gphash.fig11", e, "figure 11", "LFU is a little above LRU, and both far above random",
       "hit rate with copies of 20 % of the buckets", sampled, better::higher, hit_rates},
      {"gphash.fig11-size", e, "figure 11", "the first tenth of copies gains more than 30 % more",
       "blocks that the first tenth spares, over what the next three do", sampled, better::neither,
       marginal_gain},
      {"gphash.fig12a", e, "figure 12(a)", "from 8 to 128 bytes of key throughput falls by 13 %",
       "blocks of a search, keys of 128 bytes over keys of 8", counts, better::lower, by_key_size},
      {"gphash.fig12b", e, "figure 12(b)", "the more skewed the workload, the more copies gain",
       "hit rate with copies of 20 % of the buckets", sampled, better::higher, by_skewness},
      {"gphash.fig13-host", e, "figure 13", "with few slots a search costs more",
       "blocks of an absent key, 4L-2H-4S over 2L-2H-8S", counts, better::neither,
       [](laboratory& lab) {
         const double small = lab.costs_of(shaped(4, 2, 4)).miss.blocks_read,
                      large = lab.costs_of(gphash).miss.blocks_read;
         return judged(small / large, "times the blocks", small > 1.5 * large, "",
                       shaped(4, 2, 4).text(), {{"4L-2H-4S", small}, {"2L-2H-8S", large}});
       }},
      {"gphash.fig13-refused", e, "figure 13", "8L-2H-2S and 1L-1H-32S are on the spectrum", "",
       none, better::neither,
       [](laboratory&) {
         return not_measured("the engine takes 1 to 4 levels of 2 to 16 slots: not built");
       }},
      {"gphash.fig14a", e, "figure 14(a)", "resizing is done within hundreds of milliseconds",
       "the longest insertion while the table grows", times, better::lower, time_of_growth},
      {"gphash.resize-third", e, "§3.2.3", "a resize rehashes the bottom level, and cannot fail",
       "records that a growth copies", counts, better::lower, growth_copies},
      {"gphash.fig14b", e, "figure 14(b)", "recovery takes hundreds of milliseconds at most",
       "from the opening of a killed pool to the first answer", times, better::lower,
       [](laboratory& lab) { return recovery(lab, false); }},
      {"gphash.fig14b-check", e, "§4.7", "looking at the slots' states takes next to no time",
       "time to reopen over that with an eighth of the records", times, better::lower,
       [](laboratory& lab) { return recovery(lab, true); }},
      {"gphash.fig15", e, "figure 15", "throughput does not fall to 0 while copies are loaded",
       "searches in the slowest twentieth of 20 ms each, over the median", times, better::higher,
       beside_a_load},
  };
}

}  // namespace durahash::reproduce::gphash_paper
