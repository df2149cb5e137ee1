// A killed pool is opened again and written while its records are still being counted: what moves
// meanwhile is counted once, and its cell is its own.
//
// Each thread owns a window of keys: [first, last) are there, and each number is told after its
// write returned. So any moment can be verified.
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "world.hpp"

namespace durahash::test {
namespace {

constexpr std::uint64_t max_threads = 8;

/// What the threads have told: windows, and the size of the pool.
class windows {
 public:
  explicit windows(const std::string& path) : told_(path, 2 * max_threads) {}
  std::atomic<std::uint64_t>& first(std::uint64_t thread) { return told_[2 * thread]; }
  std::atomic<std::uint64_t>& last(std::uint64_t thread) { return told_[2 * thread + 1]; }

 private:
  shared_words told_;
};

/// Keys of 16 bytes and values of 8, so that the recount has many records to look at; a value names
/// its key.
std::string key_of(std::uint64_t thread, std::uint64_t n) {
  return word_bytes(thread) + word_bytes(n);
}
std::string value_of(std::uint64_t thread, std::uint64_t n) {
  return word_bytes(mixed(thread << 56 | n));
}

struct counted_place : place {
  std::string program;
  explicit counted_place(const child_arguments& arguments)
      : place(arguments), program(arguments.at(2)) {}
};

std::uint64_t threads_in(const std::string& program) {
  return program == "sweeps" ? max_threads : 2;
}

/// level fills up to this load before it grows; the others have more room.
constexpr double high_load = 0.94;

void erase_down_to(subject& pool, windows& told, std::uint64_t t, std::uint64_t records) {
  while (told.last(t) - told.first(t) > records) {
    std::uint64_t first = told.first(t);
    require_ok(pool.erase(key_of(t, first)), "erase");
    told.first(t) = first + 1;
  }
}
void put_up_to(subject& pool, windows& told, std::uint64_t t, std::uint64_t records) {
  while (told.last(t) - told.first(t) < records) {
    std::uint64_t last = told.last(t);
    require_ok(pool.put(key_of(t, last), value_of(t, last)), "put");
    told.last(t) = last + 1;
  }
}

/// Records of a thread: how many there are at most, and so few that cceh's segments are about to
/// merge.
constexpr std::uint64_t many = 12'000, some = many * 55 / 100, few = many / 20;

int fill_to_the_brim(const child_arguments& arguments) {
  counted_place at(arguments);
  windows told(at.file("told"));
  options how = at.with.create_options();
  how.capacity = 80'000;
  if (at.with.engine == engine_kind::cceh) how.settings["segment"] = 2;  // so that erasing merges
  auto pool = open_or_end(at.with, at.file("pool"), how);
  std::uint64_t threads = threads_in(at.program);
  for (std::uint64_t n = 0;; ++n) {
    for (std::uint64_t t = 0; t < threads; ++t) {
      require_ok(pool->put(key_of(t, n), value_of(t, n)), "put");
      told.last(t) = n + 1;
    }
    if (at.program == "sweeps" && n + 1 == many) break;
    bool full = at.program == "pairs" && at.with.engine == engine_kind::level && n % 16 == 0 &&
                n * threads > 60'000 && pool->pool().info().load_factor >= high_load;
    if (full || (at.program == "pairs" &&
                 n * threads > (at.with.engine == engine_kind::level ? 400'000 : 120'000)))
      break;
  }
  if (at.program == "sweeps")
    for (std::uint64_t t = 0; t < threads; ++t) erase_down_to(*pool, told, t, some);
  die();
}

/// Erases one record and puts another one, again and again: level moves records to make way.
void work_in_pairs(subject& pool, windows& told, std::uint64_t t, std::uint64_t pairs) {
  for (std::uint64_t i = 0; i < pairs; ++i) {
    std::uint64_t first = told.first(t), last = told.last(t);
    require_ok(pool.erase(key_of(t, first)), "erase");
    told.first(t) = first + 1;
    require_ok(pool.put(key_of(t, last), value_of(t, last)), "put");
    told.last(t) = last + 1;
  }
}

std::uint64_t require_windows(subject& pool, windows& told, std::uint64_t threads,
                              const std::string& when) {
  std::uint64_t lost = 0, wrong = 0, back = 0, records = 0;
  std::string value;
  for (std::uint64_t t = 0; t < threads; ++t) {
    for (std::uint64_t n = told.first(t); n < told.last(t); ++n, ++records) {
      status answer = pool.get(key_of(t, n), value);
      if (answer == status::not_found) ++lost;
      else wrong += answer != status::ok || value != value_of(t, n);
    }
    for (std::uint64_t n = told.first(t), back_to = n > 2000 ? n - 2000 : 0; n > back_to; --n)
      back += pool.contains(key_of(t, n - 1));
  }
  require(lost == 0 && wrong == 0 && back == 0,
          when + " the pool holds what was acknowledged: of " + std::to_string(records) +
              " records " + std::to_string(lost) + " are lost, " + std::to_string(wrong) +
              " have another value, " + std::to_string(back) + " erased ones are back");
  require(pool.pool().size() == records, when + " size is " + std::to_string(records) + "; it is " +
                                             std::to_string(pool.pool().size()));
  return records;
}

/// As on a busy machine: the threads that count get time only when nobody else wants it.
void make_background_threads_wait() {
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    auto thread = static_cast<id_t>(std::stol(task.path().filename().string()));
    if (thread != static_cast<id_t>(::getpid())) (void)::setpriority(PRIO_PROCESS, thread, 12);
  }
}

/// Opens what was killed, writes at once, verifies; then ends as `how` says.
int write_beside_the_recount(const child_arguments& arguments) {
  counted_place at(arguments);
  windows told(at.file("told"));
  std::uint64_t threads = threads_in(at.program);
  auto pool = open_or_end(at.with, at.file("pool"));
  make_background_threads_wait();
  std::vector<std::thread> writers;
  for (std::uint64_t t = 0; t < threads; ++t)
    writers.emplace_back([&, t] {
      if (at.program == "pairs") return work_in_pairs(*pool, told, t, 15'000);
      for (int sweep = 0; sweep < 3; ++sweep) {
        erase_down_to(*pool, told, t, few);
        put_up_to(*pool, told, t, many);
      }
    });
  for (std::thread& writer : writers) writer.join();
  require_windows(*pool, told, threads, "after writing beside the recount");
  require_sound(*pool, "after writing beside the recount");
  if (at.program == "sweeps")
    for (std::uint64_t t = 0; t < threads; ++t) erase_down_to(*pool, told, t, some);
  if (arguments.at(3) == "kill") die();
  require_ok(pool->pool().close(), "close");
  auto again = open_or_end(at.with, at.file("pool"));
  require(again->pool().info().clean, "close marks the pool clean");
  require_windows(*again, told, threads, "after close and reopen");
  require_sound(*again, "after close and reopen");
  return passed;
}

const child_role roles_of_recount[] = {{"fill_to_the_brim", fill_to_the_brim},
                                       {"write_beside_the_recount", write_beside_the_recount}};

class Recount : public testing::TestWithParam<setup> {
 protected:
  /// Fills, kills, and lets so many openings find the pool as their forerunner left it; the last
  /// one closes.
  void survives(const std::string& program, int kills) {
    scratch_folder folder(GetParam().folder());
    child_arguments arguments = {GetParam().name(), folder.path().string(), program, "kill"};
    ASSERT_NO_FATAL_FAILURE(play_until_death("fill_to_the_brim", arguments));
    for (int round = 0; round < kills; ++round) {
      SCOPED_TRACE("opening " + std::to_string(round) + " after a kill");
      ASSERT_NO_FATAL_FAILURE(play_until_death("write_beside_the_recount", arguments));
    }
    arguments[3] = "close";
    ASSERT_NO_FATAL_FAILURE(play("write_beside_the_recount", arguments));
  }
};
INSTANTIATE_TEST_SUITE_P(Every, Recount, testing::ValuesIn(byte_setups()), setup_name());

TEST_P(Recount, BesideErasesAndPutsLosesNothingAndThePoolClosesClean) { survives("pairs", 5); }

TEST_P(Recount, BesideThreadsThatEraseAlmostAllLosesNothingAndThePoolClosesClean) {
  survives("sweeps", 5);
}

}  // namespace
}  // namespace durahash::test
