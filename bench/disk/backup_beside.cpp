// A copy of a pool, made while one thread writes: how fast the copy is, what the writer keeps of
// its speed, and how long it waits.
//
//   durahash_backup_beside POOL process|power|power_buffered [RECORDS [BATCH]]
//
// The writer updates random records, singly or in batches; before, while a copy is made, and after;
// then once more. Figures of one run: shares and not seconds say something on a busy machine.
// docs/lab/disk.md has some.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "durahash/map.hpp"

namespace {

using table = durahash::map<std::uint64_t, std::uint64_t>;
using clock_type = std::chrono::steady_clock;

double seconds(clock_type::duration d) { return std::chrono::duration<double>(d).count(); }

std::uint64_t mixed(std::uint64_t n) {
  n = (n + 1) * 0x9e3779b97f4a7c15;
  n = (n ^ n >> 30) * 0xbf58476d1ce4e5b9;
  return n ^ n >> 31;
}

/// Writes until it is told to end. Counts, and keeps the longest wait, since `reset`.
struct writer {
  writer(table& t, std::uint64_t records, std::size_t batch)
      : thread_([this, &t, records, batch] { run(t, records, batch); }) {}
  ~writer() {
    over_ = true;
    thread_.join();
  }
  void reset() { written_ = 0, longest_ns_ = 0; }
  std::uint64_t written() const { return written_; }
  double longest_ms() const { return 1e-6 * static_cast<double>(longest_ns_.load()); }

 private:
  void run(table& t, std::uint64_t records, std::size_t batch) {
    std::vector<std::uint64_t> keys(batch), values(batch);
    std::vector<durahash::status> answers(batch);
    for (std::uint64_t n = 0; !over_;) {
      for (std::size_t i = 0; i < batch; ++i) keys[i] = mixed(n) % records, values[i] = n++;
      const auto began = clock_type::now();
      t.put_many(keys, values, answers);
      const auto took = static_cast<std::uint64_t>(
          std::chrono::duration_cast<std::chrono::nanoseconds>(clock_type::now() - began).count());
      if (answers[0] != durahash::status::ok) std::exit(1);
      written_ += batch;
      if (took > longest_ns_) longest_ns_ = took;
    }
  }
  std::atomic<bool> over_{false};
  std::atomic<std::uint64_t> written_{0}, longest_ns_{0};
  std::thread thread_;
};

void print(const char* when, double took, const writer& w) {
  std::printf("%-16s %8.2f s %12.0f written/s, longest wait %8.2f ms\n", when, took,
              static_cast<double>(w.written()) / took, w.longest_ms());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return std::fprintf(stderr, "usage: %s POOL LEVEL [RECORDS [BATCH]]\n", argv[0]), 2;
  const std::string path = argv[1], level = argv[2], copy = path + ".copy";
  const std::uint64_t records = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 10'000'000;
  const std::size_t batch = argc > 4 ? std::strtoull(argv[4], nullptr, 10) : 1;
  durahash::options how;
  how.mode = durahash::open_mode::create_new;
  how.capacity = records;
  how.durability = level == "power"            ? durahash::durability_level::power
                   : level == "power_buffered" ? durahash::durability_level::power_buffered
                                               : durahash::durability_level::process;
  auto made = table::open(path, how);
  if (!made) return std::fprintf(stderr, "%s\n", made.failure().message.c_str()), 3;
  std::vector<std::uint64_t> keys(1000), values(1000);
  std::vector<durahash::status> answers(1000);
  for (std::uint64_t n = 0; n < records; n += keys.size()) {
    for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = values[i] = n + i;
    made->put_many(keys, values, answers);
  }
  if (made->sync() != durahash::status::ok) return 3;
  const auto bytes = static_cast<double>(std::filesystem::file_size(path));
  std::printf("%s, %.0f MiB, %llu records, batches of %zu\n", level.c_str(), bytes / (1 << 20),
              static_cast<unsigned long long>(records), batch);
  writer w(*made, records, batch);
  for (int round = 0; round < 3; ++round) {
    w.reset();
    std::this_thread::sleep_for(std::chrono::seconds(3));
    print("alone", 3, w);
    w.reset();
    const auto began = clock_type::now();
    if (auto e = made->backup(copy); e.code != durahash::status::ok)
      return std::fprintf(stderr, "%s\n", e.message.c_str()), 3;
    const double took = seconds(clock_type::now() - began);
    print("beside a copy", took, w);
    std::printf("%-16s %8.2f s, %.0f MiB/s\n", "the copy", took, bytes / (1 << 20) / took);
    std::filesystem::remove(copy);
    std::filesystem::remove(copy + "-log");
  }
}
