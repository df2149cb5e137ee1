// A file system without room and a process without the right to more: the pool answers no_space
// where a store would be SIGBUS, and stays readable, erasable and reopenable. The tiny file system
// is mounted by a child in a mount namespace of its own, where the system lets it.
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "child.hpp"
#include "scratch.hpp"
#include "subject.hpp"

namespace durahash::test {
namespace {

enum exit_code : int { passed = 0, failed = 1, not_possible_here = 77 };

/// A step of the child; a false one ends it with the step's name.
void require(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "not so: %s\n", what.c_str());
  std::_Exit(failed);
}

std::unique_ptr<subject> open_or_end(const setup& with, const std::string& path) {
  options how;
  how.medium = with.medium();
  auto opened = open_subject(with, path, how);
  require(static_cast<bool>(opened), opened ? "" : opened.failure().message);
  return std::move(*opened);
}

std::uint64_t fill_up(subject& pool, const setup& with, const std::string& what) {
  std::uint64_t n = 0;
  status answer = status::ok;
  while (n < 1'000'000 &&
         (answer = pool.put(nth_key(with, n), long_value(with, n, 500))) == status::ok)
    ++n;
  require(answer == status::no_space, what + " is answered with: " + std::string(message(answer)));
  require(n > 500, what + " after only " + std::to_string(n) + " records");
  return n;
}

void require_records(subject& pool, const setup& with, std::uint64_t first, std::uint64_t last) {
  for (std::uint64_t n = first; n < last; ++n)
    require(pool.get(nth_key(with, n)) == long_value(with, n, 500),
            "record " + std::to_string(n) + " reads as it was written");
  require(pool.pool().size() == last - first, "the pool counts its records");
  check_report report = pool.pool().check();
  require(report.ok,
          "check is ok: " + (report.violations.empty() ? "" : report.violations.front()));
}

/// That a place has room for, in bytes.
#ifdef DURAHASH_SANITIZED
constexpr std::uint64_t room = 3u << 20;
#else
constexpr std::uint64_t room = 6u << 20;
#endif

/// Fill, read, erase, fill again, reopen: on a pool whose file cannot grow past a few megabytes.
int live_in_a_full_place(const setup& with, const std::string& path) {
  {
    options how = with.create_options();
    auto opened = open_subject(with, path, how);
    require(static_cast<bool>(opened), opened ? "" : opened.failure().message);
    subject& pool = **opened;
    std::uint64_t count = fill_up(pool, with, "a full disk");
    require_records(pool, with, 0, count);
    strings keys, values;
    for (std::uint64_t n = count; n < count + 200; ++n)
      keys.push_back(nth_key(with, n)), values.push_back(long_value(with, n, 2000));
    for (status answer : pool.put_many(keys, values))
      require(answer == status::ok || answer == status::no_space, "put_many answers no_space");
    for (status answer : pool.erase_many(keys))
      require(answer == status::ok || answer == status::not_found, "erase_many works");
    for (std::uint64_t n = 0; n < count / 2; ++n)
      require(pool.erase(nth_key(with, n)) == status::ok, "erase works on a full disk");
    require_records(pool, with, count / 2, count);
    for (std::uint64_t n = 0; n < count / 3; ++n)
      require(pool.put(nth_key(with, n), long_value(with, n, 500)) == status::ok,
              "erased room is used again");
    for (std::uint64_t n = 0; n < count / 3; ++n)
      require(pool.erase(nth_key(with, n)) == status::ok, "erase works again");
    status compacted = pool.pool().compact();
    require(compacted == status::ok || compacted == status::no_space,
            "compact answers ok or no_space");
    require_records(pool, with, count / 2, count);
    require(pool.pool().close() == status::ok, "a full pool closes");
  }
  auto pool = open_or_end(with, path);
  require(pool->pool().info().clean, "a full pool closes cleanly");
  require(pool->pool().check().ok, "check is ok after reopen");
  fill_up(*pool, with, "a full disk after reopen");
  require(pool->pool().check().ok, "check is ok after the second filling");
  return passed;
}

/// setup, folder: mounts a tmpfs that has `room` over the folder.
int on_tiny_file_system(const child_arguments& arguments) {
  std::string folder = arguments.at(1);
  if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
    return not_possible_here;
  if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return not_possible_here;
  const std::string size = "size=" + std::to_string(room);
  if (mount("none", folder.c_str(), "tmpfs", 0, size.c_str()) != 0) return not_possible_here;
  return live_in_a_full_place(setup_named(arguments.at(0)), folder + "/pool");
}

/// setup, folder: no file of this process may be longer than `room`. It knows nothing of SIGXFSZ,
/// which ends who goes further.
int with_a_limit_of_file_size(const child_arguments& arguments) {
  rlimit limit{room, room};
  if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return not_possible_here;
  signal(SIGXFSZ, SIG_DFL);
  return live_in_a_full_place(setup_named(arguments.at(0)), arguments.at(1) + "/pool");
}

/// setup, folder: not even the pool's first bytes, or those of its log, fit in.
int with_a_limit_below_any_pool(const child_arguments& arguments) {
  setup with = setup_named(arguments.at(0));
  signal(SIGXFSZ, SIG_DFL);
  for (unsigned limit_kib : {0, 4, 100, 200}) {
    rlimit limit{limit_kib << 10, room};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return not_possible_here;
    std::string path = arguments.at(1) + "/pool" + std::to_string(limit_kib);
    auto opened = open_subject(with, path, with.create_options());
    if (opened) continue;
    bool lacks_ring = with.durability == durability_level::power_buffered &&
                      opened.failure().code == status::unusable;
    require(opened.failure().code == status::no_space || lacks_ring,
            "the error's code is no_space");
    require(opened.failure().message.find(std::strerror(EFBIG)) != std::string::npos,
            "the error has the system's words: " + opened.failure().message);
    require(access(path.c_str(), F_OK) != 0, "no half-made pool is left behind");
  }
  return passed;
}

/// setup, folder: a file system with hardly a page free; the pool cannot even be made.
int without_room_for_a_pool(const child_arguments& arguments) {
  std::string folder = arguments.at(1);
  if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
    return not_possible_here;
  if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return not_possible_here;
  if (mount("none", folder.c_str(), "tmpfs", 0, "size=8k") != 0) return not_possible_here;
  setup with = setup_named(arguments.at(0));
  auto opened = open_subject(with, folder + "/pool", with.create_options());
  require(!opened, "a pool does not fit into 8 kB");
  std::fprintf(stderr, "%s\n", opened.failure().message.c_str());
  require(opened.failure().code == status::no_space, "the error's code is no_space");
  require(opened.failure().message.size() > 20, "the error has a sentence");
  require(access((folder + "/pool").c_str(), F_OK) != 0, "no half-made pool is left behind");
  return passed;
}

const child_role full_disk_roles[] = {{"on_tiny_file_system", on_tiny_file_system},
                                      {"with_a_limit_of_file_size", with_a_limit_of_file_size},
                                      {"with_a_limit_below_any_pool", with_a_limit_below_any_pool},
                                      {"without_room_for_a_pool", without_room_for_a_pool}};

std::vector<setup> file_setups() {
  return setups_where([](const setup& s) {
    return s.medium() == medium_kind::file && s.durability == durability_level::process;
  });
}

class FullDisk : public testing::TestWithParam<setup> {
 protected:
  void play(const std::string& role) {
    scratch_folder folder(GetParam().folder());
    child_end end = child_process(role, {GetParam().name(), folder.path().string()}).wait();
    EXPECT_EQ(end.signal, 0) << "it died of a signal";
    if (end.exit_code == not_possible_here)
      GTEST_SKIP() << "this system does not let the test prepare the place";
    EXPECT_EQ(end.exit_code, passed) << "its stderr says what is not so";
  }
};
INSTANTIATE_TEST_SUITE_P(Every, FullDisk, testing::ValuesIn(file_setups()), setup_name());

TEST_P(FullDisk, AnswersNoSpaceAndEverythingElseGoesOn) { play("on_tiny_file_system"); }
TEST_P(FullDisk, WithoutRoomForAPoolRefusesToMakeOne) { play("without_room_for_a_pool"); }

/// Behind a log, too. Instrumented builds have one without, and FullDisk.
std::vector<setup> limited_setups() {
  std::vector<setup> all = file_setups();
#ifdef DURAHASH_SANITIZED
  if (all.size() > 1) all.erase(all.begin() + 1, all.end());
#endif
  for (engine_kind engine : all_engines())
    for (api_kind api : {api_kind::words, api_kind::bytes})
      if (is_shipped(engine))
        all.push_back({engine, place_kind::logged, api, durability_level::power_buffered});
  return all;
}

class LimitedProcess : public FullDisk {};
INSTANTIATE_TEST_SUITE_P(Every, LimitedProcess, testing::ValuesIn(limited_setups()), setup_name());

TEST_P(LimitedProcess, IsAnsweredNoSpaceAndGoesOn) { play("with_a_limit_of_file_size"); }
TEST_P(LimitedProcess, IsRefusedAPoolThatItMayNotMake) { play("with_a_limit_below_any_pool"); }

}  // namespace
}  // namespace durahash::test
