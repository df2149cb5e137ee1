// A writer's process, and those of its readers; a line of JSON. scripts/bench_readers.py starts it.
//
//   durahash_reader_peers STORE CELL FOLDER RECORDS SECONDS
//
// FOLDER is made, and removed with what is in it. RECORDS are put; then a process writes random
// ones of them anew for SECONDS, beside
//   reading:N    N processes that read random ones
//   waiting:N    N that have it open, and wait
//   stopped:1    one that has begun to read, and is stopped; the writer puts RECORDS / 10
//   killed:1     the same, killed
//   copying:1    one that copies it; the writer writes until it is done
//   opening:1    one that opens it, reads a record and closes it, again and again
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>
#include <utility>
#include <vector>

#include "bench/clock.hpp"
#include "bench/peers/readers/store.hpp"

namespace durahash::peers {
namespace {

/// What all processes of a cell see.
struct shared_facts {
  std::atomic<bool> go, stop;
  std::atomic<std::uint64_t> ready, reads, writes, failures;
};

shared_facts& share() {
  void* at = ::mmap(nullptr, sizeof(shared_facts), PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) fail("no memory");
  return *static_cast<shared_facts*>(at);
}

class process {
 public:
  template <class Run>
  process(shared_facts& facts, Run&& run) : id_(::fork()) {
    if (id_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    try {
      run();
      ::_exit(0);
    } catch (const std::exception& why) {
      fmt::print(stderr, "{}\n", why.what());
      ++facts.failures;
      ::_exit(1);
    }
  }
  process(process&& other) noexcept : id_(std::exchange(other.id_, -1)) {}
  ~process() {
    if (id_ <= 0) return;
    signal(SIGKILL);
    wait();
  }
  void signal(int number) const { ::kill(id_, number); }
  bool is_over() {
    if (id_ > 0 && ::waitpid(id_, nullptr, WNOHANG) == id_) id_ = -1;
    return id_ < 0;
  }
  void wait() {
    if (id_ > 0) ::waitpid(std::exchange(id_, -1), nullptr, 0);
  }

 private:
  pid_t id_;
};

std::uint64_t blocks_of(const std::string& file) {
  struct stat facts {};
  if (::stat(file.c_str(), &facts) != 0) fail("cannot stat " + file);
  return static_cast<std::uint64_t>(facts.st_blocks) * 512;
}

using clock = std::chrono::steady_clock;

struct cell {
  std::string store, kind, folder;
  std::uint64_t readers = 0, records = 0;
  double seconds = 0;
};

void await(const shared_facts& facts, const std::atomic<std::uint64_t>& number,
           std::uint64_t least) {
  while (number < least) {
    if (facts.failures != 0) fail("a process failed");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

/// What a reader's process does.
void read(const cell& c, shared_facts& facts, std::uint64_t which) {
  bench::random_source random(which + 1);
  auto open = [&] { return open_store(c.store, c.folder, role::reads); };
  auto some = [&] { return key_of(random.below(c.records)); };
  std::unique_ptr<store> all;
  if (c.kind != "opening") all = open();
  if (c.kind == "stopped" || c.kind == "killed") all->begin_to_read(some());
  if (c.kind == "waiting" && !all->get(some())) fail("a record is not there");
  ++facts.ready;
  while (!facts.go) ::usleep(100);
  if (c.kind == "copying") {
    all->copy(c.folder + "/copy");
    facts.stop = true;
  } else if (c.kind == "opening") {
    for (; !facts.stop; ++facts.reads)
      if (!open()->get(some())) fail("a record is not there");
  } else if (c.kind == "reading") {
    constexpr int at_once = 100;
    for (; !facts.stop; facts.reads += at_once)
      for (int i = 0; i < at_once; ++i)
        if (!all->get(some())) fail("a record is not there");
  } else {
    while (!facts.stop) ::usleep(10'000);
  }
}

void write(const cell& c, shared_facts& facts, std::uint64_t most) {
  auto all = open_store(c.store, c.folder, role::writes);
  bench::random_source random(0);
  ++facts.ready;
  while (!facts.go) ::usleep(100);
  for (std::uint64_t n = 0; n < most && !facts.stop; ++n) {
    const std::uint64_t key = key_of(random.below(c.records));
    all->put(key, value_of(key, n));
    facts.writes.store(n + 1, std::memory_order_relaxed);
  }
}

int run(const cell& c) {
  {
    auto all = open_store(c.store, c.folder, role::makes);
    for (std::uint64_t n = 0; n < c.records; ++n) all->put(key_of(n), value_of(key_of(n), 0));
  }
  shared_facts& facts = share();
  const bool stale = c.kind == "stopped" || c.kind == "killed";
  const std::uint64_t most = stale ? c.records / 10 : ~std::uint64_t{0};
  process writer(facts, [&] { write(c, facts, most); });
  await(facts, facts.ready, 1);
  std::vector<process> readers;
  for (std::uint64_t n = 0; n < c.readers; ++n)
    readers.emplace_back(facts, [&] { read(c, facts, n); });
  await(facts, facts.ready, 1 + c.readers);
  for (const process& one : readers)
    if (stale) one.signal(c.kind == "stopped" ? SIGSTOP : SIGKILL);
  const std::uint64_t before = blocks_of(file_of(c.store, c.folder));
  const auto begin = clock::now();
  facts.go = true;
  if (stale) writer.wait();
  else if (c.kind == "copying") readers[0].wait();
  else std::this_thread::sleep_for(std::chrono::duration<double>(c.seconds));
  const double seconds = bench::seconds_between(begin, clock::now());
  const std::uint64_t writes = facts.writes, reads = facts.reads;
  facts.stop = true;
  writer.wait();
  const std::uint64_t after = blocks_of(file_of(c.store, c.folder));
  for (process& one : readers)
    if (!stale) one.wait();
  if (facts.failures != 0) fail("a process failed");
  fmt::print(R"({{"seconds": {:.6f}, "writes_per_second": {:.1f}, "reads_per_second": {:.1f}, )"
             R"("file_bytes_before": {}, "file_bytes_after": {}}})"
             "\n",
             seconds, static_cast<double>(writes) / seconds, static_cast<double>(reads) / seconds,
             before, after);
  return 0;
}

int run_all(const std::vector<std::string>& words) {
  if (words.size() != 5) fail("STORE CELL FOLDER RECORDS SECONDS");
  const std::size_t colon = words[1].find(':');
  if (colon == std::string::npos) fail("not a cell: " + words[1]);
  const cell c{words[0],
               words[1].substr(0, colon),
               words[2],
               std::stoull(words[1].substr(colon + 1)),
               std::stoull(words[3]),
               std::stod(words[4])};
  struct scratch {
    std::string folder;
    explicit scratch(std::string f) : folder(std::move(f)) {
      if (!std::filesystem::create_directory(folder)) fail(folder + " is there already");
    }
    ~scratch() {
      std::error_code ignored;
      std::filesystem::remove_all(folder, ignored);
    }
  } folder(c.folder);
  return run(c);
}

}  // namespace
}  // namespace durahash::peers

int main(int count, char** words) try {
  return durahash::peers::run_all({words + 1, words + count});
} catch (const std::exception& why) {
  fmt::print(stderr, "durahash_reader_peers: {}\n", why.what());
  return 1;
}
