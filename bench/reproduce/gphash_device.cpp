// GPHash, figures 5, 6 and 8, on a device where there is one: rows that it searches itself, beside
// rows that the processor searches for it. Figures of this file are of nothing else.
#include <chrono>
#include <thread>

#include "bench/batch_arrays.hpp"
#include "bench/clock.hpp"
#include "bench/reproduce/gphash_claims.hpp"
#include "bench/runner.hpp"
#include "bench/thread_group.hpp"

namespace durahash::reproduce::gphash_paper {
namespace {

using enum evidence;
using clock = std::chrono::steady_clock;

constexpr std::uint64_t usual_batch = 4096;  // the paper's

/// The paper's rows: words, and values of 128 bytes.
bench::request rows_of(laboratory& lab) {
  bench::request asked;
  asked.engines = {engine_kind::gphash};
  asked.medium = medium_kind::file;
  asked.path = bench::default_path();
  asked.shape = {data_kind::bytes, sizeof(std::uint64_t), 128};
  asked.keys = lab.keys();
  asked.seed = lab.seed();
  return asked;
}

/// Million searches a second, of batches in the device's memory.
double searched_by_the_device(laboratory& lab, std::uint64_t batch) {
  bench::request asked = rows_of(lab);
  asked.on = lab.device();
  asked.arrays_at = bench::array_place::device;
  asked.workloads = {bench::workload_kind::positive};
  asked.batch = batch;
  asked.ops = batch * lab.size(16, 2);
  asked.repeat = lab.runs(3);
  asked.latency = false;
  const auto outcomes = bench::run(asked, [](const std::string&, std::uint64_t, std::uint64_t) {});
  return outcomes.front().results.front().mops();
}

struct searched {
  double seconds = 0, copying = 0;  ///< sums of all threads
  double per_second = 0;            ///< of all of them together
};

/// One thread's batches: keys come from the device, and values go there.
searched search_for_the_device(laboratory& lab, table& rows, unsigned thread) {
  const bench::request asked = rows_of(lab);
  const std::size_t key_bytes = asked.shape.key_bytes, value_bytes = asked.shape.value_bytes;
  const bench::batch_arrays arrays(lab.device(), usual_batch, asked.shape,
                                   bench::array_place::device);
  const auto here = arrays.on_host(), there = arrays.on_device();
  std::vector<std::string_view> keys;
  for (std::size_t i = 0; i < usual_batch; ++i)
    keys.emplace_back(reinterpret_cast<const char*>(here.keys) + i * key_bytes, key_bytes);
  std::vector<std::string> values(usual_batch);
  auto copy = [&](void* to, const void* from, std::size_t bytes) {
    if (lab.device()->copy(to, from, bytes) != status::ok)
      throw bench::failure(status::io_error, "cannot copy a batch to the device or back");
  };
  bench::random_source random(lab.seed(), thread);
  searched all;
  const std::uint64_t batches = lab.size(64, 4);
  for (std::uint64_t batch = 0; batch < batches; ++batch) {
    for (std::size_t i = 0; i < usual_batch; ++i) {
      const std::uint64_t key = lab.key(random.below(lab.keys()));
      std::memcpy(here.keys + i * key_bytes, &key, sizeof key);
    }
    copy(there.keys, here.keys, usual_batch * key_bytes);
    const auto began = clock::now();
    copy(here.keys, there.keys, usual_batch * key_bytes);
    const auto came = clock::now();
    rows.get_many(keys, values, {here.answers, usual_batch});
    for (std::size_t i = 0; i < usual_batch; ++i)
      std::memcpy(here.values + i * value_bytes, values[i].data(), value_bytes);
    const auto found = clock::now();
    copy(there.values, here.values, usual_batch * value_bytes);
    copy(there.answers, here.answers, usual_batch);
    const auto gone = clock::now();
    expect_right(std::count(here.answers, here.answers + usual_batch, status::ok) ==
                     static_cast<long>(usual_batch),
                 "get_many");
    all.seconds += bench::seconds_between(began, gone);
    all.copying += bench::seconds_between(began, came) + bench::seconds_between(found, gone);
  }
  all.per_second = static_cast<double>(batches * usual_batch) / all.seconds;
  return all;
}

/// The engine turbo, by every processor.
searched searched_by_the_processor(laboratory& lab) {
  return lab.once("rows searched for a device", [&] {
    const bench::request asked = rows_of(lab);
    auto rows = bench::open_scratch<table>(asked, engine_kind::turbo);
    {
      bench::bytes_client writer(rows, asked.shape, 1);
      for (std::uint64_t i = 0; i < lab.keys(); ++i)
        expect_right(writer.insert(lab.key(i), 0) == 1, "insert");
    }
    const unsigned threads = std::max(1u, std::thread::hardware_concurrency());
    std::vector<searched> each(threads);
    bench::run_threads(
        threads, [&](unsigned thread) { each[thread] = search_for_the_device(lab, rows, thread); });
    searched all;
    for (const searched& one : each)
      all.seconds += one.seconds, all.copying += one.copying, all.per_second += one.per_second;
    return all;
  });
}

finding no_device(const laboratory& lab, const char* otherwise) {
  return not_measured(fmt::format("{}; {}", lab.why_no_device(), otherwise));
}
std::string parameters(const laboratory& lab) {
  return fmt::format(
      "{}; rows of 8 and 128 bytes, level process; by the processor: engine turbo, "
      "batches of {}, {} threads",
      lab.device()->name(), usual_batch, std::thread::hardware_concurrency());
}

finding beside_the_processor(laboratory& lab) {
  if (!lab.device()) return no_device(lab, "a ratio of speeds, which no count has");
  const double processor = searched_by_the_processor(lab).per_second / 1e6;
  picture& drawn = lab.draw(
      figure("5-device", "present keys", "operations of a batch", "million a second", true));
  drawn.lines = {{"searched by the device", {}}};
  finding f = judged(0, "times the searches", true, "", parameters(lab));
  for (std::uint64_t batch = usual_batch; batch <= lab.size(1u << 20, usual_batch); batch *= 16) {
    const double device = searched_by_the_device(lab, batch);
    drawn.lines[0].points.emplace_back(static_cast<double>(batch), device);
    f.beside.emplace_back(fmt::format("M/s, batches of {}", batch), device);
    f.value = std::max(f.value, device / processor);
  }
  f.beside.emplace_back("M/s by the processor", processor);
  f.is = f.value >= 2 ? verdict::holds : verdict::differs;
  if (f.is == verdict::differs)
    f.reason = "the device reads the pool over its bus; the processor's copies cost less here";
  return f;
}

finding share_of_copies(laboratory& lab) {
  if (!lab.device()) return no_device(lab, "a share of time, which no count has");
  const searched by = searched_by_the_processor(lab);
  const double share = by.copying / by.seconds;
  return judged(share, "of the time of a batch", share >= 0.2,
                "copies of a batch take less of the time than its searches", parameters(lab));
}

}  // namespace

std::vector<claim> device_claims() {
  constexpr auto e = engine_kind::gphash;
  return {
      {"gphash.fig5", e, "figures 5, 6",
       "up to 13.8 times the throughput and 1/27.6 of the latency of tables that the CPU manages",
       "present keys a second of the device, over those that the processor finds for it", times,
       better::higher, beside_the_processor},
      {"gphash.fig8", e, "figure 8",
       "moving data between GPU and CPU takes 30 % of the latency where the CPU manages it",
       "share of copies in a batch that the processor searches for the device", times,
       better::neither, share_of_copies},
  };
}

}  // namespace durahash::reproduce::gphash_paper
