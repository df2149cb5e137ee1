// The three forms that the working image of a pool on a disk may have, side by side: what it takes
// to open one, to touch a page of it for the first time, and how much memory it holds.
//
//   durahash_image_forms FOLDER [MIB [PAGES]]       docs/lab/disk.md has the figures
//
// Processor time of the calling thread, which neighbours on a shared machine change little, and the
// clock, which they change much. Five rounds, all forms in each; the median of each figure.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace {

constexpr std::size_t page = 4096;

void need(bool holds, const char* what) {
  if (holds) return;
  std::perror(what);
  std::exit(1);
}

double cpu_now() {
  timespec t{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}
double clock_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct spent {
  double cpu, clock;
};
spent time_of(const std::function<void()>& work) {
  const double cpu = cpu_now(), clock = clock_now();
  work();
  return {cpu_now() - cpu, clock_now() - clock};
}

/// MiB that this process has of its own, or shares.
double memory_of_process() {
  std::ifstream in("/proc/self/status");
  double kib = 0;
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("RssAnon") || line.starts_with("RssShmem"))
      kib += std::strtod(line.c_str() + line.find(':') + 1, nullptr);
  return kib / 1024;
}

struct image {
  unsigned char* at;
  std::size_t bytes;
};

void fill_from(int file, image i) {
  for (std::size_t done = 0; done < i.bytes;) {
    const ssize_t got = ::pread(file, i.at + done, std::min<std::size_t>(i.bytes - done, 4 << 20),
                                static_cast<off_t>(done));
    need(got > 0, "read");
    done += static_cast<std::size_t>(got);
  }
}

image map_private(const std::string& pool, std::size_t bytes) {
  const int file = ::open(pool.c_str(), O_RDONLY | O_CLOEXEC);
  need(file >= 0, "open");
  void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file, 0);
  need(at != MAP_FAILED, "mmap");
  ::close(file);
  return {static_cast<unsigned char*>(at), bytes};
}

image fill_anonymous(const std::string& pool, std::size_t bytes) {
  const int file = ::open(pool.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT);
  need(file >= 0, "open");
  void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  need(at != MAP_FAILED, "mmap");
  ::madvise(at, bytes, MADV_HUGEPAGE);
  const image made{static_cast<unsigned char*>(at), bytes};
  fill_from(file, made);
  ::close(file);
  return made;
}

image map_tmpfs(const std::string& shared, std::size_t bytes) {
  const int file = ::open(shared.c_str(), O_RDWR | O_CLOEXEC);
  need(file >= 0, "open");
  void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  need(at != MAP_FAILED, "mmap");
  ::close(file);
  return {static_cast<unsigned char*>(at), bytes};
}

/// As after a reboot.
image fill_tmpfs(const std::string& pool, const std::string& shared, std::size_t bytes) {
  const int made = ::open(shared.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  need(made >= 0 && ::posix_fallocate(made, 0, static_cast<off_t>(bytes)) == 0, "tmpfs");
  ::close(made);
  const int file = ::open(pool.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT);
  need(file >= 0, "open");
  const image i = map_tmpfs(shared, bytes);
  fill_from(file, i);
  ::close(file);
  return i;
}

/// name -> figures of all rounds
std::map<std::string, std::vector<double>> figures;
void note(const std::string& name, double figure) { figures[name].push_back(figure); }

std::vector<std::size_t> drawn_pages(std::size_t of, std::size_t count) {
  std::vector<std::size_t> all(of);
  for (std::size_t n = 0; n < of; ++n) all[n] = n;
  std::mt19937_64 draw(1);
  std::shuffle(all.begin(), all.end(), draw);
  all.resize(std::min(count, of));
  return all;
}

void try_form(const std::string& form, const std::vector<std::size_t>& pages,
              const std::function<image()>& open) {
  const double before = memory_of_process();
  image i{};
  const spent opening = time_of([&] { i = open(); });
  note(form + ": open, ms of the clock", 1e3 * opening.clock);
  note(form + ": open, ms of the processor", 1e3 * opening.cpu);
  volatile unsigned char sink = 0;
  const auto each = [&](const spent& s) { return 1e9 * s.cpu / static_cast<double>(pages.size()); };
  const double reads = each(time_of([&] {
    for (const std::size_t p : pages) sink = i.at[p * page];
  }));
  const double first = each(time_of([&] {
    for (const std::size_t p : pages) i.at[p * page + 64] = 1;
  }));
  const double again = each(time_of([&] {
    for (const std::size_t p : pages) i.at[p * page + 128] = 1;
  }));
  note(form + ": first read of a page, ns", reads);
  note(form + ": first write to a page, ns", first);
  note(form + ": another write to it, ns", again);
  note(form + ": MiB of memory, a part of the pages written", memory_of_process() - before);
  ::munmap(i.at, i.bytes);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "usage: %s FOLDER [MIB [PAGES]]\n", argv[0]), 2;
  const std::size_t bytes = (argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 512) << 20;
  const std::size_t count = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 20'000;
  const std::string pool = std::string(argv[1]) + "/image_forms.pool";
  const std::string shared = "/dev/shm/image_forms." + std::to_string(::getpid());
  {
    std::ofstream out(pool, std::ios::binary);
    std::vector<char> some(1 << 20);
    std::mt19937_64 draw(2);
    for (char& c : some) c = static_cast<char>(draw());
    for (std::size_t done = 0; done < bytes; done += some.size())
      out.write(some.data(), static_cast<std::streamsize>(some.size()));
    need(out.good(), "write");
  }
  const auto pages = drawn_pages(bytes / page, count);
  for (int round = 0; round < 5; ++round) {
    try_form("private mapping", pages, [&] { return map_private(pool, bytes); });
    try_form("anonymous", pages, [&] { return fill_anonymous(pool, bytes); });
    try_form("tmpfs, filled", pages, [&] { return fill_tmpfs(pool, shared, bytes); });
    try_form("tmpfs, behind a kill", pages, [&] { return map_tmpfs(shared, bytes); });
    ::unlink(shared.c_str());
  }
  ::unlink(pool.c_str());
  std::printf("%zu MiB, %zu pages drawn, %d rounds: median (least to most)\n", bytes >> 20,
              pages.size(), 5);
  for (auto& [name, all] : figures) {
    std::sort(all.begin(), all.end());
    std::printf("%-68s %10.1f (%.1f to %.1f)\n", name.c_str(), all[all.size() / 2], all.front(),
                all.back());
  }
}
