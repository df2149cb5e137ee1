// Who opens a pool whose file no process holds, but which a process lent to a device: it waits for
// the end of that process, and is refused while it lives.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include "durahash/map.hpp"
#include "gpu/map.hpp"
#include "persist/owner.hpp"
#include "test/gpu/lockstep_device.hpp"
#include "test/store/child.hpp"
#include "test/store/patched_pool.hpp"
#include "test/store/scratch.hpp"

namespace durahash::test {
namespace {

using word_map = map<std::uint64_t, std::uint64_t>;
constexpr std::uint64_t records = 1000;

options on_a_file(open_mode mode = open_mode::create_or_open) {
  options how;
  how.medium = medium_kind::file;
  how.mode = mode;
  return how;
}

owner_record owner_in(const std::string& image) {
  owner_record owner;
  std::memcpy(&owner, image.data() + owner_offset, sizeof owner);
  return owner;
}
bool names_nobody(const std::string& path) {
  return read_file(path).substr(owner_offset, sizeof(owner_record)) ==
         std::string(sizeof(owner_record), '\0');
}

// ------------------------------------------------------------------------------ the second process

enum word : std::size_t { told, end };  // what the two tell each other
enum telling : std::uint64_t { nothing, ready };

void wait_for(std::atomic<std::uint64_t>& word) {
  // ends: the other one tells, or the test is killed
  while (word.load() == nothing) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

/// As the kernel does with the files of a process that was killed.
void let_go_of(const std::string& path) {
  struct stat wanted {
  }, found{};
  ASSERT_EQ(::stat(path.c_str(), &wanted), 0);
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    int descriptor = std::stoi(entry.path().filename());
    if (::fstat(descriptor, &found) == 0 && found.st_ino == wanted.st_ino &&
        found.st_dev == wanted.st_dev)
      ::flock(descriptor, LOCK_UN);
  }
}

result<gpu::map> lend(const std::string& path) {
  return gpu::open_on(std::make_unique<lockstep_device>(), path, on_a_file(), {});
}

/// Fills a pool from a device, lets go of its lock, and dies when it is told to.
int lend_and_let_go(const child_arguments& arguments) {
  const std::string& path = arguments[0];
  shared_words words(arguments[1], 2);
  auto pool = lend(path);
  if (!pool) return 1;
  std::vector<std::uint64_t> keys(records);
  for (std::uint64_t n = 0; n < records; ++n) keys[n] = n;
  std::vector<status> answers(records);
  if (pool->put(records, keys.data(), keys.data(), answers.data()) != status::ok) return 1;
  let_go_of(path);
  words[told] = ready;
  wait_for(words[end]);
  return raise(SIGKILL);
}
child_role lends_and_lets_go("lend_and_let_go", lend_and_let_go);

/// Its first thread ends, and another one dies when it is told to.
int end_the_first_thread(const child_arguments& arguments) {
  static shared_words words(arguments[0], 2 + sizeof(owner_record) / 8);
  std::thread([] {
    wait_for(words[end]);
    raise(SIGKILL);
  }).detach();
  owner_record self = this_process(owner_side::device);
  for (std::size_t i = 0; i < sizeof self / 8; ++i) {
    std::uint64_t piece;
    std::memcpy(&piece, reinterpret_cast<const char*>(&self) + 8 * i, 8);
    words[2 + i] = piece;
  }
  words[told] = ready;
  return static_cast<int>(::syscall(SYS_exit, 0));  // of this thread alone
}
child_role ends_its_first_thread("end_the_first_thread", end_the_first_thread);

// --------------------------------------------------------------------------------------- the tests

/// A pool that a living process lent to a device, without its lock.
class LentPool : public testing::Test {
 protected:
  void SetUp() override {
    wait_for(words[told]);
    ASSERT_TRUE(child.running());
  }
  void expect_all_records(const std::string& which) {
    auto pool = word_map::open(which, on_a_file());
    ASSERT_TRUE(pool) << pool.failure().message;
    EXPECT_EQ(pool->size(), records);
    EXPECT_TRUE(pool->check().ok);
    for (std::uint64_t n = 0; n < records; ++n) ASSERT_EQ(pool->get(n), n);
    EXPECT_TRUE(names_nobody(which));
  }
  /// A copy of the pool with another owner.
  std::string with(const owner_record& owner, const char* name = "copy") {
    std::string image = read_file(path), copy = folder.file(name);
    std::memcpy(image.data() + owner_offset, &owner, sizeof owner);
    write_as_killed(copy, image);
    return copy;
  }

  scratch_folder folder;
  std::string path = folder.file("pool");
  shared_words words{folder.file("words"), 2};
  child_process child{"lend_and_let_go", {path, folder.file("words")}};
};

TEST_F(LentPool, IsRefusedToWritersAndReadersWhileItsOwnerLives) {
  std::string image = read_file(path);
  owner_record owner = owner_in(image);
  ASSERT_TRUE(is_at_large(owner));
  owner_record of_unknown_boot = owner;
  of_unknown_boot.boot_id = {};
  EXPECT_TRUE(is_at_large(sealed(of_unknown_boot))) << "an unknown run is not another one";
  auto refusal = [](const auto& opened) {
    return opened ? error{status::ok, "it opened"} : opened.failure();
  };
  auto reader = std::async(std::launch::async, [&, copy = with(owner)] {
    return refusal(word_map::open(copy, on_a_file(open_mode::read_only)));
  });
  auto device = std::async(std::launch::async,
                           [&, copy = with(owner, "another")] { return refusal(lend(copy)); });
  for (const error& why :
       {refusal(word_map::open(path, on_a_file())), reader.get(), device.get()}) {
    EXPECT_EQ(why.code, status::locked);
    EXPECT_NE(why.message.find("process " + std::to_string(owner.process) + " "), std::string::npos)
        << why.message;
    EXPECT_NE(why.message.find("kill -9"), std::string::npos) << why.message;
  }
  EXPECT_TRUE(read_file(path) == image) << "the refused open changed the file";
}

/// The owner is not waited for by its parent until the end: a zombie has closed its files.
TEST_F(LentPool, OpensOnceItsOwnerWasKilled) {
  auto opener = std::async(std::launch::async, [this] { expect_all_records(path); });
  words[end] = ready;
  opener.get();
  EXPECT_EQ(child.wait().signal, SIGKILL);
}

TEST_F(LentPool, OpensWhenAProcessNamedAsItsOwnerIsNotThatOne) {
  owner_record owner = owner_in(read_file(path));
  owner_record elsewhere = owner, reused = owner, mine = this_process(owner_side::device);
  elsewhere.boot_id[3] ^= 1;
  ++reused.start_ticks;
  for (const owner_record& other : {sealed(elsewhere), sealed(reused), mine}) {
    EXPECT_FALSE(is_at_large(other));
    expect_all_records(with(other));
  }
}

/// A kill between two of its words, or damage: the pool is as good as ever.
TEST_F(LentPool, OpensWithHalfAnOwner) {
  owner_record whole = owner_in(read_file(path));
  for (std::size_t byte = 0; byte < sizeof whole; ++byte) {
    owner_record damaged = whole;
    reinterpret_cast<unsigned char*>(&damaged)[byte] ^= 0x20;
    std::string copy = with(damaged);
    EXPECT_FALSE(read_owner(reinterpret_cast<const std::byte*>(read_file(copy).data())))
        << "byte " << byte;
    if (byte % 8 == 0) expect_all_records(copy);
  }
}

TEST(Owner, IsAtLargeWhileAnyThreadOfItIs) {
  scratch_folder folder;
  shared_words words(folder.file("words"), 2 + sizeof(owner_record) / 8);
  child_process child("end_the_first_thread", {folder.file("words")});
  wait_for(words[told]);
  owner_record owner;
  for (std::size_t i = 0; i < sizeof owner / 8; ++i) {
    std::uint64_t piece = words[2 + i];
    std::memcpy(reinterpret_cast<char*>(&owner) + 8 * i, &piece, 8);
  }
  std::string stat;
  while (stat.find(") Z ") == std::string::npos) {  // ends: the first thread has nothing else to do
    std::ifstream file("/proc/" + std::to_string(owner.process) + "/stat");
    std::getline(file, stat);
    ASSERT_FALSE(stat.empty());
  }
  EXPECT_TRUE(is_at_large(owner)) << stat;
  EXPECT_EQ(outlast(owner, "a pool", std::chrono::milliseconds(20)).code, status::locked);
  words[end] = ready;
  EXPECT_EQ(outlast(owner, "a pool").code, status::ok);
  EXPECT_EQ(child.wait().signal, SIGKILL);
  EXPECT_FALSE(is_at_large(owner));
}

TEST(Owner, IsNamedFromTheLoanToTheClose) {
  scratch_folder folder;
  std::string path = folder.file("pool");
  for (int round = 0; round < 2; ++round) {
    auto pool = lend(path);
    ASSERT_TRUE(pool) << pool.failure().message;
    owner_record owner = owner_in(read_file(path)), self = this_process(owner_side::device);
    EXPECT_EQ(std::memcmp(&owner, &self, sizeof owner), 0);
    EXPECT_EQ(pool->reserve(10'000), status::ok);
    owner = owner_in(read_file(path));
    EXPECT_EQ(std::memcmp(&owner, &self, sizeof owner), 0) << "the host had the pool in between";
    EXPECT_EQ(pool->close(), status::ok);
    EXPECT_TRUE(names_nobody(path));
  }
}

/// The host alone stores in the pool then, and its lock is enough.
TEST(Owner, OfAPoolWithAMirrorIsNobody) {
  scratch_folder folder;
  for (gpu::table_place place : {gpu::table_place::host_mirror, gpu::table_place::device_mirror}) {
    auto pool = gpu::open_on(std::make_unique<lockstep_device>(), folder.file("pool"), on_a_file(),
                             {.place = place});
    ASSERT_TRUE(pool) << pool.failure().message;
    EXPECT_TRUE(names_nobody(folder.file("pool")));
  }
}

/// Nobody knows what the device of this process does: others stay out, those that read beside it,
/// too. This process is told, and may go on.
TEST(Owner, StaysBehindADeviceThatFailed) {
  scratch_folder folder;
  std::string path = folder.file("pool");
  ASSERT_EQ(lend(path)->close(), status::ok);
  const auto reader = word_map::open(path, {.mode = open_mode::read_beside});
  ASSERT_TRUE(reader) << reader.failure().message;
  std::uint64_t value = 0;
  EXPECT_EQ(reader->get(1, value), status::not_found);
  auto device = std::make_unique<lockstep_device>();
  device->fails = true;
  auto pool = gpu::open_on(std::move(device), path, on_a_file(), {});
  ASSERT_TRUE(pool) << pool.failure().message;
  EXPECT_EQ(pool->commit(), status::io_error);
  EXPECT_EQ(pool->close(), status::io_error);
  EXPECT_EQ(owner_in(read_file(path)).process, static_cast<std::uint64_t>(::getpid()));
  EXPECT_EQ(reader->get(1, value), status::busy) << "the device may still write there";
  auto again = lend(path);
  ASSERT_TRUE(again) << again.failure().message;
  EXPECT_EQ(again->close(), status::ok);
  EXPECT_TRUE(names_nobody(path));
  EXPECT_EQ(reader->get(1, value), status::not_found);
}

TEST(Owner, OfAPoolOfTheProcessorIsNobody) {
  scratch_folder folder;
  auto pool = word_map::open(folder.file("pool"), on_a_file());
  ASSERT_TRUE(pool) << pool.failure().message;
  EXPECT_EQ(pool->put(1, 2), status::ok);
  EXPECT_TRUE(names_nobody(folder.file("pool")));
}

}  // namespace
}  // namespace durahash::test
