// gpu::table::open where something stands in the way, arguments and devices that fail, large
// writes, and pools that are damaged.
#include <gtest/gtest.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "durahash/map.hpp"
#include "durahash/table.hpp"
#include "engine/gphash/format.hpp"
#include "persist/format.hpp"
#include "test/engine/held_thread.hpp"
#include "test/gpu/rows_rig.hpp"
#include "test/store/child.hpp"

namespace durahash::test {
namespace {

/// Of a pool that grows in several pieces of one write, all that a device may read is pinned, and
/// nothing once it is closed. A mirror gets more blocks than it is brought at once.
TEST(GpuRowsOpen, LargeWrites) {
  constexpr std::size_t n = 6000, bytes = 4096;  // 23 MiB
  for (gpu::table_place place : {gpu::table_place::pool, gpu::table_place::device_mirror}) {
    scratch_folder folder;
    auto device = std::make_unique<lockstep_device>();
    lockstep_device& d = *device;
    auto t = gpu::open_rows_on(std::move(device), folder.file("a"), {}, {.place = place});
    ASSERT_TRUE(t) << t.failure().message;
    ASSERT_EQ(t->reserve(2 * n), status::ok);
    std::vector<std::uint64_t> keys(n);
    std::vector<char> values(n * bytes), found(n * bytes);
    std::vector<status> answers(n);
    for (int version = 0; version < 3; ++version) {
      for (std::size_t i = 0; i < n; ++i)
        keys[i] = i,
        std::memset(&values[i * bytes], static_cast<int>(i + 7 * static_cast<std::size_t>(version)),
                    bytes);
      ASSERT_EQ(t->put(n, keys.data(), values.data(), bytes, answers.data()), status::ok);
      for (status answer : answers) ASSERT_EQ(answer, status::ok);
      std::fill(found.begin(), found.end(), '-');
      std::fill(answers.begin(), answers.end(), status::damaged);
      ASSERT_EQ(t->find_async(n, keys.data(), found.data(), bytes, answers.data()), status::ok);
      ASSERT_EQ(t->wait(), status::ok);
      for (status answer : answers) ASSERT_EQ(answer, status::ok);
      ASSERT_TRUE(found == values) << "version " << version;
      std::size_t pinned = d.pinned_bytes();
      EXPECT_TRUE(place == gpu::table_place::pool ? pinned >= t->info().live_bytes : pinned == 0)
          << pinned;
    }
    ASSERT_EQ(t->compact(), status::ok);
    EXPECT_EQ(d.pinned_bytes(), place == gpu::table_place::pool ? t->info().file_bytes : 0);
    ASSERT_EQ(t->close(), status::ok);
    EXPECT_EQ(d.pinned_bytes(), 0u);
  }
}

TEST(GpuRowsOpen, AMirrorWhereThePoolCannotBePinned) {
  scratch_folder folder;
  auto stubborn = [] {
    auto d = std::make_unique<lockstep_device>();
    d->refuses_pins = true;
    return d;
  };
  auto refused =
      gpu::open_rows_on(stubborn(), folder.file("a"), {}, {.place = gpu::table_place::pool});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.failure().message, "this memory cannot be pinned");
  auto t = gpu::open_rows_on(stubborn(), folder.file("a"), {}, {});
  ASSERT_TRUE(t) << t.failure().message;
  EXPECT_EQ(t->place(), gpu::table_place::host_mirror);
}

TEST(GpuRowsOpen, RefusesWhatADeviceCannotRead) {
  scratch_folder folder;
  auto refusal = [&](const char* file, options how, gpu::device_options on = {}) {
    auto made = gpu::open_rows_on(std::make_unique<lockstep_device>(), folder.file(file), how, on);
    return made ? std::string("it opened") : made.failure().message;
  };
  EXPECT_NE(refusal("a", {.engine = engine_kind::level}).find("gphash"), std::string::npos);
  EXPECT_NE(refusal("a", {.key = data_kind::bytes}).find("key_bytes"), std::string::npos);
  EXPECT_NE(refusal("a", {.key = data_kind::u64, .value = data_kind::u64}).find("gpu::map"),
            std::string::npos);
  EXPECT_NE(refusal("a", {}, {.cache_percent = 91}).find("cache_percent"), std::string::npos);
  EXPECT_NE(refusal("a", {}, {.place = gpu::table_place::host_mirror, .cache_percent = 10})
                .find("cache_percent"),
            std::string::npos);
  EXPECT_NE(refusal("a", {.medium = medium_kind::emulated}).find("emulated"), std::string::npos);
  EXPECT_NE(refusal("a", {.mode = open_mode::read_only}).find("no such file"), std::string::npos);
  EXPECT_NE(refusal("a", {.mode = open_mode::read_beside}).find("read_beside"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder.file("a"))) << "what was refused left a file";
  EXPECT_NE(refusal((std::string(5000, 'n')).c_str(), {}).find("nnn"), std::string::npos)
      << "a name that no file has";
  ASSERT_TRUE(table::open(folder.file("bytes"), {.engine = engine_kind::gphash}));
  EXPECT_NE(refusal("bytes", {}).find("key_bytes"), std::string::npos);
  ASSERT_TRUE(
      table::open(folder.file("turbo"), {.engine = engine_kind::turbo, .key = data_kind::u64}));
  EXPECT_NE(refusal("turbo", {}).find("gphash"), std::string::npos);
  ASSERT_TRUE((map<std::uint64_t, std::uint64_t>::open(folder.file("words"),
                                                       {.engine = engine_kind::gphash})));
  EXPECT_NE(refusal("words", {}).find("gpu::map"), std::string::npos);
}

/// Read-only, from a mirror: the pool's file does not change.
TEST(GpuRowsOpen, ToReadOnly) {
  scratch_folder folder;
  {
    auto pool =
        table::open(folder.file("a"), {.engine = engine_kind::gphash, .key = data_kind::u64});
    ASSERT_TRUE(pool) << pool.failure().message;
    std::uint64_t key = 7;
    ASSERT_EQ(pool->put({reinterpret_cast<const char*>(&key), 8}, "a row"), status::ok);
  }
  std::string before = read_file(folder.file("a"));
  auto made =
      gpu::open_rows_on(std::make_unique<lockstep_device>(), folder.file("a"),
                        {.mode = open_mode::read_only}, {.place = gpu::table_place::device_mirror});
  ASSERT_TRUE(made) << made.failure().message;
  std::vector<std::uint64_t> keys{7, 8};
  std::string values(16, '-');
  std::vector<status> answers(2);
  std::vector<std::uint32_t> lengths(2);
  ASSERT_EQ(
      made->find_async(2, keys.data(), values.data(), 8, answers.data(), nullptr, lengths.data()),
      status::ok);
  ASSERT_EQ(made->wait(), status::ok);
  EXPECT_EQ(values.substr(0, lengths[0]), "a row");
  EXPECT_EQ(answers[1], status::not_found);
  ASSERT_EQ(made->put(1, keys.data(), values.data(), 8, answers.data()), status::ok);
  EXPECT_EQ(answers[0], status::read_only);
  EXPECT_EQ(made->compact(), status::read_only);
  ASSERT_EQ(made->close(), status::ok);
  EXPECT_EQ(read_file(folder.file("a")), before);
  EXPECT_EQ(made->find_async(2, keys.data(), values.data(), 8, answers.data()), status::closed);
  EXPECT_EQ(made->size(), 0u);
  EXPECT_EQ(made->close(), status::closed);
}

/// A copy that does not fit any more: the pool has all that was written, in pieces, and finds say
/// that they cannot go on.
TEST(GpuRowsOpen, ADeviceWithoutMemoryForTheCopy) {
  scratch_folder folder;
  EXPECT_THROW(open_rows_in_lockstep(folder.file("a"), gpu::table_place::device_mirror, false, 100),
               std::runtime_error);
  gpu::table t =
      open_rows_in_lockstep(folder.file("a"), gpu::table_place::device_mirror, false, 600'000);
  constexpr std::size_t n = 9000, bytes = 4096;  // three pieces
  std::vector<std::uint64_t> keys(n);
  for (std::size_t i = 0; i < n; ++i) keys[i] = i;
  std::vector<char> values(n * bytes, 'v');
  std::vector<status> answers(n, status::damaged);
  EXPECT_EQ(t.put(n, keys.data(), values.data(), bytes, answers.data()), status::no_space);
  for (status answer : answers) ASSERT_EQ(answer, status::ok);
  EXPECT_EQ(t.find_async(1, keys.data(), values.data(), bytes, answers.data()), status::io_error);
  std::string why;
  EXPECT_EQ(t.wait(nullptr, &why), status::io_error);
  EXPECT_NE(why.find("no memory on the device"), std::string::npos) << why;
  EXPECT_EQ(t.size(), n);
  EXPECT_TRUE(t.check().ok);
  EXPECT_EQ(t.erase(n - 1, keys.data(), answers.data()), status::ok) << "the pool goes on";
  EXPECT_EQ(t.size(), 1u);
  ASSERT_EQ(t.close(), status::ok);
}

TEST(GpuRowsOpen, ACopyThatCannotFollowAReserve) {
  scratch_folder folder;
  gpu::table t =
      open_rows_in_lockstep(folder.file("a"), gpu::table_place::device_mirror, false, 600'000);
  EXPECT_EQ(t.reserve(100'000), status::no_space);
  std::string why;
  EXPECT_EQ(t.wait(nullptr, &why), status::io_error);
  EXPECT_NE(why.find("no memory on the device"), std::string::npos) << why;
  EXPECT_GE(t.info().slots, 100'000u);
}

TEST(GpuRowsOpen, ArgumentsThatAreNone) {
  scratch_folder folder;
  gpu::table t = open_rows_in_lockstep(folder.file("a"), gpu::table_place::pool);
  std::uint64_t key = 1;
  status answer{};
  EXPECT_EQ(t.put(1, nullptr, &key, 8, &answer), status::invalid_argument);
  EXPECT_EQ(t.put(1, &key, nullptr, 8, &answer), status::invalid_argument);
  EXPECT_EQ(t.put(1, &key, &key, 8, nullptr), status::invalid_argument);
  EXPECT_EQ(t.put(1, &key, &key, ~std::size_t{7}, &answer), status::invalid_argument);
  EXPECT_EQ(t.erase(1, nullptr, &answer), status::invalid_argument);
  EXPECT_EQ(t.erase(0, nullptr, nullptr), status::ok);
  EXPECT_EQ(t.put(1, &key, nullptr, 0, &answer), status::ok) << "an empty row";
  EXPECT_EQ(answer, status::ok);
  EXPECT_EQ(t.wait(), status::ok);
  EXPECT_EQ(t.size(), 1u);
}

TEST(GpuRowsOpen, ADeviceThatFails) {
  scratch_folder folder;
  auto device = std::make_unique<lockstep_device>();
  lockstep_device& d = *device;
  auto t = gpu::open_rows_on(std::move(device), folder.file("a"), {}, {});
  ASSERT_TRUE(t) << t.failure().message;
  std::vector<std::uint64_t> keys{1, 2}, values{3, 4};
  std::vector<status> answers(2);
  ASSERT_EQ(t->put(2, keys.data(), values.data(), 8, answers.data()), status::ok);
  d.refuses_launches = true;
  EXPECT_EQ(t->find_async(2, keys.data(), values.data(), 8, answers.data()), status::io_error);
  d.refuses_launches = false;
  ASSERT_EQ(t->find_async(2, keys.data(), values.data(), 8, answers.data()), status::ok);
  d.fails = true;
  ASSERT_EQ(t->put(2, keys.data(), values.data(), 8, answers.data()), status::ok)
      << "the processor's";
  for (int again = 0; again < 2; ++again) {
    std::string why;
    EXPECT_EQ(t->wait(nullptr, &why), status::io_error);
    EXPECT_EQ(why, "the device failed");
  }
  EXPECT_EQ(t->find_async(2, keys.data(), values.data(), 8, answers.data()), status::io_error);
  EXPECT_EQ(t->size(), 2u);
  ASSERT_EQ(t->close(), status::ok);
  auto pool = table::open(folder.file("a"), {.mode = open_mode::read_only});
  ASSERT_TRUE(pool) << pool.failure().message;
  EXPECT_TRUE(pool->info().clean) << "the device cannot have harmed the pool";
}

/// The rows of a pool in memory of one's own, to be spoiled; and a look at them.
class spoiled_rows {
 public:
  explicit spoiled_rows(gpu::table& t) : rows(home_of(t)), bytes(rows.end / 8) {
    std::memcpy(bytes.data(), rows.base, rows.end);
    rows = rows.copied_to(reinterpret_cast<std::byte*>(bytes.data()));
  }
  status find(const std::uint64_t* key) {
    std::byte value[16];
    std::uint32_t length = 0;
    return gpu::row_search(side_, rows).find(key, value, sizeof value, length);
  }
  status gather(const std::uint64_t* key, std::size_t width, float* row) {
    status answer = status::io_error;
    gpu::row_gather(side_, rows)
        .gather_all({1, key, {.width = width}, reinterpret_cast<std::byte*>(row), &answer, {}},
                    total_, 0, 1);
    return answer;
  }
  /// The lane in which a key with this hash is.
  unsigned lane_of(std::uint64_t hash) const {
    for (unsigned lane = 0; lane < rows.table.lanes(); ++lane)
      if (*rows.state_of(hash, lane).raw() == hash) return lane;
    throw std::runtime_error("no key has this hash");
  }
  gpu::leased_rows rows;
  std::vector<std::uint64_t> bytes;

 private:
  static gpu::leased_rows home_of(gpu::table& t) {
    gpu::leased_rows home = gpu::leased_rows::none();
    t.view(home);
    return home;
  }
  process_medium medium_;
  gpu::lockstep_turns turns_;
  gpu::lockstep_side<process_medium> side_{medium_, turns_};
  gpu::tallies total_;
};

/// No byte of a pool leads a device outside of it.
TEST(GpuRowsOpen, RecordsThatAreNone) {
  scratch_folder folder;
  gpu::table t = open_rows_in_lockstep(folder.file("a"), gpu::table_place::pool);
  std::uint64_t key = 7;
  status answer = status::damaged;
  ASSERT_EQ(t.put(1, &key, "0123456789abcdef", 16, &answer), status::ok);
  spoiled_rows copy(t);
  ASSERT_EQ(copy.find(&key), status::ok);
  const gpu::leased_rows& rows = copy.rows;
  std::uint64_t hash = rows.hash_of(&key);
  std::uint64_t& offset = *rows.value_of(hash, copy.lane_of(hash)).raw();
  std::uint64_t right = offset;
  // a header that ends where the pool does
  copy.bytes[rows.end / 8 - 2] = 8 | std::uint64_t{16} << 32;
  for (std::uint64_t wrong : {std::uint64_t{0}, rows.heap_offset - 16, right + 8, rows.end - 16,
                              rows.end - 8, rows.end, ~std::uint64_t{15}}) {
    offset = wrong;
    EXPECT_EQ(copy.find(&key), status::damaged) << wrong;
  }
  offset = right;
  std::uint64_t& header = copy.bytes[right / 8];
  const std::uint64_t written = header;
  const auto short_header = [](std::uint64_t key_bytes, std::uint64_t value_bytes) {
    return std::uint64_t{1} << 31 | key_bytes << 24 | value_bytes;
  };
  const auto long_header = [](std::uint64_t key_bytes, std::uint64_t value_bytes) {
    return key_bytes | value_bytes << 32;
  };
  ASSERT_EQ(written & 0xffffffff, short_header(8, 16));
  for (std::uint64_t wrong : {~std::uint64_t{0}, short_header(8, 0xffffff),
                              long_header(8, 0xffffffff), long_header(0x7fffffff, 16)}) {
    header = wrong;
    EXPECT_EQ(copy.find(&key), status::damaged) << wrong;
  }
  header = short_header(9, 15);  // another key's
  EXPECT_EQ(copy.find(&key), status::not_found);
  header = long_header(8, 16);  // its key would lie where the value does
  EXPECT_EQ(copy.find(&key), status::not_found);
  copy.bytes[right / 8 + 2] = key;  // as records of older pools lie
  EXPECT_EQ(copy.find(&key), status::ok);
  header = written;
  ASSERT_EQ(copy.find(&key), status::ok);
  copy.bytes[right / 8 + 1] ^= 1;  // likewise
  EXPECT_EQ(copy.find(&key), status::not_found);
}

/// Nor does one make it read numbers where it cannot.
TEST(GpuRowsOpen, RowsOfNumbersThatLieWhereNoneCan) {
  scratch_folder folder;
  auto t = gpu::open_rows_on(std::make_unique<lockstep_device>(), folder.file("a"),
                             {.settings = {{"key_bytes", 8}}}, {});
  ASSERT_TRUE(t) << t.failure().message;
  const std::uint64_t key = 7;
  const float numbers[4] = {1, 2, 3, 4};
  float made[4] = {9, 9, 9, 9};
  status answer = status::damaged;
  ASSERT_EQ(t->put(1, &key, numbers, sizeof numbers, &answer), status::ok);
  spoiled_rows copy(*t);
  ASSERT_EQ(copy.gather(&key, 4, made), status::ok);
  EXPECT_TRUE(std::equal(made, made + 4, numbers));
  const std::uint64_t hash = copy.rows.hash_of(&key);
  copy.bytes[*copy.rows.value_of(hash, copy.lane_of(hash)).raw() / 8] =
      1 | std::uint64_t{16} << 32;  // a key of one byte before it
  EXPECT_EQ(copy.gather(&key, 4, made), status::damaged);
  for (float each : made) EXPECT_EQ(each, 0.0f);
}

/// Keys are compared, and not their hashes alone.
TEST(GpuRowsOpen, KeysOfOneHash) {
  scratch_folder folder;
  auto t = gpu::open_rows_on(std::make_unique<lockstep_device>(), folder.file("a"),
                             {.settings = {{"key_bytes", 32}}}, {});
  ASSERT_TRUE(t) << t.failure().message;
  std::uint64_t key[4] = {1, 2, 3, 4}, other[4] = {1, 2, 3, 5};
  status answer = status::damaged;
  ASSERT_EQ(t->put(1, key, "0123456789abcdef", 16, &answer), status::ok);
  spoiled_rows copy(*t);
  const gpu::leased_rows& rows = copy.rows;
  std::uint64_t hash = rows.hash_of(other),
                value = *rows.value_of(rows.hash_of(key), copy.lane_of(rows.hash_of(key))).raw();
  auto lie = [&](unsigned lane, const std::uint64_t* of) {  // as if both had one hash
    *rows.state_of(hash, lane).raw() = hash;
    *rows.value_of(hash, lane).raw() = value;
    for (unsigned n = 0; n < 4; ++n) *rows.key_of(hash, lane)[n].raw() = of[n];
  };
  lie(3, key);
  EXPECT_EQ(copy.find(other), status::not_found);
  lie(12, other);
  EXPECT_EQ(copy.find(other), status::ok);
}

/// Rows in levels of more than a megabyte, which are counted in the background.
int write_rows_and_die(const child_arguments& arguments) {
  options how;
  how.engine = engine_kind::gphash, how.key = data_kind::u64, how.value = data_kind::bytes;
  auto t = durahash::table::open(arguments[0], how);
  if (!t) return 3;
  for (std::uint64_t key = 0; key < 60'000; ++key) {
    const std::string_view text(reinterpret_cast<const char*>(&key), sizeof key);
    if (t->put(text, text) != status::ok) return 4;
  }
  return std::raise(SIGKILL);
}
const child_role writes_rows_and_dies("write_rows_and_die", write_rows_and_die);

/// Calls visit(state) for each state word of a pool's levels.
template <class Visit>
void for_each_state(std::vector<std::byte>& pool, Visit&& visit) {
  auto block = read_superblock(pool.data(), pool.size(), false, "pool");
  ASSERT_TRUE(block);
  const auto& root = *reinterpret_cast<const gphash::root*>(&pool[block->engine_offset]);
  const gphash::geometry g{*root.geometry.raw()};
  for (unsigned log2 = g.bottom(); log2 < g.bottom() + 2; ++log2) {
    const checked_place at{*root.levels[g.bank()][log2].raw()};
    auto* words = reinterpret_cast<std::uint64_t*>(&pool[at.offset()]);
    for (std::uint64_t bucket = 0; bucket < std::uint64_t{1} << log2; ++bucket)
      for (unsigned slot = 0; slot < 8; ++slot) visit(words[bucket * 16 + slot]);
  }
}
std::vector<std::byte> content_of(const std::string& path) {
  std::vector<std::byte> all(std::filesystem::file_size(path));
  std::ifstream(path, std::ios::binary)
      .read(reinterpret_cast<char*>(all.data()), static_cast<std::streamsize>(all.size()));
  return all;
}

/// S2 of gphash: what a crash left visible is durable when all is counted, and a device, which
/// writes nothing back, reads no sooner. Here it shows by the claimed slots, which are empty then.
TEST(GpuRowsOpen, OfAKilledPoolWaitsUntilItIsCounted) {
  scratch_folder folder;
  const std::string path = folder.file("a");
  EXPECT_EQ(child_process("write_rows_and_die", {path}).wait().signal, SIGKILL);
  std::vector<std::byte> pool = content_of(path);
  std::uint64_t claimed = 0;
  for_each_state(pool, [&](std::uint64_t& state) {
    if (state == gphash::empty_state) state = gphash::claimed_state, ++claimed;
  });
  EXPECT_GT(claimed, 1000u);
  std::fstream(path, std::ios::binary | std::ios::in | std::ios::out)
      .write(reinterpret_cast<const char*>(pool.data()), static_cast<std::streamsize>(pool.size()));
  const held_thread thread;
  const gpu::table t = open_rows_in_lockstep(path, gpu::table_place::pool);
  pool = content_of(path);
  claimed = 0;
  for_each_state(pool, [&](std::uint64_t& state) { claimed += state == gphash::claimed_state; });
  EXPECT_EQ(claimed, 0u);
}

/// As gpu::map refuses one: a device writes no log. Disks and persistent memory are one medium.
TEST(GpuRowsOpen, APoolOnADiskWithALogIsRefused) {
  scratch_folder folder("/var/tmp");
  const std::string path = folder.file("a");
  options how{.engine = engine_kind::gphash, .key = data_kind::u64, .value = data_kind::bytes};
  how.durability = durability_level::power, how.medium = medium_kind::disk;
  how.log_bytes = 1 << 20;
  ASSERT_TRUE(table::open(path, how));
  for (auto place : {gpu::table_place::automatic, gpu::table_place::pool,
                     gpu::table_place::host_mirror, gpu::table_place::device_mirror}) {
    const auto t =
        gpu::open_rows_on(std::make_unique<lockstep_device>(), path, {}, {.place = place});
    ASSERT_FALSE(t);
    EXPECT_EQ(t.failure().message, "a device cannot use this pool's medium");
  }
}

}  // namespace
}  // namespace durahash::test
