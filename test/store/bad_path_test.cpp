// Paths that no pool can be opened at: each is refused with a sentence, and nothing is made or
// changed there.
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "bad_input.hpp"
#include "child.hpp"
#include "patience.hpp"

namespace durahash::test {
namespace {

using BadPath = bad_input;

/// path: opens it for reading, in a process that does not live long enough to wait for a pipe's
/// other end.
const child_role role("open_for_reading", [](const child_arguments& arguments) {
  ::alarm(patience_seconds);
  options how;
  how.mode = open_mode::read_only;
  return table::open(arguments.at(0), how) ? 1 : 0;
});

TEST_F(BadPath, ADirectoryIsRefused) { expect_refused(folder_.path().string()); }

TEST_F(BadPath, AMissingParentIsRefused) {
  options how;
  for (open_mode mode : {open_mode::create_or_open, open_mode::create_new, open_mode::open_existing,
                         open_mode::read_only}) {
    how.mode = mode;
    auto opened = table::open(folder_.file("no/such/folder/pool"), how);
    ASSERT_FALSE(opened);
    EXPECT_NE(opened.failure().message.find("no/such/folder/pool"), std::string::npos)
        << opened.failure().message;
  }
  EXPECT_FALSE(std::filesystem::exists(folder_.file("no")));
}

TEST_F(BadPath, AParentThatIsAFileIsRefused) {
  write_file(folder_.file("file"), "text");
  expect_refused(folder_.file("file/pool"));
}

TEST_F(BadPath, WhatTheSystemSaysOfAPathIsInTheMessage) {
  write_file(folder_.file("file"), "text");
  std::filesystem::create_symlink(folder_.file("loop"), folder_.file("loop"));
  expect_refused(folder_.file(std::string(300, 'n')), "File name too long");
  expect_refused(folder_.file("loop"), "Too many levels of symbolic links");
  expect_refused(folder_.file("file/pool"), "Not a directory");
  expect_refused("/dev/null", "character device");
}

/// path: opens it while standard output and error are closed, and prints.
const child_role printer(
    "print_while_standard_output_is_closed", [](const child_arguments& arguments) {
      ::close(STDOUT_FILENO);
      ::close(STDERR_FILENO);
      auto opened = table::open(arguments.at(0));
      if (!opened) return 1;
      for (int standard : {STDOUT_FILENO, STDERR_FILENO})
        if (::write(standard, "a message", 9) >= 0) return 2;  // the pool is there
      return opened->put("key", "value") == status::ok && opened->close() == status::ok ? 0 : 3;
    });

TEST_F(BadPath, APoolNeverTakesTheNumberOfAStandardDescriptor) {
  std::string path = folder_.file("file");
  write_file(path, pool_image(plain_bytes(), records));
  for (std::string place : {path, folder_.file("new")}) {
    child_end end = child_process("print_while_standard_output_is_closed", {place}).wait();
    EXPECT_EQ(end.exit_code, 0) << place;
    auto opened = table::open(place);
    ASSERT_TRUE(opened) << opened.failure().message;
    EXPECT_TRUE(opened->check().ok);
  }
}

TEST_F(BadPath, PathsThatNoFileCanHaveAreRefused) {
  auto empty = table::open("");
  ASSERT_FALSE(empty);
  EXPECT_FALSE(empty.failure().message.empty());
  EXPECT_FALSE(table::open(folder_.file(std::string(300, 'n'))));
  EXPECT_FALSE(table::open("/" + std::string(10'000, 'n')));
  std::string with_nul = folder_.file("pool");
  with_nul += std::string("\0behind", 7);
  EXPECT_FALSE(table::open(with_nul)) << "a path with a NUL was cut off and used";
  EXPECT_FALSE(std::filesystem::exists(folder_.file("pool")));
}

TEST_F(BadPath, DevicesPipesAndSocketsAreRefused) {
  for (std::string device : {"/dev/null", "/dev/zero", "/dev/full"}) {
    options how;
    for (open_mode mode : {open_mode::create_or_open, open_mode::read_only}) {
      how.mode = mode;
      auto opened = table::open(device, how);
      ASSERT_FALSE(opened) << device;
      EXPECT_NE(opened.failure().message.find(device), std::string::npos)
          << opened.failure().message;
    }
  }
  ASSERT_EQ(mkfifo(folder_.file("pipe").c_str(), 0600), 0);
  child_end end = child_process("open_for_reading", {folder_.file("pipe")}).wait();
  ASSERT_NE(end.signal, SIGALRM) << "open waits for the other end of a pipe";
  EXPECT_EQ(end.exit_code, 0);
  expect_refused(folder_.file("pipe"));
  int listener = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  folder_.file("socket").copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  expect_refused(folder_.file("socket"));
  ::close(listener);
}

TEST_F(BadPath, ASymbolicLinkToAPoolIsThePool) {
  write_file(folder_.file("file"), pool_image(plain_bytes(), records));
  std::filesystem::create_symlink(folder_.file("file"), folder_.file("link"));
  {
    auto opened = table::open(folder_.file("link"));
    ASSERT_TRUE(opened) << opened.failure().message;
    EXPECT_EQ(opened->size(), records);
    EXPECT_FALSE(table::open(folder_.file("file")))
        << "the lock does not hold across names of one file";
  }
  EXPECT_TRUE(std::filesystem::is_symlink(folder_.file("link")));
}

TEST_F(BadPath, SymbolicLinksThatLeadNowhereAreRefusedAndLeftAlone) {
  std::filesystem::create_symlink(folder_.file("nothing"), folder_.file("dangling"));
  std::filesystem::create_symlink(folder_.file("loop"), folder_.file("loop"));
  options how;
  for (open_mode mode : {open_mode::open_existing, open_mode::read_only, open_mode::create_new}) {
    how.mode = mode;
    for (const char* name : {"dangling", "loop"}) {
      auto opened = table::open(folder_.file(name), how);
      ASSERT_FALSE(opened) << name;
      EXPECT_NE(opened.failure().message.find(folder_.file(name)), std::string::npos)
          << opened.failure().message;
    }
  }
  EXPECT_TRUE(std::filesystem::is_symlink(folder_.file("dangling")));
  EXPECT_FALSE(std::filesystem::exists(folder_.file("nothing")));
}

TEST_F(BadPath, HardLinksAreOneLockedPool) {
  write_file(folder_.file("file"), pool_image(plain_bytes(), records));
  std::filesystem::create_hard_link(folder_.file("file"), folder_.file("other"));
  auto opened = table::open(folder_.file("file"));
  ASSERT_TRUE(opened) << opened.failure().message;
  EXPECT_FALSE(table::open(folder_.file("other")));
}

// -------------------------------------------------------------------------------------- permission

/// For its life this process has the rights of nobody, where it may give its own up.
class as_nobody {
 public:
  as_nobody() : was_root_(geteuid() == 0) {
    if (was_root_) worked_ = seteuid(65534) == 0;
  }
  ~as_nobody() {
    if (was_root_ && seteuid(0) != 0) std::abort();
  }
  bool worked() const { return worked_; }

 private:
  bool was_root_, worked_ = true;
};

TEST_F(BadPath, AReadOnlyFileIsRefusedForWritingAndOpensForReading) {
  std::string path = folder_.file("file"), image = pool_image(plain_bytes(), records);
  write_file(path, image);
  ASSERT_EQ(chmod(path.c_str(), 0444), 0);
  ASSERT_EQ(chmod(folder_.path().c_str(), 0755), 0);
  as_nobody weak;
  if (!weak.worked())
    GTEST_SKIP() << "this process cannot become nobody, and root may write everything";
  auto writing = table::open(path);
  ASSERT_FALSE(writing);
  EXPECT_NE(writing.failure().message.find(path), std::string::npos) << writing.failure().message;
  options how;
  how.mode = open_mode::read_only;
  auto reading = table::open(path, how);
  ASSERT_TRUE(reading) << reading.failure().message;
  EXPECT_EQ(reading->size(), records);
  EXPECT_EQ(reading->put("key", "value"), status::read_only);
  EXPECT_TRUE(read_file(path) == image);
}

TEST_F(BadPath, AFileWithoutPermissionIsRefused) {
  std::string path = folder_.file("file");
  write_file(path, pool_image(plain_bytes(), records));
  ASSERT_EQ(chmod(path.c_str(), 0000), 0);
  ASSERT_EQ(chmod(folder_.path().c_str(), 0755), 0);
  as_nobody weak;
  if (!weak.worked())
    GTEST_SKIP() << "this process cannot become nobody, and root may read everything";
  expect_refused(path, "ermission");
}

TEST_F(BadPath, AFolderWithoutPermissionIsRefused) {
  ASSERT_EQ(chmod(folder_.path().c_str(), 0555), 0);
  as_nobody weak;
  if (!weak.worked())
    GTEST_SKIP() << "this process cannot become nobody, and root may write everywhere";
  auto opened = table::open(folder_.file("pool"));
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.failure().message.find(folder_.file("pool")), std::string::npos)
      << opened.failure().message;
}

}  // namespace
}  // namespace durahash::test
