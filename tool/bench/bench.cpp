// durahash bench: how fast, how even, how dense. The harness is bench/; here are its arguments.
#include <fmt/format.h>

#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "bench/plot.hpp"
#include "bench/report.hpp"
#include "bench/runner.hpp"
#include "durahash/table.hpp"
#include "tool/bench/bench_arguments.hpp"
#include "tool/bench/callgrind.hpp"
#include "tool/commands.hpp"
#include "tool/failure.hpp"
#include "tool/numbers.hpp"
#include "tool/output.hpp"

namespace durahash::tool {
namespace {

/// What stands between commas.
std::vector<std::string> parts_of(const std::string& list) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t comma; (comma = list.find(',', begin)) != std::string::npos; begin = comma + 1)
    parts.push_back(list.substr(begin, comma - begin));
  parts.push_back(list.substr(begin));
  return parts;
}

/// Every engine, or those of these names. Of `all`, those which this build cannot open are passed
/// over and named.
std::vector<engine_kind> engines_of(const std::string& names, const bench::request& asked) {
  if (names != "all") {
    std::vector<engine_kind> named;
    for (const std::string& name : parts_of(names)) {
      const auto engine = engine_named(name);
      if (!engine)
        throw failure(exit_usage, fmt::format("--engine {}: there is no engine \"{}\", but {}",
                                              names, name, listed(engine_names(), ", ")));
      named.push_back(*engine);
    }
    return named;
  }
  std::vector<engine_kind> engines;
  for (const engine_kind engine : all_engines()) {
    options how;
    how.engine = engine;
    how.key = how.value = asked.shape.kind;
    how.medium = medium_kind::memory;
    const auto tried = table::open("", how);
    if (tried) engines.push_back(engine);
    else tell(fmt::format("without {}: {}\n", name_of(engine), tried.failure().message));
  }
  if (engines.empty()) throw failure(exit_unusable, "no engine can be opened");
  return engines;
}

std::vector<bench::workload_kind> workloads_of(const std::string& list) {
  if (list == "none") return {};
  std::string unknown;
  auto workloads = bench::workloads_named(list, unknown);
  if (unknown == "ycsb-e")
    throw failure(exit_usage,
                  "ycsb-e scans ranges of keys in their order, and a hash table has none");
  if (workloads.empty())
    throw failure(exit_usage,
                  fmt::format("--workload {}: there is no workload \"{}\"; --help lists them", list,
                              unknown));
  return workloads;
}

std::map<std::string, std::uint64_t> settings_of(const std::vector<std::string>& texts) {
  std::map<std::string, std::uint64_t> settings;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    const auto value = equals == std::string::npos
                           ? std::nullopt
                           : parse_count(std::string_view(text).substr(equals + 1));
    if (equals == 0 || !value)
      throw failure(exit_usage, "--set " + text + " is not of the form name=number");
    settings[text.substr(0, equals)] = *value;
  }
  return settings;
}

void read_pool(const bench_arguments& arguments, bench::request& asked) {
  asked.medium = *medium_named(arguments.medium);
  const bool flushes = asked.medium != medium_kind::memory && asked.medium != medium_kind::file;
  asked.durability = flushes ? durability_level::power : durability_level::process;
  if (!arguments.durability.empty()) asked.durability = *durability_named(arguments.durability);
  if (asked.medium == medium_kind::memory && !arguments.path.empty())
    throw failure(exit_usage,
                  "--path " + arguments.path +
                      " goes with --medium file, disk, pmem or emulated: memory has no file");
  if (asked.medium == medium_kind::pmem && arguments.path.empty())
    throw failure(exit_usage,
                  "--medium pmem needs --path FILE on a file system mounted with DAX, or a device");
  if (asked.medium == medium_kind::disk && arguments.path.empty())
    throw failure(exit_usage, "--medium disk needs --path FILE on the disk to measure");
  if (asked.medium != medium_kind::disk && (arguments.log_mib != "0" || arguments.lag_ms != "10"))
    throw failure(exit_usage, "--log-mib and --lag-ms go with --medium disk");
  if (arguments.reopen && asked.medium != medium_kind::disk && asked.medium != medium_kind::file)
    throw failure(exit_usage, "--reopen goes with --medium disk or file: others leave no file");
  asked.log_bytes = whole_number("--log-mib", arguments.log_mib, 0, 1 << 20) << 20;
  asked.lag_milliseconds =
      static_cast<std::uint32_t>(whole_number("--lag-ms", arguments.lag_ms, 1, 60'000));
  asked.reopen = arguments.reopen;
  asked.path = arguments.path.empty() ? bench::default_path() : arguments.path;
  asked.settings = settings_of(arguments.settings);
  asked.flush_latency_ns = static_cast<std::uint32_t>(
      whole_number("--flush-latency", arguments.flush_latency_ns, 0, 1'000'000));
  asked.block_latency_ns = static_cast<std::uint32_t>(
      whole_number("--block-latency", arguments.block_latency_ns, 0, 1'000'000));
  asked.read_latency_ns = static_cast<std::uint32_t>(
      whole_number("--read-latency", arguments.read_latency_ns, 0, 1'000'000));
  asked.address_space_bytes =
      whole_number("--address-space-gib", arguments.address_space_gib, 1, 1 << 16) << 30;

  asked.shape.kind = *data_kind_named(arguments.key);
  const std::uint64_t key_bytes =
      whole_number("--key-bytes", arguments.key_bytes, 8, max_key_bytes);
  const std::uint64_t value_bytes =
      whole_number("--value-bytes", arguments.value_bytes, 0, 1 << 30);
  if (asked.shape.kind == data_kind::bytes) {
    asked.shape.key_bytes = key_bytes;
    asked.shape.value_bytes = value_bytes;
  }
}

constexpr const char* no_device = "cpu";
constexpr std::string_view cuda = "cuda:";

std::uint64_t batch_of(const bench_arguments& arguments) {
  if (arguments.batch.empty()) return arguments.device == no_device ? 1 : 65536;
  return std::max<std::uint64_t>(1, whole_number("--batch", arguments.batch, 0, 1 << 22));
}

/// Says no to what a device cannot do before it looks for one.
void read_device(const bench_arguments& arguments, bench::request& asked) {
  if (arguments.device == no_device) {
    if (arguments.device_memory != "automatic")
      throw failure(exit_usage, "--device-memory goes with --device cuda:N");
    if (arguments.device_arrays != "host")
      throw failure(exit_usage, "--device-arrays goes with --device cuda:N");
    if (arguments.device_cache != "0")
      throw failure(
          exit_usage,
          "--device-cache goes with --device cuda:N; on the processor it is --set cache=PERCENT");
    return;
  }
  const auto need = [&](bool given, const char* what) {
    if (!given) throw failure(exit_usage, fmt::format("--device {} {}", arguments.device, what));
  };
  need(arguments.device.starts_with(cuda), "is neither cpu nor cuda:N");
  need(arguments.engine == "gphash", "runs the engine gphash alone: give --engine gphash");
  const bool words = asked.shape.kind == data_kind::u64;
  need(words || (asked.shape.key_bytes % 8 == 0 && asked.shape.key_bytes <= 128),
       "has keys of whole words, up to 128 bytes: give --key-bytes 8, 16, ... 128");
  need(asked.medium != medium_kind::emulated,
       "works on --medium memory, file or pmem: nothing counts its stores");
  need(asked.threads == 1, "gets its batches from one thread: give --threads 1");
  need(!arguments.limits,
       "has other limits than those of the processor's memory: leave --limits out");
  need(!arguments.instructions, "has no counter of instructions: leave --instructions out");
  asked.lending.number = static_cast<int>(
      whole_number("--device cuda:", arguments.device.substr(cuda.size()), 0, 1023));
  for (const auto& [name, place] : bench::device_memories)
    if (name == arguments.device_memory) asked.lending.place = place;
  asked.arrays_at =
      arguments.device_arrays == "host" ? bench::array_place::host : bench::array_place::device;
  asked.lending.cache_percent =
      static_cast<unsigned>(whole_number("--device-cache", arguments.device_cache, 0, 90));
  need(asked.lending.cache_percent == 0 || words || asked.lending.place <= gpu::table_place::pool,
       "has copies of buckets of rows in the pool itself alone: leave --device-memory out");
  need(asked.lending.cache_percent == 0 || asked.lending.place != gpu::table_place::device_mirror,
       "has the whole table in its memory: leave --device-cache out");
  for (const auto& [name, policy] : bench::cache_policies)
    if (name == arguments.device_cache_policy) asked.lending.policy = policy;
  asked.lending.max_staged = std::max(asked.lending.max_staged, asked.batch);
  auto found = bench::cuda_device(asked.lending.number);
  if (!found) throw failure(exit_code_of(found.failure().code), found.failure().message);
  asked.on = std::move(*found);
}

/// Bytes that a pool of this run may fill: of memory, or of the path's file system.
std::uint64_t room_for(const bench::request& asked) {
  if (asked.medium != medium_kind::memory) {
    struct statvfs disk {};
    const std::string folder = std::filesystem::path(asked.path).parent_path();
    if (::statvfs(folder.empty() ? "." : folder.c_str(), &disk) == 0)
      return std::uint64_t{disk.f_bavail} * disk.f_frsize;
  }
  struct sysinfo machine {};
  if (::sysinfo(&machine) != 0) return ~std::uint64_t{0};
  return (std::uint64_t{machine.totalram} + machine.totalswap) * machine.mem_unit;
}

/// A load that cannot end well is refused before it takes the machine's last memory.
void refuse_more_than_fits(const bench_arguments& arguments, const bench::request& asked) {
  if (asked.workloads.empty()) return;
  std::uint64_t least = 0;
  if (__builtin_mul_overflow(asked.keys, asked.shape.key_bytes + asked.shape.value_bytes, &least))
    least = ~std::uint64_t{0};
  const std::uint64_t room = room_for(asked);
  if (least <= room) return;
  throw failure(exit_usage,
                fmt::format("--keys {} needs at least {}, and there are {} for the pool",
                            arguments.keys, human_bytes(least), human_bytes(room)));
}

std::uint64_t limits_bytes_of(const bench_arguments& arguments) {
  const std::uint64_t mib = whole_number("--limits-mib", arguments.limits_mib, 1, 1 << 18);
  if ((mib & (mib - 1)) != 0)
    throw failure(exit_usage, "--limits-mib " + arguments.limits_mib + " is not a power of two");
  return mib << 20;
}

bench::request request_of(const bench_arguments& arguments) {
  bench::request asked;
  read_pool(arguments, asked);
  asked.workloads = workloads_of(arguments.workload);
  asked.keys = whole_number("--keys", arguments.keys, 1, std::uint64_t{1} << 40);
  if (!arguments.ops.empty())
    asked.ops = whole_number("--ops", arguments.ops, 1, std::uint64_t{1} << 40);
  asked.threads = static_cast<unsigned>(whole_number("--threads", arguments.threads, 1, 1024));
  asked.batch = batch_of(arguments);
  if (!arguments.distribution.empty())
    asked.distribution = bench::distribution_named(arguments.distribution);
  asked.theta = decimal_number("--theta", arguments.theta, 0, 5);
  asked.seed = whole_number("--seed", arguments.seed, 0, ~std::uint64_t{0});
  asked.repeat = static_cast<unsigned>(whole_number("--repeat", arguments.repeat, 1, 1000));
  asked.cold = arguments.cold;
  asked.arrivals_per_second =
      static_cast<double>(whole_number("--arrivals", arguments.arrivals, 0, 1'000'000'000));
  asked.window_ms = static_cast<unsigned>(whole_number("--series", arguments.series, 0, 60'000));
  const bool timeline = asked.arrivals_per_second != 0 || asked.window_ms != 0;
  if (timeline && (arguments.no_latency || arguments.device != no_device))
    throw failure(exit_usage,
                  "--arrivals and --series are of the repetition that times each operation, on the "
                  "processor");
  if (asked.arrivals_per_second != 0 && asked.batch > 1)
    throw failure(exit_usage, "--arrivals is of single operations: leave --batch out");
  asked.latency = !arguments.no_latency;
  limits_bytes_of(arguments);
  refuse_more_than_fits(arguments, asked);
  read_device(arguments, asked);
  if (!asked.workloads.empty()) asked.engines = engines_of(arguments.engine, asked);
  return asked;
}

/// One line on stderr that says what is being done; nothing where stderr is not a terminal.
class status_line {
 public:
  ~status_line() { say(""); }
  void say(const std::string& what) {
    if (!visible_) return;
    tell("\r\x1b[K" + what);
  }

 private:
  bool visible_ = ::isatty(STDERR_FILENO) == 1;
};

/// One request for each combination of keys, threads and batch.
std::vector<bench::request> requests_of(const bench_arguments& arguments) {
  std::vector<bench::request> all;
  bench_arguments one = arguments;
  for (const std::string& keys : parts_of(arguments.keys))
    for (const std::string& threads : parts_of(arguments.threads))
      for (const std::string& batch : parts_of(arguments.batch)) {
        one.keys = keys, one.threads = threads, one.batch = batch;
        all.push_back(request_of(one));
      }
  return all;
}

bench::report measure(const bench_arguments& arguments, bench::request asked,
                      const std::string& which) {
  bench::report all{std::move(asked), bench::this_machine(), {}, std::nullopt};
  status_line line;
  if (arguments.limits) {
    line.say("measuring the speed of light");
    constexpr unsigned rounds = 5;
    all.limits = bench::measure_limits(limits_bytes_of(arguments), rounds, all.asked.seed);
  }
  all.engines =
      bench::run(all.asked, [&](const std::string& doing, std::uint64_t step, std::uint64_t steps) {
        line.say(fmt::format("{}{} of {}  {}", which, step + 1, steps, doing));
      });
  if (arguments.instructions)
    count_by_callgrind(arguments, all, [&](const std::string& doing) { line.say(which + doing); });
  return all;
}

/// Where the JSON goes. Opened before the measurement: a wrong path should not cost it.
class json_file {
 public:
  explicit json_file(const std::string& path) : path_(path) {
    if (!path.empty() && path != "-") open();
  }
  bool takes_stdout() const { return path_ == "-"; }
  void write(const std::vector<bench::report>& all) {
    const std::string text = bench::json_of(all).dump(2) + "\n";
    if (takes_stdout()) return print(text);
    if (path_.empty()) return;
    out_ << text << std::flush;
    check();
  }

 private:
  void open() {
    out_.open(path_);
    check();
  }
  void check() const {
    if (!out_)
      throw failure(exit_unusable,
                    "cannot write the report to " + path_ + ": " + std::strerror(errno));
  }

  std::string path_;
  std::ofstream out_;
};

void bench_command(const bench_arguments& arguments) try {
  if (!arguments.plot.empty()) bench::check_that_plots_work();
  const std::vector<bench::request> asked = requests_of(arguments);
  if (arguments.instructions) check_that_instructions_can_be_counted();
  json_file json(arguments.json);
  std::vector<bench::report> all;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const std::string which =
        asked.size() == 1 ? "" : fmt::format("{} of {}: ", i + 1, asked.size());
    all.push_back(measure(arguments, asked[i], which));
    if (!json.takes_stdout()) print(bench::table_of(all.back()));
  }
  if (!json.takes_stdout() && all.size() > 1) print(bench::sweep_of(all));
  json.write(all);
  if (!arguments.plot.empty()) bench::plot(all, arguments.plot);
} catch (const bench::failure& why) {
  if (why.code == status::damaged) throw failure(exit_not_found, why.what());  // a wrong answer
  if (why.code == status::exists) throw failure(exit_unusable, why.what());    // the path
  throw failure(exit_code_of(why.code), why.what());
}

}  // namespace

void add_bench(command_line app, int& exit_code) {
  auto arguments = std::make_shared<bench_arguments>();
  command_line command =
      app.add_subcommand("bench", "Measure throughput, latencies, flushes and space");
  add_bench_options(command, *arguments);
  command.callback([arguments, &exit_code] {
    bench_command(*arguments);
    exit_code = exit_done;
  });
}

}  // namespace durahash::tool
