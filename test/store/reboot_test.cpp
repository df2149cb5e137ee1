// What open makes of a pool that another run of the machine left: the boot id and the state in its
// root tell a dead process from a machine that went down. The reboot is written into the file;
// everything else is as the library left it.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "bad_input.hpp"
#include "engine/place.hpp"
#include "patched_pool.hpp"

namespace durahash::test {
namespace {

/// Setups whose pools lie in the page cache of a disk, so that a reboot may have torn what was not
/// synced. (What is in /dev/shm goes with the machine.)
std::vector<setup> page_cache_setups() {
  return setups_where([](const setup& s) {
    return s.place == place_kind::disk && s.durability == durability_level::process;
  });
}

class Reboot : public testing::TestWithParam<setup> {
 protected:
  static constexpr std::uint64_t records = 500;

  result<std::unique_ptr<subject>> open(const std::string& image, bool salvage = false,
                                        open_mode mode = open_mode::create_or_open) {
    write_file(folder_.file("pool"), image);
    options how;
    how.medium = GetParam().medium();
    how.salvage = salvage;
    how.mode = mode;
    return open_subject(GetParam(), folder_.file("pool"), how);
  }
  model expected() const {
    model all;
    for (std::uint64_t n = 0; n < records; ++n)
      all[nth_key(GetParam(), n)] = image_value(GetParam(), n);
    return all;
  }
  std::string clean_image() { return pool_image(GetParam(), records); }
  bool has_checksums() const {
    return GetParam().key() == data_kind::bytes || GetParam().value() == data_kind::bytes;
  }

  scratch_folder folder_{GetParam().folder()};
};
INSTANTIATE_TEST_SUITE_P(Every, Reboot, testing::ValuesIn(page_cache_setups()), setup_name());

TEST_P(Reboot, OfAPoolThatWasClosedChangesNothing) {
  auto opened = open(after_reboot(clean_image(), pool_state::clean));
  ASSERT_TRUE(opened) << opened.failure().message;
  EXPECT_TRUE((*opened)->pool().info().clean);
  expect_contents(**opened, expected());
  expect_sound(**opened);
}

TEST_P(Reboot, WhileThePoolWasWrittenIsRefusedAndNamesSalvage) {
  std::string image = after_reboot(clean_image(), pool_state::changing);
  for (open_mode mode :
       {open_mode::create_or_open, open_mode::open_existing, open_mode::read_only}) {
    auto opened = open(image, false, mode);
    ASSERT_FALSE(opened) << "a pool that a reboot may have torn opened as if nothing were";
    EXPECT_EQ(opened.failure().code, status::unusable);
    EXPECT_NE(opened.failure().message.find("salvage"), std::string::npos)
        << opened.failure().message;
    EXPECT_NE(opened.failure().message.find(folder_.file("pool")), std::string::npos)
        << opened.failure().message;
  }
  EXPECT_TRUE(read_file(folder_.file("pool")) == image) << "the refused open changed the file";
}

TEST_P(Reboot, OfTheProcessAloneIsNoReboot) {
  std::string image = clean_image();
  root_record root = root_in(image);
  root.state = pool_state::changing;
  root.records = root.heap_state_offset = root.heap_state_bytes = root.heap_state_checksum = 0;
  put_root(image, root);
  write_as_killed(folder_.file("pool"), image);
  auto opened = open(read_file(folder_.file("pool")));
  ASSERT_TRUE(opened) << opened.failure().message;
  EXPECT_FALSE((*opened)->pool().info().clean);
  expect_contents(**opened, expected());
  expect_sound(**opened);
}

TEST_P(Reboot, SalvageOfAWholePoolKeepsEveryRecordAndSaysSo) {
  std::string image = after_reboot(clean_image(), pool_state::changing);
  {
    auto opened = open(image, true);
    ASSERT_TRUE(opened) << opened.failure().message;
    EXPECT_FALSE((*opened)->pool().salvage_report().empty()) << "a salvage that says nothing";
    expect_contents(**opened, expected());
    expect_sound(**opened);
    EXPECT_EQ((*opened)->put(nth_key(GetParam(), 100'000), image_value(GetParam(), 1)), status::ok);
  }
  auto again = open(read_file(folder_.file("pool")));
  ASSERT_TRUE(again) << again.failure().message;
  EXPECT_EQ((*again)->pool().size(), records + 1);
  EXPECT_TRUE((*again)->pool().salvage_report().empty());
}

TEST_P(Reboot, SalvageDropsWhatDoesNotVerifyAndSaysSo) {
  if (!has_checksums()) GTEST_SKIP() << "words carry no checksum";
  std::string image = after_reboot(clean_image(), pool_state::changing);
  // Break ten records where their values lie.
  int broken = 0;
  for (std::uint64_t n = 0; n < 10; ++n) {
    std::size_t at = image.find(image_value(GetParam(), n));
    if (at == std::string::npos) continue;
    image[at + 1] = static_cast<char>(image[at + 1] ^ 0x10);
    ++broken;
  }
  ASSERT_GE(broken, 5);
  auto opened = open(image, true);
  ASSERT_TRUE(opened) << opened.failure().message;
  EXPECT_FALSE((*opened)->pool().salvage_report().empty());
  model left = contents_of(**opened), whole = expected();
  EXPECT_EQ(left.size(), records - static_cast<std::size_t>(broken));
  for (const auto& [key, value] : left)
    ASSERT_EQ(value, whole[key]) << "a record that does not verify was kept";
  expect_sound(**opened);
}

/// Found by power cuts in a guest: the root's page was written back, the file's new length was not,
/// and no salvage was offered.
TEST_P(Reboot, AFileThatLostItsEndIsRefusedAndNamesSalvageWhichKeepsWhatIsWhole) {
  std::string image = clean_image();
  model whole = expected();
  for (std::size_t left = superblock_in(image).heap_offset; left < image.size();
       left += (image.size() - left) / 3 / page_bytes * page_bytes + page_bytes) {
    SCOPED_TRACE(std::to_string(left) + " of " + std::to_string(image.size()) + " bytes are left");
    std::string cut = after_reboot(image, pool_state::changing).substr(0, left);
    auto refused = open(cut);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.failure().message.find("check --salvage"), std::string::npos)
        << refused.failure().message;
    auto opened = open(cut, true);
    ASSERT_TRUE(opened) << opened.failure().message;
    expect_sound(**opened);
    for (const auto& [key, value] : contents_of(**opened))
      ASSERT_TRUE(value == whole[key] || !has_checksums());
    for (const auto& [key, value] : whole) ASSERT_EQ((*opened)->put(key, value), status::ok);
    expect_contents(**opened, whole);
  }
}

TEST_P(Reboot, AFileThatSomebodyCutIsRefused) {
  std::string image = clean_image();
  for (bool rebooted : {false, true}) {
    auto refused = open((rebooted ? after_reboot(image, pool_state::clean) : image)
                            .substr(0, superblock_in(image).heap_offset),
                        true);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.failure().message.find("cut off"), std::string::npos)
        << refused.failure().message;
  }
}

TEST_P(Reboot, SalvageOfDamageAnywhereNeverCrashesAndLeavesASoundPool) {
  std::string image = clean_image();
  random_stream random(stream_seed("salvage/" + GetParam().name()));
  std::uint64_t rounds = 60;
  model whole = expected();
  for (std::uint64_t round = 0; round < rounds; ++round) {
    SCOPED_TRACE("round " + std::to_string(round) + ", seed " + std::to_string(run_seed()));
    std::string torn = after_reboot(image, pool_state::changing);
    // A power cut tears pages: some keep an earlier state. Behind the fixed structures, zeros and
    // other pages stand for that.
    for (std::uint64_t pages = 1 + random.below(4); pages > 0; --pages) {
      std::uint64_t from = random.below(torn.size() / page_bytes) * page_bytes;
      std::uint64_t to = 4 * page_bytes + random.below(torn.size() / page_bytes - 4) * page_bytes;
      if (random.one_in(2)) torn.replace(to, page_bytes, page_bytes, '\0');
      else torn.replace(to, page_bytes, image, from, page_bytes);
    }
    auto opened = open(torn, true);
    if (!opened) {
      EXPECT_GE(opened.failure().message.size(), 20u);
      continue;
    }
    EXPECT_FALSE((*opened)->pool().salvage_report().empty());
    expect_sound(**opened);
    for (const auto& [key, value] : contents_of(**opened))
      ASSERT_TRUE(value == whole[key] || !has_checksums());
    for (std::uint64_t n = 0; n < 2 * records; ++n)
      ASSERT_EQ((*opened)->put(nth_key(GetParam(), n), image_value(GetParam(), n)), status::ok);
    EXPECT_GE((*opened)->pool().size(), 2 * records);
    expect_sound(**opened);
  }
}

/// A clean pool whose root names nothing would open as an empty one, and its records' space be
/// handed out.
TEST_P(Reboot, APoolThatLostItsRootIsNotTakenForANewOne) {
  std::string image = clean_image();
  superblock block = superblock_in(image);
  image.replace(block.engine_offset, block.engine_bytes, block.engine_bytes, '\0');
  auto refused = open(image);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.failure().code, status::unusable);
  EXPECT_NE(refused.failure().message.find(std::to_string(records) + " records"), std::string::npos)
      << refused.failure().message;
  EXPECT_TRUE(read_file(folder_.file("pool")) == image) << "the refused open changed the file";
}

/// The engine's own fixed structures lie in front of the heap: whatever becomes of a line of
/// theirs, the pool is refused or made sound, and holds what is put.
TEST_P(Reboot, SalvageOfDamageInFrontOfTheHeapLeavesASoundPool) {
  constexpr std::size_t line = 64, max_lines = 32;
  std::string clean = clean_image(), whole = after_reboot(clean, pool_state::changing);
  superblock block = superblock_in(whole);
  random_stream random(stream_seed("front/" + GetParam().name()));
  std::size_t lines = block.engine_bytes / line, step = std::max<std::size_t>(lines / max_lines, 1);
  for (std::size_t at = block.engine_offset; at < block.engine_offset + lines * line;
       at += step * line)
    for (const char* what : {"zeros", "ones", "noise", "a line of the heap"}) {
      SCOPED_TRACE(std::string(what) + " at offset " + std::to_string(at) + ", seed " +
                   std::to_string(run_seed()));
      std::string torn = whole, bytes(line, *what == 'o' ? '\xff' : '\0');
      if (*what == 'n')
        std::generate(bytes.begin(), bytes.end(),
                      [&] { return static_cast<char>(random.below(256)); });
      if (*what == 'a') bytes = whole.substr(block.heap_offset + random.below(1000) * line, line);
      torn.replace(at, line, bytes);
      // not all damage can be seen; none may stop the process
      if (auto opened = open(std::string(clean).replace(at, line, bytes))) {
        for (const auto& [key, value] : expected()) (void)(*opened)->put(key, value);
        (void)(*opened)->pool().check();
      }
      auto opened = open(torn, true);
      if (!opened) {
        EXPECT_GE(opened.failure().message.size(), 20u);
        continue;
      }
      expect_sound(**opened);
      for (const auto& [key, value] : expected()) ASSERT_EQ((*opened)->put(key, value), status::ok);
      EXPECT_GE((*opened)->pool().size(), records);
      expect_sound(**opened);
    }
}

/// Words that name places, sound each and not where they belong: what they name is another's, or is
/// named twice.
TEST_P(Reboot, SalvageOfPlacesNamedByOthersLeavesASoundPool) {
  constexpr std::uint64_t many = 6000;  // so that CCEH's directory names several segments
  std::string whole = after_reboot(pool_image(GetParam(), many), pool_state::changing);
  superblock block = superblock_in(whole);
  auto word_at = [&](std::size_t at) {
    std::uint64_t word;
    std::memcpy(&word, whole.data() + at, sizeof word);
    return word;
  };
  std::vector<std::size_t> named;
  auto take_words = [&](std::size_t from, std::size_t count) {
    for (std::size_t at = from; at < from + 8 * count; at += 8)
      if (checked_place{word_at(at)}.sound()) named.push_back(at);
  };
  take_words(block.engine_offset, block.engine_bytes / 8);
  // its root names the directory, and that the segments
  if (GetParam().engine == engine_kind::cceh) {
    checked_place directory{word_at(block.engine_offset)};
    take_words(directory.offset(), std::size_t{1} << directory.exponent());
  }
  ASSERT_GE(named.size(), 2u);
  random_stream random(stream_seed("places/" + GetParam().name()));
  for (int round = 0; round < 20; ++round) {
    std::string torn = whole;
    std::size_t to = named[random.below(named.size())], from = named[random.below(named.size())];
    checked_place place{word_at(from)};
    std::uint64_t kinds[] = {
        place.word, checked_place::of(place.offset(), place.exponent() + 1).word,
        checked_place::of(align_up(torn.size(), page_bytes), place.exponent()).word};
    std::uint64_t word = kinds[random.below(std::size(kinds))];
    SCOPED_TRACE("the word at " + std::to_string(to) + " made that at " + std::to_string(from) +
                 ", or about that; round " + std::to_string(round) + ", seed " +
                 std::to_string(run_seed()));
    std::memcpy(torn.data() + to, &word, sizeof word);
    auto opened = open(torn, true);
    if (!opened) {
      EXPECT_GE(opened.failure().message.size(), 20u);
      continue;
    }
    expect_sound(**opened);
    for (std::uint64_t n = 0; n < many; ++n)
      ASSERT_EQ((*opened)->put(nth_key(GetParam(), n), image_value(GetParam(), n)), status::ok);
    EXPECT_GE((*opened)->pool().size(), many);
    expect_sound(**opened);
  }
}

TEST_P(Reboot, SalvageOfAHealthyPoolIsHarmless) {
  auto opened = open(clean_image(), true);
  ASSERT_TRUE(opened) << opened.failure().message;
  expect_contents(**opened, expected());
  expect_sound(**opened);
}

// ------------------------------------------------------------------------- sync, close, and growth

/// A pool large enough to grow in the background, in which every third round or so meets a growth
/// under way.
class GrowingPool : public testing::Test {
 protected:
  static constexpr std::uint64_t large = 8000, some = 300;  // records of 3,000 bytes

  void put(table& pool, std::uint64_t count) {
    for (; count > 0; --count)
      ASSERT_EQ(pool.put(std::to_string(next_++), std::string(3000, 'v')), status::ok);
  }
  root_record root_now() const {
    std::string head(engine_area_offset, '\0');
    std::ifstream(path_, std::ios::binary)
        .read(head.data(), static_cast<std::streamsize>(head.size()));
    return root_in(head);
  }

  scratch_folder folder_;
  std::string path_ = folder_.file("pool");
  std::uint64_t next_ = 0;
};

/// Growth in the background began before a sync and ended after it: the pool was marked as
/// changing, and a power cut made it one to be refused.
TEST_F(GrowingPool, IsCleanBehindASyncUntilTheNextWrite) {
  auto pool = table::open(path_);
  ASSERT_TRUE(pool) << pool.failure().message;
  ASSERT_NO_FATAL_FAILURE(put(*pool, large));
  for (int round = 0; round < 40; ++round) {
    ASSERT_NO_FATAL_FAILURE(put(*pool, some));
    ASSERT_EQ(root_now().state, pool_state::changing);
    ASSERT_EQ(pool->sync(), status::ok);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    ASSERT_EQ(root_now().state, pool_state::clean) << "round " << round << ": changed by no write";
  }
  EXPECT_TRUE(pool->check().ok);
}

TEST_F(GrowingPool, IsCleanOnceClosed) {
  for (int round = 0; round < 20; ++round) {
    auto pool = table::open(path_);
    ASSERT_TRUE(pool) << pool.failure().message;
    ASSERT_NO_FATAL_FAILURE(put(*pool, round == 0 ? large : some));
    ASSERT_EQ(pool->close(), status::ok);
    ASSERT_EQ(root_now().state, pool_state::clean) << "round " << round;
    ASSERT_EQ(root_now().pool_bytes, std::filesystem::file_size(path_));
  }
}

}  // namespace
}  // namespace durahash::test
