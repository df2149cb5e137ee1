// What gpu::map::open does where something stands in the way; and a kernel of one's own, where
// there is a GPU.
#include <sys/mman.h>
#include <unistd.h>

#include <numeric>

#include "durahash/table.hpp"
#include "test/gpu/map_rig.hpp"
#include "test/gpu/ref_kernel.hpp"

namespace durahash::test {
namespace {

#ifdef DURAHASH_HAS_CUDA
/// A kernel of one's own reads and writes the pool; in a mirror it reads, and is told that it
/// cannot write.
TEST(GpuRef, InAKernelOfOnesOwn) {
  auto found = gpu::cuda_device(0);
  if (!found && must_have_a_gpu()) FAIL() << found.failure().message;
  if (!found) GTEST_SKIP() << "no GPU: " << found.failure().message;
  scratch_folder folder;
  gpu::device& d = **found;
  constexpr std::size_t n = 2000;
  auto made = gpu::open_on(std::move(*found), folder.file("a"), {.capacity = 2 * n},
                           {.place = gpu::table_place::pool});
  ASSERT_TRUE(made) << made.failure().message;
  device_words keys(d, n), there(d, std::vector<std::uint64_t>{0});  // {0} alone would be a count
  shared_answers answers(d, n);
  for (std::size_t i = 0; i < n; ++i) keys[i] = i * i;
  for (std::uint64_t round = 0; round < 3; ++round) {
    run_count_up(*made, n, keys.data(), answers.data(), there.data());
    ASSERT_EQ(made->commit(), status::ok);
    for (status answer : answers) ASSERT_EQ(answer, status::ok);
    EXPECT_EQ(there[0], round * n);
  }
  EXPECT_EQ(made->size(), n);
  ASSERT_EQ(made->close(), status::ok);
  auto pool = map<std::uint64_t, std::uint64_t>::open(folder.file("a"));
  ASSERT_TRUE(pool) << pool.failure().message;
  for (std::uint64_t key : keys) ASSERT_EQ(pool->get(key), 3u);
}
#endif

#ifdef DURAHASH_HAS_CUDA
/// Each addition of a key counts, whichever warps do them; a new key is inserted once.
TEST(GpuRef, AddsAndFindsOrInserts) {
  auto found = gpu::cuda_device(0);
  if (!found && must_have_a_gpu()) FAIL() << found.failure().message;
  if (!found) GTEST_SKIP() << "no GPU: " << found.failure().message;
  scratch_folder folder;
  gpu::device& d = **found;
  constexpr std::size_t n = 400, distinct = 30;
  auto made = gpu::open_on(std::move(*found), folder.file("a"), {.capacity = 2 * n},
                           {.place = gpu::table_place::pool});
  ASSERT_TRUE(made) << made.failure().message;
  device_words keys(d, n), values(d, n);
  shared_answers added(d, n), answers(d, n);
  model wanted;
  for (std::size_t i = 0; i < n; ++i) wanted[keys[i] = i % distinct] += i;
  run_add(*made, n, keys.data(), values.data(), added.data(), answers.data());
  ASSERT_EQ(made->commit(), status::ok);
  for (std::size_t i = 0; i < n; ++i) {
    ASSERT_EQ(added[i], status::ok);
    ASSERT_EQ(answers[i], status::exists) << "behind an addition";
    ASSERT_LE(values[i], wanted[keys[i]]);
    ASSERT_GE(values[i], i) << "without its own addition";
  }
  EXPECT_EQ(made->size(), distinct);
  ASSERT_EQ(made->close(), status::ok);
  auto pool = map<std::uint64_t, std::uint64_t>::open(folder.file("a"));
  ASSERT_TRUE(pool) << pool.failure().message;
  for (auto [key, value] : wanted) EXPECT_EQ(pool->get(key), value);
}
#endif

/// A device writes no log: what it stored would not be on the disk when it is told so.
TEST(GpuMapOpen, APoolOnADiskWithALogIsRefused) {
  scratch_folder folder("/var/tmp");
  std::string path = folder.file("a");
  options how{.engine = engine_kind::gphash, .key = data_kind::u64, .value = data_kind::u64};
  how.durability = durability_level::power, how.medium = medium_kind::disk;
  how.log_bytes = 1 << 20;
  {
    auto made = map<std::uint64_t, std::uint64_t>::open(path, how);
    ASSERT_TRUE(made) << made.failure().message;
    ASSERT_EQ(made->put(1, 2), status::ok);
  }
  for (auto place : {gpu::table_place::automatic, gpu::table_place::pool,
                     gpu::table_place::host_mirror, gpu::table_place::device_mirror}) {
    auto lent = gpu::open_on(std::make_unique<lockstep_device>(), path, {}, {.place = place});
    ASSERT_FALSE(lent);
    EXPECT_EQ(lent.failure().message, "a device cannot use " + path + ": its medium is disk");
  }
  auto pool = map<std::uint64_t, std::uint64_t>::open(path);
  ASSERT_TRUE(pool) << pool.failure().message;
  EXPECT_EQ(pool->get(1), 2u);
  EXPECT_TRUE(pool->info().clean);
}

/// A pool in a memfd: memory without a file system, which the kernel lets be pinned. The first half
/// of its life it is a file.
TEST(GpuMapOpen, APoolInAMemfd) {
  scratch_folder folder;
  constexpr std::uint64_t n = 3000;
  {
    auto made =
        map<std::uint64_t, std::uint64_t>::open(folder.file("a"), {.engine = engine_kind::gphash});
    ASSERT_TRUE(made) << made.failure().message;
    for (std::uint64_t key = 0; key < n; ++key) ASSERT_EQ(made->put(key, key * key), status::ok);
    ASSERT_EQ(made->close(), status::ok);
  }
  std::string content = read_file(folder.file("a"));
  int fd = memfd_create("durahash-test", MFD_CLOEXEC);
  ASSERT_GE(fd, 0);
  std::string path = "/proc/self/fd/" + std::to_string(fd);
  write_file(path, content);
  {
    auto made = gpu::open_on(std::make_unique<lockstep_device>(), path, {},
                             {.place = gpu::table_place::pool});
    ASSERT_TRUE(made) << made.failure().message;
    std::vector<std::uint64_t> keys(4 * n), values(4 * n);
    std::vector<status> answers(keys.size());
    std::iota(keys.begin(), keys.end(), 0u);
    // of which it has some; and it grows
    ASSERT_EQ(made->insert(keys.size(), keys.data(), keys.data(), answers.data()), status::ok);
    ASSERT_EQ(made->find_async(keys.size(), keys.data(), values.data(), answers.data()),
              status::ok);
    ASSERT_EQ(made->commit(), status::ok);
    for (std::uint64_t key : keys) ASSERT_EQ(values[key], key < n ? key * key : key);
    ASSERT_EQ(made->close(), status::ok);
  }
  auto pool = map<std::uint64_t, std::uint64_t>::open(path);
  ASSERT_TRUE(pool) << pool.failure().message;
  EXPECT_EQ(pool->size(), 4 * n);
  EXPECT_TRUE(pool->check().ok);
  ASSERT_EQ(pool->close(), status::ok);
  ::close(fd);
}

/// A pool that cannot be pinned has a mirror, if the caller leaves the choice; and without memory
/// for one there is a clear answer.
TEST(GpuMapOpen, AMirrorWhereThePoolCannotBePinned) {
  scratch_folder folder;
  auto stubborn = [] {
    auto d = std::make_unique<lockstep_device>();
    d->refuses_pins = true;
    return d;
  };
  auto refused = gpu::open_on(stubborn(), folder.file("a"), {}, {.place = gpu::table_place::pool});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.failure().message, "this memory cannot be pinned");
  auto made = gpu::open_on(stubborn(), folder.file("a"), {}, {});
  ASSERT_TRUE(made) << made.failure().message;
  EXPECT_EQ(made->place(), gpu::table_place::host_mirror);
  std::vector<std::uint64_t> keys(3000), values(3000);
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = i * i;
  std::vector<status> answers(keys.size());
  ASSERT_EQ(made->insert(keys.size(), keys.data(), keys.data(), answers.data()), status::ok);
  EXPECT_EQ(made->size(), keys.size());
  ASSERT_EQ(made->close(), status::ok);
  auto pool = map<std::uint64_t, std::uint64_t>::open(folder.file("a"));
  ASSERT_TRUE(pool) << pool.failure().message;
  for (std::uint64_t key : keys) ASSERT_EQ(pool->get(key), key);
  EXPECT_TRUE(pool->check().ok);
}

TEST(GpuMapOpen, ADeviceWithoutMemoryForTheTable) {
  scratch_folder folder;
  auto small = [](std::size_t most) {
    auto d = std::make_unique<lockstep_device>();
    d->max_own_bytes = most;
    return d;
  };
  auto refused =
      gpu::open_on(small(100), folder.file("a"), {}, {.place = gpu::table_place::device_mirror});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.failure().code, status::no_space);
  EXPECT_NE(refused.failure().message.find("on the device"), std::string::npos)
      << refused.failure().message;
  {
    auto pool =
        map<std::uint64_t, std::uint64_t>::open(folder.file("a"), {.mode = open_mode::read_only});
    ASSERT_TRUE(pool) << pool.failure().message;
    EXPECT_TRUE(pool->info().clean) << "a device that was refused left the pool as a crash does";
  }

  auto made = gpu::open_on(small(20'000), folder.file("a"), {},
                           {.place = gpu::table_place::device_mirror, .max_staged = 64});
  ASSERT_TRUE(made) << made.failure().message;
  std::vector<std::uint64_t> keys(3000);
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = i * i;
  std::vector<status> answers(keys.size());
  EXPECT_EQ(made->insert(keys.size(), keys.data(), keys.data(), answers.data()), status::no_space)
      << "a table of 3,000 records in 20,000 bytes?";
  auto done = static_cast<std::uint64_t>(std::count(answers.begin(), answers.end(), status::ok));
  EXPECT_GT(done, 0u);
  EXPECT_EQ(made->size(), done) << "what found room is not all there";
  EXPECT_TRUE(made->check().ok) << "the level that was not used is lost";
  ASSERT_EQ(made->close(), status::ok);
  auto pool = map<std::uint64_t, std::uint64_t>::open(folder.file("a"));
  ASSERT_TRUE(pool) << pool.failure().message;
  for (std::size_t i = 0; i < keys.size(); ++i)
    ASSERT_EQ(pool->get(keys[i]).has_value(), answers[i] == status::ok);
}

TEST(GpuMapOpen, RefusesWhatADeviceCannotUse) {
  scratch_folder folder;
  auto refusal = [&](const char* file, options how, gpu::device_options on = {}) {
    auto made = gpu::open_on(std::make_unique<lockstep_device>(), folder.file(file), how, on);
    return made ? std::string("it opened") : made.failure().message;
  };
  options how;
  how.engine = engine_kind::turbo;
  EXPECT_NE(refusal("a", how).find("gphash"), std::string::npos);
  how.engine = engine_kind::gphash;
  how.key = data_kind::bytes;
  EXPECT_NE(refusal("a", how).find("u64"), std::string::npos);
  how.key = data_kind::u64;
  how.mode = open_mode::read_only;
  EXPECT_NE(refusal("a", how).find("read_only"), std::string::npos);
  how.mode = open_mode::read_beside;
  EXPECT_NE(refusal("a", how).find("read_beside"), std::string::npos);
  how.mode = open_mode::create_or_open;
  EXPECT_NE(refusal("a", how, {.max_staged = 0}).find("max_staged"), std::string::npos);
  EXPECT_NE(refusal("a", how, {.cache_percent = 91}).find("cache_percent"), std::string::npos);
  EXPECT_NE(refusal("a", how, {.place = gpu::table_place::device_mirror, .cache_percent = 10})
                .find("needs no copies"),
            std::string::npos);
  how.medium = medium_kind::emulated;
  EXPECT_NE(refusal("a", how).find("emulated"), std::string::npos);
  how.medium = medium_kind::automatic;
  {
    auto other = durahash::table::open(folder.file("b"));
    ASSERT_TRUE(other);
  }
  EXPECT_NE(refusal("b", {}).find("engine"), std::string::npos);
}

}  // namespace
}  // namespace durahash::test
