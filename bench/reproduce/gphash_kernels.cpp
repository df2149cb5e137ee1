// GPHash, figures 5 to 9, 12(a) and 13, of kernels: counted by the interpreter of test/ptx, without
// a device.
#include "bench/reproduce/gphash_claims.hpp"
#include "bench/reproduce/kernel_budgets.hpp"

namespace durahash::reproduce::gphash_paper {
namespace {

using enum evidence;

constexpr const char* in_pool = ", pool, levels2_hashes2_slots8";
constexpr const char* in_mirror = ", device mirror, levels2_hashes2_slots8";
constexpr const char* in_lists = ", slab lists, 80 % full";
constexpr const char* in_lists_without_log = ", slab lists, 80 % full, no log";
constexpr const char* skewed = "find hit, zipf 0.99";

finding of_kernels(double value, std::string unit, bool holds, std::string why_not,
                   std::vector<std::pair<std::string, double>> beside) {
  finding f = judged(value, std::move(unit), holds, std::move(why_not),
                     "2L-2H-8S, words; " + kernels_compiled_by(), std::move(beside));
  f.note = "counted by ptx_kernels_test, recorded in test/ptx/budgets.json";
  return f;
}

finding one_shot(laboratory& lab) {
  picture& drawn = lab.draw(figure("5", "what kernels ask the pool for", "", "an operation"));
  drawn.bars = {"present key", "absent key", "insertion", "update", "deletion"};
  drawn.lines = {{"gphash, requests over the bus", {}},
                 {"gphash, sectors of 32 bytes", {}},
                 {"slab lists, requests", {}},
                 {"slab lists, sectors", {}}};
  double place = 0;
  for (const char* name : {"find hit", "find miss", "insert", "update", "erase"}) {
    std::size_t line = 0;
    for (const char* table : {in_pool, in_lists})
      for (const char* counted : {"host_requests", "host_sectors"})
        drawn.lines[line++].points.emplace_back(place,
                                                kernel_cost(std::string(name) + table, counted));
    ++place;
  }
  const double requests = drawn.lines[0].points[1].second,
               sectors = drawn.lines[1].points[1].second;
  return of_kernels(requests, "requests", requests <= 4,
                    "the levels in use and the places are looked up in the pool, too",
                    {{"sectors", sectors}, {"sectors of 32 states", 8}});
}

// ---- Slab lists: what the paper made of SlabHash

finding of_kernels_and_lists(double value, std::string unit, bool holds, std::string why_not,
                             std::vector<std::pair<std::string, double>> beside) {
  finding f = of_kernels(value, std::move(unit), holds, std::move(why_not), std::move(beside));
  f.parameters += "; slab lists of 15 pairs of 4 and 4 bytes, 80 % full";
  return f;
}

/// Their figure over that of the pool.
finding of_lists(const char* operation, const char* figure, std::string unit, std::string why_not) {
  const std::string name(operation);
  const double lists = kernel_cost(name + in_lists, figure),
               pool = kernel_cost(name + in_pool, figure);
  return of_kernels_and_lists(lists / pool, std::move(unit), lists > pool, std::move(why_not),
                              {{"slab lists", lists}, {"gphash", pool}});
}

/// Searches as skewed as the paper's, with its share of copies.
finding skewed_searches(laboratory&) {
  auto sectors = [](const char* of) {
    return kernel_cost(std::string(skewed) + of, "host_sectors");
  };
  const double lists = sectors(in_lists), pool = sectors(", pool, copies of 20 %"),
               bare = sectors(", pool, copies of 0 %");
  return of_kernels_and_lists(
      lists / pool, "times gphash's sectors", lists > pool,
      "a slab is one line of 15 pairs; a bucket's slots have twice the bytes, and what has no "
      "copy is looked for in up to four of them",
      {{"slab lists", lists}, {"gphash, 20 % copies", pool}, {"gphash, no copies", bare}});
}

finding spared_by_copies(laboratory&) {
  auto cost = [](const char* percent, const char* figure) {
    return kernel_cost(std::string(skewed) + ", pool, copies of " + percent, figure);
  };
  const double with = cost("20 %", "host_sectors"), without = cost("0 %", "host_sectors");
  finding f = of_kernels(without / with, "times the sectors", without / with > 1.1,
                         "what was copied is hardly looked for",
                         {{"with 20 % copies", with},
                          {"without", without},
                          {"instructions with", cost("20 %", "instructions")},
                          {"instructions without", cost("0 %", "instructions")}});
  f.note = "LFU, zipf 0.99, 2,000 records";
  return f;
}

finding logging(laboratory& lab) {
  picture& drawn = lab.draw(figure("8", "what the log of slab lists costs", "", "sectors"));
  drawn.bars = {"insertion", "update", "deletion"};
  drawn.lines = {{"slab lists", {}}, {"slab lists with a log", {}}, {"gphash", {}}};
  double place = 0;
  finding f = of_kernels_and_lists(0, "times the sectors of an update without it", true, "", {});
  for (const char* name : {"insert", "update", "erase"}) {
    const std::string operation(name);
    const double without = kernel_cost(operation + in_lists_without_log, "host_sectors"),
                 with = kernel_cost(operation + in_lists, "host_sectors");
    drawn.lines[0].points.emplace_back(place, without);
    drawn.lines[1].points.emplace_back(place, with);
    drawn.lines[2].points.emplace_back(place, kernel_cost(operation + in_pool, "host_sectors"));
    f.beside.emplace_back(drawn.bars[static_cast<std::size_t>(place++)], with / without);
  }
  f.value = f.beside[1].second;
  f.is = f.value > 1.05 && f.value < 1.3 ? verdict::holds : verdict::differs;
  if (f.is == verdict::differs)
    f.reason =
        "a log's entry is three stores and two fences beside one store of 8 bytes; the paper's "
        "values have 128 bytes, and its figure is of time";
  return f;
}

// ---- Values of 128 bytes, and longer keys

finding of_rows(double value, std::string unit, bool holds, std::string why_not,
                std::vector<std::pair<std::string, double>> beside) {
  finding f = of_kernels(value, std::move(unit), holds, std::move(why_not), std::move(beside));
  f.parameters = "2L-2H-8S, values of 128 bytes; " + kernels_compiled_by();
  return f;
}

/// Sectors of a present key, by table and by bytes of the key.
double sectors_of_rows(const std::string& table, unsigned key_bytes) {
  return kernel_cost(fmt::format("find hit, {}, keys of {} bytes", table, key_bytes),
                     "host_sectors");
}
constexpr const char* lists_of_records = "slab lists, 80 % full";
constexpr const char* keys_cross =
    "the batch's own keys cross the bus, too, and are read there twice: to hash and to compare";

finding longer_keys(laboratory& lab, bool of_slab_lists) {
  picture& drawn = lab.draw(
      figure("12a-kernels", "sectors of a present key", "bytes of a key", "sectors", true));
  drawn.lines = {{"gphash, keys in their slots", {}}, {"slab lists of records", {}}};
  for (unsigned bytes : {8u, 32u, 128u}) {
    drawn.lines[0].points.emplace_back(bytes, sectors_of_rows("rows", bytes));
    drawn.lines[1].points.emplace_back(bytes, sectors_of_rows(lists_of_records, bytes));
  }
  auto more = [&](std::size_t line) {
    const auto& points = drawn.lines[line].points;
    return points.back().second / points.front().second;
  };
  const double gphash = more(0), lists = more(1);
  finding f = of_slab_lists ? of_rows(lists, "times the sectors with 128 bytes than with 8",
                                      lists > 1.3 && lists > gphash,
                                      "a list is as short as a bucket", {{"gphash", gphash}})
                            : of_rows(gphash, "times the sectors with 128 bytes than with 8",
                                      gphash < 1.3, keys_cross, {{"slab lists", lists}});
  for (const auto& [bytes, sectors] : drawn.lines[of_slab_lists ? 1 : 0].points)
    f.beside.emplace_back(fmt::format("{:.0f} bytes", bytes), sectors);
  if (of_slab_lists)
    f.note =
        "how the paper's SlabHash holds such keys is not told: here a pair names its record, "
        "and a search reads the key of each record of its list";
  return f;
}

finding keys_in_slots(laboratory&) {
  const double in_slots = sectors_of_rows("rows", 8),
               before = kernel_cost("find hit, rows, keys of 8 bytes before their values",
                                    "host_sectors");
  return of_rows(before / in_slots, "times the sectors", before > in_slots,
                 "a fingerprint of 64 bits names the slot before a key is read: one key is read, "
                 "wherever it lies",
                 {{"in its slot", in_slots}, {"before its value", before}});
}

// ---- Threads alone

finding lone_threads(laboratory&) {
  auto cost = [](const char* operation, const char* figure) {
    return kernel_cost(std::string(operation) + in_pool, figure);
  };
  const double hit = cost("find hit by lone threads", "host_sectors"),
               miss = cost("find miss by lone threads", "host_sectors"),
               hit_of_warp = cost("find hit", "host_sectors"),
               miss_of_warp = cost("find miss", "host_sectors");
  auto lanes = [&](const char* operation) {
    return cost(operation, "lane_instructions") / cost(operation, "instructions");
  };
  finding f =
      of_kernels(miss / miss_of_warp, "times the sectors of a warp", miss / miss_of_warp >= 2,
                 "what a warp reads at once a thread reads one after another",
                 {{"present key", hit / hit_of_warp},
                  {"lanes at work, alone, present key", lanes("find hit by lone threads")},
                  {"lanes at work, together", lanes("find hit")},
                  {"instructions, alone", cost("find hit by lone threads", "instructions")},
                  {"instructions, together", cost("find hit", "instructions")}});
  f.note = "without caches: a thread that reads four states of a sector counts it four times";
  return f;
}

}  // namespace

std::vector<claim> kernel_claims() {
  constexpr auto e = engine_kind::gphash;
  return {
      {"gphash.one-shot", e, "§3.1, figure 5", "one access of a warp sees all slots of a key",
       "requests over the bus of a search for an absent key", recorded, better::lower, one_shot},
      {"gphash.fig5-log", e, "§3.2.3, figures 5, 6", "updates and deletions write no log",
       "stores released to the system by an update", recorded, better::lower,
       [](laboratory&) {
         const double update = kernel_cost(std::string("update") + in_pool, "system_releases"),
                      erase = kernel_cost(std::string("erase") + in_pool, "system_releases"),
                      insert = kernel_cost(std::string("insert") + in_pool, "system_releases");
         return of_kernels(update, "a piece", update <= 1 && erase <= 1 && insert <= 2,
                           "a step more was needed", {{"deletion", erase}, {"insertion", insert}});
       }},
      {"gphash.slab-search", e, "§4.2, figures 5, 6",
       "with copies searches have up to 4.28 times SlabHash's throughput",
       "sectors over the bus of a skewed search, slab lists over gphash with copies", recorded,
       better::higher, skewed_searches},
      {"gphash.slab-absent", e, "§4.2, figures 5, 6",
       "SlabHash's searches go from slab to slab of a list, gphash's are one shot",
       "requests over the bus of an absent key, slab lists over gphash", recorded, better::higher,
       [](laboratory&) {
         return of_lists("find miss", "host_requests", "times gphash's requests",
                         "most lists are one slab at this load");
       }},
      {"gphash.slab-insert", e, "§4.2, figures 5, 6",
       "an insertion of SlabHash looks at every slab of its list: 5.79 times the throughput",
       "requests over the bus of an insertion, slab lists over gphash", recorded, better::higher,
       [](laboratory&) {
         return of_lists("insert", "host_requests", "times gphash's requests",
                         "a slab is found with one request, and its pair is one word");
       }},
      {"gphash.slab-update", e, "§4.2, figures 5, 6",
       "updates have up to 9.23 times the throughput: SlabHash's write a log",
       "fences to the system of an update, slab lists over gphash's releases", recorded,
       better::higher,
       [](laboratory&) {
         const double lists = kernel_cost(std::string("update") + in_lists, "system_fences"),
                      pool = kernel_cost(std::string("update") + in_pool, "system_releases");
         return of_kernels_and_lists(lists / pool, "times gphash's", lists > pool,
                                     "an entry of the log was not released",
                                     {{"slab lists", lists}, {"gphash", pool}});
       }},
      {"gphash.slab-log", e, "§4.3, figure 8", "logging costs SlabHash up to 15.2 %",
       "sectors over the bus of an update of slab lists, with a log over without", recorded,
       better::neither, logging},
      {"gphash.slab-load", e, "§4.2, figure 7", "SlabHash reaches a load factor of up to 82 %",
       "filled slots of slab lists whose records are 80 % of the first slabs' slots", recorded,
       better::neither,
       [](laboratory&) {
         const double full = kernel_cost(std::string("insert") + in_lists, "load_factor");
         return of_kernels_and_lists(
             full, "", full >= 0.75 && full <= 0.85,
             "a list that is longer than a slab has another one, most of it empty; "
             "the paper counts the keys, it seems, against the first slabs",
             {});
       }},
      {"gphash.slab-keys", e, "figure 12(a)",
       "from 8 to 128 bytes of key SlabHash's throughput falls by 38.6 %, others' slightly",
       "sectors over the bus of a present key of slab lists, 128 bytes over 8", recorded,
       better::neither, [](laboratory& lab) { return longer_keys(lab, true); }},
      {"gphash.fig12a-kernels", e, "figure 12(a)",
       "from 8 to 128 bytes of key GPHash's throughput falls by 13 %",
       "sectors over the bus of a present key, 128 bytes over 8", recorded, better::lower,
       [](laboratory& lab) { return longer_keys(lab, false); }},
      {"gphash.fig9-warp", e, "figure 9", "working as a warp gains up to 104.1 %",
       "sectors over the bus of an absent key, threads alone over a warp", recorded, better::higher,
       lone_threads},
      {"gphash.fig9-keys-kernels", e, "figure 9", "keys in their buckets gain up to 13.7 %",
       "sectors over the bus of a present key, before its value over in its slot", recorded,
       better::higher, keys_in_slots},
      {"gphash.fig9-copies", e, "figure 9", "copies gain up to 40.9 % where searches are skewed",
       "sectors over the bus of a skewed search, without copies over with 20 %", recorded,
       better::higher, spared_by_copies},
      {"gphash.fig9-mirror", e, "§3.3, figure 9", "a copy on the device spares the bus",
       "requests over the bus of a search in a mirror", recorded, better::lower,
       [](laboratory&) {
         const double mirror = kernel_cost(std::string("find hit") + in_mirror, "host_requests"),
                      pool = kernel_cost(std::string("find hit") + in_pool, "host_requests");
         return of_kernels(mirror, "requests", mirror < pool, "the mirror was left for the pool",
                           {{"in the pool", pool}});
       }},
      {"gphash.fig13-coalesced", e, "figure 13", "with few slots accesses are not coalesced",
       "sectors of a search for an absent key, 4L-2H-4S over 2L-2H-8S", recorded, better::neither,
       [](laboratory&) {
         const double small =
                          kernel_cost("find miss, pool, levels4_hashes2_slots4", "host_sectors"),
                      large = kernel_cost(std::string("find miss") + in_pool, "host_sectors");
         return of_kernels(small / large, "times the sectors", small > large,
                           "four states are one sector of 32 bytes: eight buckets of 4 slots are "
                           "as many sectors as four of 8",
                           {{"4L-2H-4S", small}, {"2L-2H-8S", large}});
       }},
  };
}

}  // namespace durahash::reproduce::gphash_paper
