// Files that are damaged or forged, and a change of level that a loss of power interrupts.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "base/hash.hpp"
#include "disk/log_format.hpp"
#include "disk_pool.hpp"
#include "disk_recorder.hpp"
#include "durahash/convert.hpp"

namespace durahash::test {
namespace {

template <class T>
T read_as(const std::string& bytes, std::uint64_t offset) {
  T made;
  std::memcpy(&made, bytes.data() + offset, sizeof made);
  return made;
}
template <class T>
void write_as(std::string& bytes, std::uint64_t offset, const T& value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
}

log_record record_in(const std::string& pool) {
  auto one = read_as<log_record>(pool, log_record_offsets[0]),
       other = read_as<log_record>(pool, log_record_offsets[1]);
  return one.sequence > other.sequence ? one : other;
}

/// A word that a field may have, and mostly should not.
std::uint64_t odd_word(random_stream& draw) {
  switch (draw.below(4)) {
    case 0: return draw.below(5);
    case 1: return ~std::uint64_t{0} - draw.below(3);
    case 2: return std::uint64_t{1} << draw.below(64);
    default: return draw.next();
  }
}

template <class T>
T forged(T structure, random_stream& draw) {
  std::uint64_t word = draw.below(offsetof(T, checksum) / 8), value = odd_word(draw);
  std::memcpy(reinterpret_cast<char*>(&structure) + 8 * word, &value, 8);
  return sealed(structure);
}

void forge_entry(std::string& log, const log_record& record, random_stream& draw) {
  const log_row& row = record.rows[record.row_count - 1];
  std::uint64_t place = std::max(record.from, row.first) + draw.below(200);
  std::uint64_t at = log_entries_offset + record.areas.slot_of(place) * sizeof(log_entry);
  auto entry = read_as<log_entry>(log, at);
  entry.head = odd_word(draw);
  entry.seal = seal_of(entry, place, row.key, 1);
  write_as(log, at, entry);
}

void damage(std::string& pool, std::string& log, random_stream& draw) {
  log_record record = record_in(pool);
  switch (draw.below(6)) {
    case 0: log[draw.below(log.size())] ^= static_cast<char>(1 + draw.below(255)); break;
    case 1: log.resize(draw.below(log.size() + 1)); break;
    case 2: write_as(log, 0, forged(read_as<log_header>(log, 0), draw)); break;
    case 3: forge_entry(log, record, draw); break;
    default: {
      log_record other = forged(record, draw);
      write_as(pool, log_record_offsets[0], other);
      write_as(pool, log_record_offsets[1], other);
    }
  }
}

/// A forged log that is sealed may bring back lines of any moment, as no crash leaves them.
/// A record may be there twice, or lack lines; `check` tells.
void expect_answers(const table& pool) {
  static_cast<void>(pool.size());
  std::string value;
  for (std::uint64_t n = 0; n < 300; n += 7) static_cast<void>(pool.get(key_of(n), value));
  const check_report report = pool.check();
  EXPECT_EQ(report.ok, report.violations.empty());
}

TEST(DiskDamage, EndsInAnAnswer) {
  const disk_setup with{engine_kind::turbo, data_kind::bytes, durability_level::power};
  scratch_folder folder(disk_folder());
  std::string path = folder.file("pool.dh");
  pid_t child = ::fork();
  if (child == 0) {
    auto pool = table::open(path, with.how());
    for (std::uint64_t n = 0; pool && n < 300; ++n)
      if (pool->put(key_of(n), value_of(with, n)) != status::ok) ::_exit(1);
    ::_exit(pool ? 0 : 2);
  }
  int how = 0;
  ::waitpid(child, &how, 0);
  ASSERT_EQ(how, 0);
  const std::string pool_before = read_file(path), log_before = read_file(path + "-log");
  const no_waits at_once;
  random_stream draw(stream_seed("DiskDamage"));
  std::uint64_t opened = 0, refused = 0, read = 0;
  for (std::uint64_t i = 0; i < (long_run() ? 5000 : 200); ++i) {
    std::string pool_bytes = pool_before, log = log_before;
    damage(pool_bytes, log, draw);
    write_file(path, pool_bytes);
    write_file(path + "-log", log);
    if (auto reader = table::open(path, {.mode = open_mode::read_beside})) {
      ++read;
      expect_answers(*reader);
    } else {
      EXPECT_NE(reader.failure().message.find(path), std::string::npos) << reader.failure().message;
    }
    auto pool = table::open(path);
    if (!pool) {
      ++refused;
      EXPECT_NE(pool.failure().message.find(path), std::string::npos) << pool.failure().message;
      continue;
    }
    ++opened;
    expect_answers(*pool);
  }
  EXPECT_GT(opened, 0u);
  EXPECT_GT(refused, 0u);
  EXPECT_GT(read, 0u);
}

/// What it had acknowledged stands in a log of which nothing says any more where it begins.
TEST(DiskDamage, APoolWhoseLogHasNoRecordIsRefused) {
  const disk_setup with{engine_kind::cceh, data_kind::u64, durability_level::power};
  scratch_folder folder(disk_folder());
  std::string path = folder.file("pool.dh");
  {
    auto pool = table::open(path, with.how());
    ASSERT_TRUE(pool);
    for (std::uint64_t n = 0; n < 300; ++n)
      ASSERT_EQ(pool->put(key_of(n), value_of(with, n)), status::ok);
    ASSERT_EQ(pool->close(), status::ok);
  }
  std::string bytes = read_file(path);
  for (std::uint64_t offset : log_record_offsets) bytes[offset + 40] ^= 1;
  write_file(path, bytes);
  auto pool = table::open(path);
  ASSERT_FALSE(pool);
  EXPECT_NE(pool.failure().message.find("is damaged"), std::string::npos) << pool.failure().message;
  options how;
  how.salvage = true;
  auto salvaged = table::open(path, how);
  ASSERT_TRUE(salvaged) << salvaged.failure().message;
  EXPECT_EQ(salvaged->size(), 300u);
}

/// As before logs grew: the record has no areas.
TEST(DiskDamage, ALogOfBeforeLogsGrewIsReplayed) {
  const disk_setup with{engine_kind::cceh, data_kind::u64, durability_level::power};
  for (bool killed : {false, true}) {
    scratch_folder folder(disk_folder());
    std::string path = folder.file("pool.dh");
    pid_t child = ::fork();
    if (child == 0) {
      auto pool = table::open(path, with.how());
      for (std::uint64_t n = 0; pool && n < 300; ++n)
        if (pool->put(key_of(n), value_of(with, n)) != status::ok) ::_exit(1);
      if (pool && !killed && pool->close() != status::ok) ::_exit(3);
      ::_exit(pool ? 0 : 2);
    }
    int how = 0;
    ::waitpid(child, &how, 0);
    ASSERT_EQ(how, 0);
    std::string bytes = read_file(path);
    log_record record = record_in(bytes);
    ASSERT_EQ(record.areas.count, 1u);
    ASSERT_EQ(record.areas.slot_of(5), 5u);
    std::string old(reinterpret_cast<const char*>(&record), log_record_bytes_before_areas);
    std::uint64_t sum = checksum(old.data(), old.size());
    old.append(reinterpret_cast<const char*>(&sum), sizeof sum);
    old.resize(page_bytes / 2, '\0');
    bytes.replace(log_record_offsets[record.sequence % 2], old.size(), old);
    write_file(path, bytes);
    auto pool = table::open(path);
    ASSERT_TRUE(pool) << pool.failure().message;
    EXPECT_EQ(pool->info().clean, !killed);
    EXPECT_EQ(pool->size(), 300u);
    EXPECT_EQ(pool->put(key_of(1), value_of(with, 1)), status::ok);
    EXPECT_EQ(pool->close(), status::ok);
    EXPECT_EQ(table::open(path)->size(), 300u);
  }
}

class DiskConversion
    : public testing::TestWithParam<std::pair<durability_level, durability_level>> {};
INSTANTIATE_TEST_SUITE_P(
    All, DiskConversion,
    testing::Values(std::pair(durability_level::process, durability_level::power),
                    std::pair(durability_level::power, durability_level::power_buffered),
                    std::pair(durability_level::power_buffered, durability_level::none)),
    [](const auto& one) {
      return std::string(name_of(one.param.first)) + "_to_" +
             std::string(name_of(one.param.second));
    });

/// At every moment, with each sector that nobody waited for old or new.
TEST_P(DiskConversion, LeavesTheOldLevelOrTheNewOne) {
  auto [from, to] = GetParam();
  scratch_folder folder(disk_folder());
  std::string path = folder.file("pool.dh");
  options how;
  how.durability = from;
  {
    auto pool = table::open(path, how);
    ASSERT_TRUE(pool);
    for (std::uint64_t n = 0; n < 100; ++n) ASSERT_EQ(pool->put(key_of(n), "v"), status::ok);
    ASSERT_EQ(pool->close(), status::ok);
  }
  random_stream draw(stream_seed("DiskConversion"));
  const bool had_log = std::filesystem::exists(path + "-log");
  const std::string log = had_log ? read_file(path + "-log") : std::string();
  disk_recorder disk({path});
  error e = convert(path, to);
  ASSERT_EQ(e.code, status::ok) << e.message;
  std::uint64_t last = disk.now();
  disk.stop();
  bool seen_old = false, seen_new = false;
  for (std::uint64_t moment = 0; moment <= last; ++moment)
    for (int tries = 0; tries < 8; ++tries) {
      for (const auto& [name, bytes] : disk.after_cut(moment, disk_recorder::unwaited::drawn, draw))
        write_file(name, bytes);
      std::filesystem::remove(path + "-log");  // the last step of all
      if (had_log && (moment < last || draw.one_in(2))) write_file(path + "-log", log);
      auto pool = table::open(path);
      ASSERT_TRUE(pool) << "cut at " << moment << ": " << pool.failure().message;
      EXPECT_EQ(pool->size(), 100u);
      durability_level level = pool->info().durability;
      seen_old = seen_old || level == from, seen_new = seen_new || level == to;
      EXPECT_TRUE(level == from || level == to);
    }
  EXPECT_TRUE(seen_old && seen_new);
}

}  // namespace
}  // namespace durahash::test
