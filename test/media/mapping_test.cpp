// Where the bytes of a pool come from: memory and plain files, their growth, locks, names and ends.
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <thread>

#include "base/bits.hpp"
#include "media/addresses.hpp"
#include "media/file_lock.hpp"
#include "media/file_room.hpp"
#include "media/image_copy.hpp"
#include "media/mapping.hpp"
#include "test/store/scratch.hpp"

namespace durahash::test {
namespace {

constexpr std::uint64_t page = page_bytes, mib = 1 << 20;

std::unique_ptr<mapping> mapped(const mapping_request& request) {
  auto made = mapping::open(request);
  EXPECT_TRUE(made) << (made ? "" : made.failure().message);
  return made ? std::move(*made) : nullptr;
}
std::string refusal_of(const mapping_request& request) {
  auto made = mapping::open(request);
  return made ? "" : made.failure().message;
}
mapping_request in_memory() {
  return {.path = {}, .medium = medium_kind::memory, .address_space_bytes = 64 * mib};
}
mapping_request at_file(const std::string& path, bool create) {
  return {.path = path, .create = create, .address_space_bytes = 64 * mib};
}

/// Bytes of the range that this process has in memory.
std::uint64_t resident_bytes(const std::byte* at, std::uint64_t bytes) {
  int pages = ::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  std::uint64_t there = 0;
  for (std::uint64_t offset = 0; pages >= 0 && offset < bytes; offset += page) {
    std::uint64_t entry = 0;
    const auto number = (reinterpret_cast<std::uintptr_t>(at) + offset) / page;
    if (::pread(pages, &entry, 8, static_cast<off_t>(8 * number)) == 8 && (entry >> 63) != 0)
      there += page;
  }
  ::close(pages);
  return there;
}

TEST(Mapping, PagesThatNeedNotStayComeBackWithWhatWasStoredThere) {
  scratch_folder folder;
  for (mapping_request request : {mapping_request{.path = (folder.path() / "pool").string(),
                                 .medium = medium_kind::file,
                                 .create = true,
                                 .address_space_bytes = 64 * mib},
                                  in_memory()}) {
    auto map = mapped(request);
    ASSERT_NE(map, nullptr);
    ASSERT_EQ(map->grow(8 * page), status::ok);
    std::memset(map->base(), 7, 8 * page);
    map->let_pages_go(page + 1, 5 * page);  // four whole pages
    if (request.medium == medium_kind::file) {
      EXPECT_EQ(resident_bytes(map->base() + 2 * page, 4 * page), 0u);
    }
    for (std::uint64_t i = 0; i < 8 * page; ++i) ASSERT_EQ(map->base()[i], std::byte{7}) << i;
  }
}

TEST(Mapping, GrowsInPlaceAndKeepsWhatIsThere) {
  scratch_folder folder;
  for (const mapping_request& request : {in_memory(), at_file(folder.file("pool"), true)}) {
    auto m = mapped(request);
    ASSERT_NE(m, nullptr);
    std::byte* const base = m->base();
    ASSERT_EQ(m->grow(1), status::ok);
    EXPECT_EQ(m->backed_bytes(), page) << "whole pages";
    std::memset(base, 0x5a, page);
    ASSERT_EQ(m->grow(8 * mib), status::ok);
    EXPECT_EQ(m->base(), base) << "pointers into a pool stay valid";
    EXPECT_EQ(base[0], std::byte{0x5a});
    EXPECT_EQ(base[8 * mib - 1], std::byte{0}) << "new space is zeros";
    EXPECT_EQ(m->grow(4 * mib), status::ok) << "it is as long already";
    EXPECT_EQ(m->backed_bytes(), 8 * mib);
  }
}

TEST(Mapping, EndsWithItsAddressesAndItsLimit) {
  auto m = mapped(in_memory());
  EXPECT_EQ(m->grow(64 * mib + 1), status::no_space);
  EXPECT_EQ(m->backed_bytes(), 0u) << "a growth that failed changes nothing";
  mapping_request limited = in_memory();
  limited.max_bytes = 4 * mib;
  m = mapped(limited);
  EXPECT_EQ(m->grow(4 * mib), status::ok);
  EXPECT_EQ(m->grow(4 * mib + 1), status::no_space);
}

TEST(Mapping, SpaceThatIsGivenBackComesBackAsZeros) {
  scratch_folder folder;
  for (const mapping_request& request : {in_memory(), at_file(folder.file("pool"), true)}) {
    auto m = mapped(request);
    ASSERT_EQ(m->grow(2 * mib), status::ok);
    std::memset(m->base(), 1, 2 * mib);
    m->shrink(mib);
    EXPECT_EQ(m->backed_bytes(), mib);
    EXPECT_EQ(m->base()[mib], std::byte{0}) << "readable until it closes";
    ASSERT_EQ(m->grow(2 * mib), status::ok);
    EXPECT_EQ(m->base()[2 * mib - 1], std::byte{0});
    EXPECT_EQ(m->base()[mib - 1], std::byte{1});
  }
}

TEST(Mapping, ANewFileHasNoNameBeforeItAppears) {
  scratch_folder folder;
  const std::string path = folder.file("pool");
  struct stat facts {};
  {
    auto m = mapped(at_file(path, true));
    ASSERT_EQ(m->grow(page), status::ok);
    EXPECT_NE(::stat(path.c_str(), &facts), 0) << "a crash here would leave nothing behind";
  }
  EXPECT_NE(::stat(path.c_str(), &facts), 0);
  auto m = mapped(at_file(path, true));
  ASSERT_EQ(m->grow(page), status::ok);
  write_file(path, "somebody else's");
  EXPECT_EQ(m->appear(), status::exists) << "and never replaces what took the name meanwhile";
  EXPECT_EQ(read_file(path), "somebody else's");
  ::unlink(path.c_str());
  EXPECT_EQ(m->appear(), status::ok);
  ASSERT_EQ(::stat(path.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0600u);
  EXPECT_NE(refusal_of(at_file(path, true)), "") << "it exists";
}

TEST(Mapping, WhatWasStoredIsInTheFileAfterwards) {
  scratch_folder folder;
  const std::string path = folder.file("pool");
  {
    auto m = mapped(at_file(path, true));
    ASSERT_EQ(m->grow(2 * page), status::ok);
    std::memcpy(m->base() + page, "durahash", 8);
    ASSERT_EQ(m->appear(), status::ok);
    EXPECT_EQ(m->write_to_disk(page + 3, 1), status::ok) << "any range";
  }
  EXPECT_EQ(read_file(path).substr(page, 8), "durahash");
  auto m = mapped(at_file(path, false));
  EXPECT_EQ(m->file_bytes_at_open(), 2 * page);
  EXPECT_EQ(m->backed_bytes(), 2 * page);
  m->shrink(page);
  m.reset();
  EXPECT_EQ(read_file(path).size(), page) << "the file is cut when the mapping closes";
}

TEST(Mapping, AReaderMapsNoStores) {
  scratch_folder folder;
  const std::string path = folder.file("pool");
  write_file(path, std::string(page, 'x'));
  mapping_request request = at_file(path, false);
  request.read_only = true;
  auto m = mapped(request);
  EXPECT_EQ(m->grow(2 * page), status::read_only);
  m->shrink(0);
  EXPECT_EQ(m->backed_bytes(), page);
  EXPECT_EQ(m->base()[0], std::byte{'x'});
  // AddressSanitizer ends the process in its own way
  EXPECT_DEATH(*reinterpret_cast<volatile char*>(m->base()) = 'y', "");
}

TEST(FileLock, ASecondWriterIsRefusedAndReadersShare) {
  scratch_folder folder;
  const std::string path = folder.file("pool");
  write_file(path, std::string(page, 'x'));
  mapping_request write = at_file(path, false), read = write;
  read.read_only = true;
  {
    auto writer = mapped(write);
    EXPECT_NE(refusal_of(write), "");
    EXPECT_NE(refusal_of(read), "");
  }
  auto one = mapped(read), two = mapped(read);
  EXPECT_NE(refusal_of(write), "");
  one.reset(), two.reset();
  EXPECT_EQ(refusal_of(write), "") << "a lock goes with its mapping";
}

TEST(FileLock, AChildKeepsNeitherLockNorMemory) {
  scratch_folder folder;
  const std::string path = folder.file("pool");
  write_file(path, std::string(page, 'x'));
  int until_told[2];
  ASSERT_EQ(::pipe(until_told), 0);
  auto m = mapped(at_file(path, false));
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(until_told[1]);
    char told;
    ::_exit(::read(until_told[0], &told, 1) == 0 ? 0 : 1);
  }
  m.reset();
  EXPECT_EQ(refusal_of(at_file(path, false)), "") << "the child lives, and holds no lock";
  ::close(until_told[0]), ::close(until_told[1]);
  int how = 0;
  ASSERT_EQ(::waitpid(child, &how, 0), child);
}

TEST(FileLock, WhatIsNoFileIsRefusedInWords) {
  scratch_folder folder;
  EXPECT_NE(refusal_of(at_file(folder.path().string(), false)).find("director"), std::string::npos);
  EXPECT_NE(refusal_of(at_file(folder.file("none"), false)).find("No such file"),
            std::string::npos);
  ASSERT_EQ(::mkfifo(folder.file("pipe").c_str(), 0600), 0);
  EXPECT_NE(refusal_of(at_file(folder.file("pipe"), false)).find("pipe"), std::string::npos);
}

TEST(FileLock, ACopyHasAnotherMarkAndARenamedFileKeepsIts) {
  scratch_folder folder("/var/tmp");
  const std::string path = folder.file("pool"), copy = folder.file("copy");
  write_file(path, std::string(page, 'x'));
  auto mark_at = [](const std::string& at) { return mapped(at_file(at, false))->file_mark(); };
  const auto mark = mark_at(path);
  ASSERT_TRUE(mark && *mark != 0);
  // A file's time of birth is as fine as the kernel's tick.
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  write_file(copy, read_file(path));
  EXPECT_NE(mark_at(copy), mark);
  ASSERT_EQ(::rename(path.c_str(), folder.file("moved").c_str()), 0);
  EXPECT_EQ(mark_at(folder.file("moved")), mark);
}

/// The limit is the process's: in a child.
TEST(FileRoom, ALimitOnFilesIsAnAnswer) {
  scratch_folder folder;
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit limit{64 << 10, 64 << 10};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const int file = ::open(folder.file("pool").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    const bool fits = provide_blocks(file, 0, 64 << 10) == 0;
    const bool refused = provide_blocks(file, 64 << 10, 68 << 10) == EFBIG;
    struct stat facts {};
    ::fstat(file, &facts);
    ::_exit(fits && refused && facts.st_size == 64 << 10 ? 0 : 1);
  }
  int how = 0;
  ASSERT_EQ(::waitpid(child, &how, 0), child);
  EXPECT_TRUE(WIFEXITED(how) && WEXITSTATUS(how) == 0) << "no SIGXFSZ, and nothing changed";
  EXPECT_TRUE(is_lack_of_room(ENOSPC) && is_lack_of_room(EFBIG) && !is_lack_of_room(EIO));
}

TEST(Addresses, AreAlignedAndHalvedWhereThereAreNotSoMany) {
  std::uint64_t bytes = 16 * mib;
  std::byte* at = reserve_addresses(bytes, mib, 2 * mib);
  ASSERT_NE(at, nullptr);
  EXPECT_EQ(bytes, 16 * mib);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(at) % (2 * mib), 0u);
  ::munmap(at, bytes);
  bytes = std::uint64_t{1} << 60;  // no processor has so many
  at = reserve_addresses(bytes, mib, 2 * mib);
  ASSERT_NE(at, nullptr);
  EXPECT_LT(bytes, std::uint64_t{1} << 48);
  ::munmap(at, bytes);
}

TEST(ImageCopy, TakesWhatHasChangedPassByPass) {
  auto from = mapped(in_memory()), to = mapped(in_memory());
  ASSERT_EQ(from->grow(16 * page), status::ok);
  std::memset(from->base(), 1, 3 * page);
  image_copy copy(*from, *to);
  ASSERT_EQ(copy.catch_up([&] { return from->backed_bytes(); }), status::ok);
  EXPECT_EQ(to->backed_bytes(), 16 * page);
  EXPECT_EQ(std::memcmp(from->base(), to->base(), 16 * page), 0);
  from->base()[2 * page + 7] = std::byte{9};      // changed
  std::memset(from->base() + page, 0, page);      // zeros again
  std::memset(from->base() + 9 * page, 4, page);  // new
  ASSERT_EQ(copy.pass(12 * page), status::ok);    // and shorter
  EXPECT_EQ(to->backed_bytes(), 12 * page);
  EXPECT_EQ(std::memcmp(from->base(), to->base(), 12 * page), 0);
}

}  // namespace
}  // namespace durahash::test
