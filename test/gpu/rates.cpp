// What a device reaches on a pool in host memory: searches, inserts, updates and removals a second, for batches of many sizes. `make gpu-report` runs it.
// --lockstep runs it on host threads, to see that it works; its figures mean nothing then.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>

#include "gpu/map.hpp"
#include "test/gpu/lockstep_device.hpp"

namespace durahash::test {
namespace {

/// A bijection: different numbers are different keys.
std::uint64_t key_of(std::uint64_t n) {
  n = (n ^ n >> 31) * 0x9e3779b97f4a7c15u;
  return n ^ n >> 29;
}

struct arrays {
  explicit arrays(gpu::device& d, std::size_t most) : keys(d, most), values(d, most), answers(d, most) {}
  template <class T>
  struct array {
    array(gpu::device& d, std::size_t count) : at(static_cast<T*>(d.allocate(count * sizeof(T)))) {}
    T* at;
  };
  array<std::uint64_t> keys, values;
  array<status> answers;
};

/// Operations a second of one kind, in millions; every answer is looked at.
template <class Run>
double rate(gpu::device& d, const arrays& a, std::size_t batch, std::size_t total, std::uint64_t first, status wanted, Run run) {
  double seconds = 0;
  for (std::size_t done = 0; done < total; done += batch) {
    for (std::size_t i = 0; i < batch; ++i) a.keys.at[i] = key_of(first + done + i), a.values.at[i] = first + done + i;
    auto began = std::chrono::steady_clock::now();
    run(batch);
    if (error e = d.wait(nullptr); e.code != status::ok) std::fprintf(stderr, "%s\n", e.message.c_str()), std::exit(1);
    seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    for (std::size_t i = 0; i < batch; ++i)
      if (a.answers.at[i] != wanted) std::fprintf(stderr, "operation %zu answers %d, not %d\n", done + i, int(a.answers.at[i]), int(wanted)), std::exit(1);
  }
  return static_cast<double>(total) / seconds / 1e6;
}

int main_of(bool lockstep, std::uint64_t keys, const std::string& path) {
  std::unique_ptr<gpu::device> made = std::make_unique<lockstep_device>();
  if (!lockstep) {
    auto found = gpu::cuda_device(0);
    if (!found) return std::fprintf(stderr, "no GPU: %s\n", found.failure().message.c_str()), 2;
    made = std::move(*found);
  }
  gpu::device& d = *made;
  std::filesystem::remove(path);
  options how;
  how.capacity = 2 * keys;
  how.medium = medium_kind::file;
  auto opened = gpu::open_on(std::move(made), path, how, {});
  if (!opened) return std::fprintf(stderr, "%s\n", opened.failure().message.c_str()), 1;
  gpu::map& m = *opened;
  const std::size_t most = std::size_t{1} << 22, largest = std::min<std::size_t>(most, keys);
  arrays a(d, largest);
  auto* k = a.keys.at;
  auto* v = a.values.at;
  auto* s = a.answers.at;
  std::printf("pool in host memory, %llu records, level process; millions of operations a second\n\n", static_cast<unsigned long long>(keys));
  rate(d, a, largest, keys / largest * largest, 0, status::ok, [&](std::size_t n) { m.put(n, k, v, s); });
  std::uint64_t next = keys;
  std::printf("%10s %10s %10s %10s %10s %10s\n", "batch", "insert", "positive", "negative", "update", "erase");
  for (std::size_t batch = 1 << 8; batch <= largest; batch *= 4) {
    std::size_t total = std::max<std::size_t>(batch, std::min<std::size_t>(keys / 4, batch * 256)) / batch * batch;
    double insert = rate(d, a, batch, total, next, status::ok, [&](std::size_t n) { m.insert_async(n, k, v, s); });
    double positive = rate(d, a, batch, total, next, status::ok, [&](std::size_t n) { m.find_async(n, k, v, s); });
    double negative = rate(d, a, batch, total, next + (std::uint64_t{1} << 40), status::not_found, [&](std::size_t n) { m.find_async(n, k, v, s); });
    double update = rate(d, a, batch, total, next, status::ok, [&](std::size_t n) { m.update_async(n, k, v, s); });
    double erase = rate(d, a, batch, total, next, status::ok, [&](std::size_t n) { m.erase_async(n, k, s); });
    next += total;
    std::printf("%10zu %10.2f %10.2f %10.2f %10.2f %10.2f\n", batch, insert, positive, negative, update, erase);
  }
  check_report report = m.check();
  if (!report.ok) return std::fprintf(stderr, "the pool is damaged: %s\n", report.violations.front().c_str()), 1;
  d.free(k), d.free(v), d.free(s);
  std::filesystem::remove(path);
  return 0;
}

}  // namespace
}  // namespace durahash::test

/// gpu_rates [--lockstep] [KEYS] [PATH]
int main(int argc, char** argv) {
  bool lockstep = argc > 1 && std::strcmp(argv[1], "--lockstep") == 0;
  int at = lockstep ? 2 : 1;
  std::uint64_t keys = argc > at ? std::strtoull(argv[at], nullptr, 10) : 16'777'216;
  std::string path = argc > at + 1 ? argv[at + 1] : "/dev/shm/durahash-gpu-rates";
  return durahash::test::main_of(lockstep, keys, path);
}
