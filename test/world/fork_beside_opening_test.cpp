// A child that is made while another thread of its parent opens a pool. The descriptor is there
// before the library has noted it; a child that keeps it keeps the lock, also of a dead parent.
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "world.hpp"

namespace durahash::test {
namespace {

/// Locks that descriptors of this process hold, whoever took them.
std::size_t locks_held() {
  std::size_t held = 0;
  for (const auto& descriptor : std::filesystem::directory_iterator("/proc/self/fdinfo"))
    held += read_file(descriptor.path()).find("FLOCK") != std::string::npos;
  return held;
}

/// The number of the round, in memory that parent and child share.
std::atomic<int>& shared_round() {
  void* at = ::mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  require(at != MAP_FAILED, "memory can be shared");
  return *new (at) std::atomic<int>(0);
}

/// setup, folder: in each round a pool is opened, and a child made at another moment of that.
int children_beside_openings(const child_arguments& arguments) {
  setup with = world_setup(arguments.at(0));
  std::string path = arguments.at(1) + "/pool";
  make_or_end(with, path).reset();
  std::atomic<int>&begun = shared_round(), &opened = shared_round(), &over = shared_round();
  constexpr int rounds = 400;
  std::thread opener([&] {
    for (int round = 1; round <= rounds; ++round) {
      begun = round;
      auto pool = open_or_end(with, path);
      opened = round;
      while (over < round) std::this_thread::yield();
    }
  });
  random_stream random(stream_seed(with.name()));
  for (int round = 1; round <= rounds; ++round) {
    while (begun < round) std::this_thread::yield();
    for (auto until =
             std::chrono::steady_clock::now() + std::chrono::microseconds(random.below(300));
         std::chrono::steady_clock::now() < until;) {}
    in_forked_child("a child of a process that opens a pool", [&] {
      while (opened < round) std::this_thread::yield();
      require(locks_held() == 0, "a child has no lock of its parent's");
    });
    require(locks_held() == 1, "its parent has one");
    over = round;
  }
  opener.join();
  return passed;
}

/// setup, folder: is killed while a child of its has not come to close what it inherited.
int killed_while_forking(const child_arguments& arguments) {
  setup with = world_setup(arguments.at(0));
  auto pool = make_or_end(with, arguments.at(1) + "/pool");
  put_records(*pool, with, 0, 100);
  // no function of pthread_atfork runs in it, as if it were not scheduled
  if (::syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr) == 0) {
    ::usleep(300'000);
    ::_exit(0);
  }
  die();
}

const child_role roles_of_fork_beside_opening[] = {
    {"children_beside_openings", children_beside_openings},
    {"killed_while_forking", killed_while_forking}};

/// Engines know nothing of files.
TEST(ForkBesideOpening, LeavesTheChildWithoutTheLock) {
  setup with = byte_setups().front();
  scratch_folder folder(with.folder());
  play("children_beside_openings", {with.name(), folder.path().string()});
}

TEST(ForkBesideOpening, AwaitsTheChildOfAKilledProcess) {
  setup with = byte_setups().front();
  scratch_folder folder(with.folder());
  ASSERT_NO_FATAL_FAILURE(
      play_until_death("killed_while_forking", {with.name(), folder.path().string()}));
  auto opened = open_subject(with, folder.file("pool"), plain_options(with));
  ASSERT_TRUE(opened) << opened.failure().message;
  EXPECT_EQ((*opened)->pool().size(), 100u);
}

/// Nobody waits for a process that is there.
TEST(ForkBesideOpening, RefusesWhatALivingProcessHasOpen) {
  setup with = byte_setups().front();
  scratch_folder folder(with.folder());
  auto pool = open_subject(with, folder.file("pool"), with.create_options());
  ASSERT_TRUE(pool) << pool.failure().message;
  auto begun = std::chrono::steady_clock::now();
  EXPECT_FALSE(open_subject(with, folder.file("pool"), plain_options(with)));
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(5));
}

}  // namespace
}  // namespace durahash::test
