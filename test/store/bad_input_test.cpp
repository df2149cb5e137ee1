// Files that are no pools, or pools that this program must not use: each is refused with a
// sentence, and stays as it is.
#include <algorithm>

#include "bad_input.hpp"
#include "patched_pool.hpp"

namespace durahash::test {
namespace {

using BadInput = bad_input;

// ------------------------------------------------------------------------------------------- files

TEST_F(BadInput, AnEmptyFileIsRefused) { expect_bytes_refused("", "empty"); }

TEST_F(BadInput, MessagesGiveTheFilesOwnSize) {
  expect_bytes_refused(std::string(1221, 'x'),
                       "it has 1221 bytes, and the smallest pool has more than 16384");
  std::string whole = pool_image(plain_bytes(), records);
  for (std::size_t length : {std::size_t{20'001}, whole.size() - 1})
    expect_bytes_refused(whole.substr(0, length),
                         "the file has " + std::to_string(length) + " bytes");
}

TEST_F(BadInput, ForeignFilesAreRefused) {
  random_stream random(stream_seed("foreign"));
  std::string noise(1 << 20, '\0');
  std::generate(noise.begin(), noise.end(), [&] { return static_cast<char>(random.next()); });
  expect_bytes_refused(noise, "not a durahash pool");
  expect_bytes_refused(std::string(1 << 20, '\0'), "not a durahash pool");
  expect_bytes_refused(std::string(1 << 20, '\xff'), "not a durahash pool");
  expect_bytes_refused("key,value\na,1\nb,2\n");
  expect_bytes_refused(read_file("/proc/self/exe").substr(0, 1 << 20), "not a durahash pool");
  for (std::size_t length : {1u, 7u, 8u, 100u, 4095u, 4096u, 4097u, 12'345u})
    expect_bytes_refused(noise.substr(0, length));
}

TEST_F(BadInput, AMagicNumberAloneIsNotAPool) {
  std::string bytes(1 << 20, '\0');
  std::copy(pool_magic.begin(), pool_magic.end(), bytes.begin());
  expect_bytes_refused(bytes, "damaged");
}

TEST_F(BadInput, APoolCutOffAnywhereIsRefused) {
  for (api_kind api : {api_kind::bytes, api_kind::words}) {
    setup with = plain_bytes();
    with.api = api;
    std::string whole = pool_image(with, records);
    std::vector<std::size_t> lengths = {1,
                                        8,
                                        183,
                                        184,
                                        185,
                                        4095,
                                        4096,
                                        4280,
                                        8191,
                                        8192,
                                        8200,
                                        8448,
                                        8528,
                                        8704,
                                        12'288,
                                        16'383,
                                        16'384,
                                        16'385,
                                        whole.size() - 1,
                                        whole.size() - 4096,
                                        whole.size() / 2};
    for (std::size_t length = 4096; length < whole.size();
         length += std::max<std::size_t>(4096, whole.size() / 64))
      lengths.push_back(length);
    for (std::size_t length : lengths) {
      SCOPED_TRACE("cut to " + std::to_string(length) + " of " + std::to_string(whole.size()) +
                   " bytes");
      expect_bytes_refused(whole.substr(0, length));
    }
  }
}

TEST_F(BadInput, APoolWithBytesBehindItsEndOpens) {
  std::string image = pool_image(plain_bytes(), records);
  expect_opens(image + std::string(4096, 'x'));
  expect_opens(image + std::string(100'001, '\xff'));
}

// -------------------------------------------------------------------------------------- superblock

TEST_F(BadInput, ANewerVersionIsRefusedAndCalledNewer) {
  std::string image = pool_image(plain_bytes(), records);
  superblock block = superblock_in(image);
  ++block.version;
  put_superblock(image, block);
  expect_bytes_refused(image, "newer");
}

TEST_F(BadInput, UnknownFeaturesFollowTheirBits) {
  std::string image = pool_image(plain_bytes(), records), patched = image;
  superblock block = superblock_in(image);

  block.compat = std::uint64_t{1} << 63;
  put_superblock(patched, block);
  expect_opens(patched);

  block.incompat = std::uint64_t{1} << 63;
  put_superblock(patched, block);
  expect_bytes_refused(patched, "features");

  block.incompat = 0;
  block.ro_compat = 1;
  put_superblock(patched, block);
  std::string path = folder_.file("file");
  write_file(path, patched);
  auto writing = table::open(path);
  ASSERT_FALSE(writing) << "unknown ro_compat bits allow reading alone";
  options reading;
  reading.mode = open_mode::read_only;
  auto opened = table::open(path, reading);
  ASSERT_TRUE(opened) << opened.failure().message;
  EXPECT_EQ(opened->size(), records);
}

TEST_F(BadInput, UnknownKindsInTheSuperblockAreRefused) {
  std::string image = pool_image(plain_bytes(), records);
  auto with_change = [&](auto change) {
    std::string patched = image;
    superblock block = superblock_in(image);
    change(block);
    put_superblock(patched, block);
    return patched;
  };
  expect_bytes_refused(with_change([](superblock& b) { b.engine = static_cast<engine_kind>(0); }));
  expect_bytes_refused(
      with_change([](superblock& b) { b.engine = static_cast<engine_kind>(200); }));
  expect_bytes_refused(with_change([](superblock& b) { b.key = static_cast<data_kind>(0); }));
  expect_bytes_refused(with_change([](superblock& b) { b.value = static_cast<data_kind>(77); }));
  expect_bytes_refused(
      with_change([](superblock& b) { b.durability = static_cast<durability_level>(9); }));
  expect_bytes_refused(with_change([](superblock& b) { b.hash_id = 4711; }), "hash");
  expect_bytes_refused(with_change([](superblock& b) { b.seed_multiply = 2; }));
  expect_bytes_refused(with_change([](superblock& b) { b.bytes = 100; }));
}

TEST_F(BadInput, ImpossiblePlacesInASealedSuperblockOrRootAreRefused) {
  std::string image = pool_image(plain_bytes(), records);
  std::uint64_t nowhere[] = {1,
                             8,
                             4095,
                             4096,
                             image.size() - 1,
                             image.size(),
                             image.size() + 4096,
                             std::uint64_t{1} << 40,
                             std::uint64_t{1} << 63,
                             ~std::uint64_t{0},
                             ~std::uint64_t{0} - 4095};
  for (std::uint64_t place : nowhere) {
    SCOPED_TRACE(place);
    for (auto field :
         {&superblock::engine_offset, &superblock::engine_bytes, &superblock::heap_offset}) {
      std::string patched = image;
      superblock block = superblock_in(image);
      block.*field = place;
      put_superblock(patched, block);
      expect_bytes_refused(patched);
    }
    for (auto field : {&root_record::pool_bytes, &root_record::heap_state_offset,
                       &root_record::heap_state_bytes}) {
      std::string patched = image;
      root_record root = root_in(image);
      root.*field = place;
      put_root(patched, root);
      // A saved allocation state that does not fit is no reason to refuse: it can be rebuilt. An
      // impossible size is one.
      std::string path = folder_.file("file");
      write_file(path, patched);
      auto opened = table::open(path);
      EXPECT_FALSE(opened && field == &root_record::pool_bytes && place != image.size());
      if (opened) {
        EXPECT_EQ(opened->size(), records);
        EXPECT_EQ(opened->get(nth_key(plain_bytes(), 7)), image_value(plain_bytes(), 7));
      } else {
        EXPECT_NE(opened.failure().message.find(path), std::string::npos)
            << opened.failure().message;
      }
    }
  }
}

TEST_F(BadInput, NonsenseSettingsInASealedSuperblockAreRefused) {
  std::string image = pool_image(plain_bytes(), records);
  for (std::size_t index = 0; index < setting_count; ++index)
    for (std::uint64_t nonsense :
         {std::uint64_t{0}, std::uint64_t{64}, std::uint64_t{1} << 32, ~std::uint64_t{0}}) {
      std::string patched = image;
      superblock block = superblock_in(image);
      if (block.settings[index] == nonsense) continue;
      block.settings[index] = nonsense;
      put_superblock(patched, block);
      std::string path = folder_.file("file");
      write_file(path, patched);
      // refused, or a setting that may have this value: then it works
      auto opened = table::open(path);
      if (!opened) {
        EXPECT_NE(opened.failure().message.find(path), std::string::npos)
            << opened.failure().message;
        continue;
      }
      for (std::uint64_t n = 0; n < 2000; ++n)
        ASSERT_EQ(opened->put("more " + std::to_string(n), "value"), status::ok);
    }
}

/// The pool is as good as before, until the other one goes, too.
TEST_F(BadInput, ADamagedSuperblockIsReplacedByItsTwinAndCheckTells) {
  const std::string image = pool_image(plain_bytes(), records);
  for (std::uint64_t offset : superblock_offsets) {
    std::string noise = image, bit = image;
    std::fill_n(noise.begin() + static_cast<std::ptrdiff_t>(offset), 512, '\xee');
    bit[offset + offsetof(superblock, created_unix_seconds)] ^= 1;
    for (const std::string& damaged : {noise, bit}) {
      table pool = opened(damaged);
      const check_report report = pool.check();
      EXPECT_FALSE(report.ok) << offset;
      EXPECT_EQ(report.records, records);
      ASSERT_EQ(report.violations.size(), 1u);
      EXPECT_TRUE(report.violations[0].starts_with("the superblock at offset " +
                                                   std::to_string(offset) + " is damaged"))
          << report.violations[0];
      const std::string copy = folder_.file("copy");
      ASSERT_EQ(pool.backup(copy).code, status::ok);
      EXPECT_TRUE(opened(read_file(copy)).check().ok) << "a backup has both";
      std::filesystem::remove(copy);
    }
  }
}

TEST_F(BadInput, CheckTellsOfSuperblocksThatAreNotOfOnePool) {
  std::string image = pool_image(plain_bytes(), records);
  EXPECT_TRUE(opened(image).check().ok);
  superblock other = superblock_in(image);
  other.created_unix_seconds += 1;
  other = sealed(other);
  std::memcpy(image.data() + superblock_offsets[1], &other, sizeof other);
  EXPECT_FALSE(opened(image).check().ok);
}

/// It changes the second one first; so far the pool is of the level that it had.
TEST_F(BadInput, AConversionThatWasBrokenOffIsNoDamage) {
  std::string image = pool_image(plain_bytes(), records);
  superblock converted = superblock_in(image);
  converted.durability = durability_level::power;
  converted.incompat |= has_log;
  converted = sealed(converted);
  std::memcpy(image.data() + superblock_offsets[1], &converted, sizeof converted);
  EXPECT_TRUE(opened(image).check().ok);
}

}  // namespace
}  // namespace durahash::test
