// The options of `durahash bench`, and its help.
#include <fmt/format.h>

#include "bench/workload.hpp"
#include "tool/bench/bench_arguments.hpp"

namespace durahash::tool {
namespace {

constexpr const char* trace_help =
    "\nTwo of them are traces made from the seed, in the shape of data sets that are not needed:\n"
    "  dlrm          Criteo Kaggle: its 26 tables, scaled down alike until they have --keys rows "
    "together (all of "
    "them:\n"
    "                33762577); one look-up per table and sample, so that 1000 samples are --batch "
    "26000. Each "
    "table's\n"
    "                rows are zipfian with an exponent drawn from 0.8, 1.05 and 1.2, which is an "
    "assumption.\n"
    "  pagerank      Twitter: R-MAT (0.57, 0.19, 0.19, 0.05) with 36 edges per vertex and the "
    "largest power of two of\n"
    "                vertices that --keys allows. An iteration is 37 operations per vertex; --ops "
    "says how much is "
    "run.\n"
    "Reports give for every workload that repeats keys unique_ratio, different keys per operation, "
    "and\n"
    "top_1_percent_share, the share of the operations that ask for the most popular 1 % of these "
    "keys.\n";

constexpr const char* device_help =
    "\nOn a GPU (--device cuda:N, with --engine gphash) everything is done in batches: u64 to u64 "
    "by durahash::gpu::map,\n"
    "--key bytes by durahash::gpu::table (keys of 8 bytes are words in front of their\n"
    "values, or with --set key_bytes=8 in their buckets, where longer ones always are). Keys,\n"
    "values and answers are in pinned host memory, which the GPU reaches over its bus, or with "
    "--device-arrays device in\n"
    "its own; --device-memory says where the table is. Timed is each batch alone, from its call "
    "until its answers are\n"
    "final: launch, kernels, growth of the table, and commit, with the stores into the pool where "
    "the table is a mirror.\n"
    "Filling the arrays before, copying them, and checking every answer after is not in it, and "
    "the next batch is not\n"
    "launched meanwhile. Rows of embedding tables: --workload dlrm --key bytes --key-bytes 8 "
    "--value-bytes 128.\n";

std::string workload_help() {
  std::string text = "Workloads, in the order in which they run:\n";
  for (const bench::workload_traits& traits : bench::all_workloads())
    text += fmt::format("  {:<14}{}\n", traits.name, traits.help);
  return text + trace_help + device_help;
}

void add_pool_options(command_line command, bench_arguments& a) {
  command.add_option(
      "--engine", a.engine,
      listed(engine_names(), ", ") + ", some with commas, or all: they take turns (turbo)");
  command.add_option("--device", a.device,
                     "what runs it: cpu, or cuda:N, a GPU, for the engine gphash (cpu)");
  command
      .add_option(
          "--device-memory", a.device_memory,
          "where a GPU has the table: pool, in place; host-mirror, a copy in pinned memory; "
          "device-mirror, one in\n"
          "its own memory; automatic, pool where it can be pinned, else host-mirror (automatic)")
      .check(one_of({"automatic", "pool", "host-mirror", "device-mirror"}));
  command
      .add_option(
          "--device-arrays", a.device_arrays,
          "where a GPU has keys, values and answers of a batch: host, pinned, or device (host)")
      .check(one_of({"host", "device"}));
  command.add_option("--device-cache", a.device_cache,
                     "of 100 buckets so many have a copy in the GPU's memory, 0 to 90 (0)");
  command
      .add_option("--device-cache-policy", a.device_cache_policy,
                  "which ones: lfu, lru or random (lfu)")
      .check(one_of({"lfu", "lru", "random"}));
  command
      .add_option("--medium", a.medium,
                  "memory, file, disk, pmem, or emulated, which counts (memory)")
      .check(one_of({"memory", "file", "disk", "pmem", "emulated"}));
  command
      .add_option("--durability", a.durability,
                  "process, power, power_buffered or none (power on disk, pmem and emulated, else "
                  "process)")
      .check(one_of({"process", "power", "power_buffered", "none"}));
  command.add_option("--path", a.path, "the pool's file, made and removed (one in /dev/shm)");
  command.add_option("--log-mib", a.log_mib,
                     "medium disk: MiB of its log (0: as the pool, from 64 to 1024)");
  command.add_option("--lag-ms", a.lag_ms,
                     "medium disk, power_buffered: what a power cut may take, in ms (10)");
  command.add_option("--key", a.key, "what records are: u64 to u64, or bytes to bytes (u64)")
      .check(one_of({"u64", "bytes"}));
  command.add_option("--key-bytes", a.key_bytes, "length of a key, with --key bytes (16)");
  command.add_option("--value-bytes", a.value_bytes, "length of a value, with --key bytes (64)");
  command.add_option("--set", a.settings, "an engine's setting, name=number; may be repeated")
      .take_all()
      .allow_extra_args(false);
  command.add_option("--flush-latency", a.flush_latency_ns,
                     "medium emulated: ns added to each line flushed (0)");
  command.add_option("--block-latency", a.block_latency_ns,
                     "medium emulated: ns added to each 256-byte block written (0)");
  command.add_option("--read-latency", a.read_latency_ns,
                     "medium emulated: ns added to each 256-byte block read (0)");
  command.add_option("--address-space-gib", a.address_space_gib,
                     "addresses set aside; valgrind grants no more than 16 (1024)");
}

void add_work_options(command_line command, bench_arguments& a) {
  command.add_option("--workload", a.workload,
                     "names with commas between them, all, or none (" + a.workload + ")");
  command.add_option("--keys", a.keys,
                     "records loaded, such as 250000 or 16M; 1k,1M: one after the other (4M)");
  command.add_option(
      "--ops", a.ops,
      "operations of each workload but the load (half of the keys; a quarter where it writes)");
  command.add_option("--threads", a.threads,
                     "threads that share the operations; 1,2,4: likewise (1)");
  command.add_option("--batch", a.batch,
                     "get_many, put_many and erase_many of so many; 1: single operations; 1,8,64: "
                     "likewise (1; on a "
                     "GPU 65536)");
  command
      .add_option("--distribution", a.distribution,
                  "uniform or zipfian, where a workload leaves the choice (zipfian for ycsb)")
      .check(one_of({"uniform", "zipfian"}));
  command.add_option("--theta", a.theta, "how skewed zipfian is, 0 to 5 (0.99)");
  command.add_option("--seed", a.seed, "the same seed, the same operations (1)");
}

void add_report_options(command_line command, bench_arguments& a) {
  command.add_option("--repeat", a.repeat, "timed repetitions; medians are shown (3)");
  command.add_flag("--cold", a.cold,
                   "report the very first load too, into memory not touched before");
  command.add_flag("--no-latency", a.no_latency,
                   "leave out the repetition in which every operation is timed");
  command.add_flag("--instructions", a.instructions,
                   "count instructions by callgrind where the processor has no counter: of at most "
                   "200k records, in one thread");
  command.add_option("--arrivals", a.arrivals,
                     "in the repetition that times each operation, so many arrive a second, at "
                     "random (0: one after the other)");
  command.add_option("--series", a.series,
                     "of that repetition, rate and longest operation in windows of so many ms (0: "
                     "none)");
  command.add_flag("--reopen", a.reopen,
                   "media disk and file: load a pool, kill its process, and time the next opening");
  command.add_flag("--limits", a.limits, "measure what the memory alone can do, and compare");
  command.add_option("--limits-mib", a.limits_mib, "on so many MiB, a power of two (512)");
  command.add_option(
      "--json", a.json,
      "write the report as JSON to a file, or with - to standard output instead of the table");
  command.add_option("--plot", a.plot,
                     "draw the report into a PNG file (needs python3 with matplotlib)");
}

}  // namespace

void add_bench_options(command_line command, bench_arguments& a) {
  add_pool_options(command, a);
  add_work_options(command, a);
  add_report_options(command, a);
  command.footer(
      workload_help() +
      "\nEvery answer is checked; a wrong one ends the run with exit code 1. The pools are new "
      "ones and "
      "leave nothing behind.\n\n"
      "Examples:\n"
      "  durahash bench --limits\n"
      "  durahash bench --medium memory --durability power --keys 16M --batch 64\n"
      "  durahash bench --threads 1,2 --keys 1k,10k,1M --batch 1,8,64 --engine turbo,cceh\n"
      "  durahash bench --keys 8M --workload insert --arrivals 500k --series 100 --plot load.png\n"
      "  durahash bench --medium emulated --keys 1M --workload insert,update,erase --json -\n"
      "  durahash bench --engine gphash --device cuda:0 --medium file --keys 16M\n"
      "  durahash bench --medium disk --path /mnt/data/bench.dh --batch 1000 --reopen\n"
      "  durahash bench --medium file --path /mnt/data/bench.dh --workload ycsb-a,ycsb-c --threads "
      "2");
}

}  // namespace durahash::tool
