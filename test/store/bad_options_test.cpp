// Options that make no sense: each is refused with a sentence, and leaves nothing behind.
#include <filesystem>

#include "bad_input.hpp"

namespace durahash::test {
namespace {

template <class Change>
options options_with(Change change) {
  options how;
  change(how);
  return how;
}

class NonsenseOptions : public bad_input {
 protected:
  /// Refused with a sentence that contains `words`; afterwards the path is free for a pool with
  /// sane options.
  void expect_nonsense(const options& how, std::string_view words = "") {
    std::string path = folder_.file("pool");
    auto opened = table::open(path, how);
    ASSERT_FALSE(opened);
    EXPECT_GE(opened.failure().message.size(), 20u) << opened.failure().message;
    EXPECT_NE(opened.failure().message.find(words), std::string::npos) << opened.failure().message;
    EXPECT_FALSE(std::filesystem::exists(path)) << "a refused open left a file behind";
    auto sane = table::open(path);
    ASSERT_TRUE(sane) << sane.failure().message;
    ASSERT_EQ(sane->put("key", "value"), status::ok);
    sane->close();
    std::filesystem::remove(path);
  }
};

TEST_F(NonsenseOptions, UnknownSettingsAreRefusedByName) {
  expect_nonsense(options_with([&](options& how) {
                    how.settings = {{"no_such_setting", 1}};
                  }),
                  "no_such_setting");
  expect_nonsense(options_with([&](options& how) { how.settings = {{"", 1}}; }));
}

TEST_F(NonsenseOptions, SettingsOutOfRangeAreRefusedByName) {
  for (const char* name : {"shards", "scope"})
    for (std::uint64_t value : {std::uint64_t{0}, std::uint64_t{1} << 40, ~std::uint64_t{0}})
      expect_nonsense(options_with([&](options& how) { how.settings = {{name, value}}; }), name);
}

TEST_F(NonsenseOptions, KindsThatDoNotExistAreRefused) {
  expect_nonsense(options_with([&](options& how) { how.engine = static_cast<engine_kind>(77); }));
  expect_nonsense(options_with([&](options& how) { how.engine = static_cast<engine_kind>(0); }));
  expect_nonsense(options_with([&](options& how) { how.key = static_cast<data_kind>(9); }));
  expect_nonsense(options_with([&](options& how) { how.value = static_cast<data_kind>(0); }));
  expect_nonsense(
      options_with([&](options& how) { how.durability = static_cast<durability_level>(3); }));
  expect_nonsense(options_with([&](options& how) { how.medium = static_cast<medium_kind>(99); }));
  expect_nonsense(options_with([&](options& how) { how.mode = static_cast<open_mode>(99); }));
}

TEST_F(NonsenseOptions, PowerDurabilityOnAPlainFileIsRefusedWithAReason) {
  expect_nonsense(options_with([](options& how) {
                    how.durability = durability_level::power;
                    how.medium = medium_kind::file;
                  }),
                  "power");
  // on tmpfs; a disk can promise it
  expect_nonsense(options_with([&](options& how) { how.durability = durability_level::power; }),
                  "tmpfs");
}

TEST_F(NonsenseOptions, PmemOnAPlainFileIsRefusedWithAReason) {
  expect_nonsense(options_with([&](options& how) { how.medium = medium_kind::pmem; }));
}

TEST_F(NonsenseOptions, CapacitiesPastAllMemoryAreRefused) {
  for (std::uint64_t capacity : {~std::uint64_t{0}, std::uint64_t{1} << 63, std::uint64_t{1} << 60,
                                 std::uint64_t{1} << 50}) {
    SCOPED_TRACE(capacity);
    expect_nonsense(options_with([&](options& how) { how.capacity = capacity; }));
  }
}

TEST_F(NonsenseOptions, KeyLengthsThatNoSlotHasAreRefused) {
  auto gphash_with = [&](std::uint64_t key_bytes, data_kind key,
                         const char* engine_setting = "levels") {
    return options_with([&](options& how) {
      how.engine = engine_kind::gphash;
      how.key = how.value = key;
      how.settings = {{"key_bytes", key_bytes}, {engine_setting, 2}};
    });
  };
  for (std::uint64_t bytes : {1u, 7u, 12u, 127u, 129u, 136u}) {
    SCOPED_TRACE(bytes);
    expect_nonsense(gphash_with(bytes, data_kind::bytes), "key_bytes");
  }
  expect_nonsense(gphash_with(8, data_kind::u64), "key_bytes");
  expect_nonsense(gphash_with(32, data_kind::bytes, "cache"), "cache");
}

TEST_F(NonsenseOptions, LimitsTooSmallForAnyPoolAreRefused) {
  for (std::uint64_t limit : {1u, 4096u, 10'000u}) {
    SCOPED_TRACE(limit);
    expect_nonsense(options_with([&](options& how) { how.max_bytes = limit; }));
  }
  for (std::uint64_t space : {1u, 4096u}) {
    SCOPED_TRACE(space);
    expect_nonsense(options_with([&](options& how) { how.address_space_bytes = space; }));
  }
}

TEST_F(NonsenseOptions, MoreAddressSpaceThanThereIsIsAsMuchAsThereIs) {
  for (std::uint64_t space :
       {std::uint64_t{1} << 48, std::uint64_t{1} << 62, ~std::uint64_t{0} - 4095}) {
    SCOPED_TRACE(space);
    options how;
    how.address_space_bytes = space;
    auto opened = table::open(folder_.file("wide" + std::to_string(space)), how);
    ASSERT_TRUE(opened) << opened.failure().message;
    for (int n = 0; n < 10'000; ++n)
      ASSERT_EQ(opened->put("key " + std::to_string(n), "value"), status::ok);
    EXPECT_TRUE(opened->check().ok);
  }
}

TEST_F(NonsenseOptions, AddressSpaceThatIsUsedUpIsNoSpace) {
  for (medium_kind medium : {medium_kind::file, medium_kind::memory,
#ifndef DURAHASH_SANITIZED
                             medium_kind::emulated
#endif
       }) {
    std::string path = folder_.file("small");
    std::filesystem::remove(path);
    // Not a multiple of a page, on purpose.
    options how;
    how.medium = medium;
    how.address_space_bytes = (4u << 20) + 123;
    auto opened = table::open(path, how);
    ASSERT_TRUE(opened) << opened.failure().message;
    status answer = status::ok;
    std::uint64_t n = 0;
    while (answer == status::ok && n < 1'000'000)
      answer = opened->put("key " + std::to_string(n++), std::string(100, 'v'));
    EXPECT_EQ(answer, status::no_space);
    EXPECT_GT(n, 1000u);
    EXPECT_EQ(opened->size(), n - 1);
    EXPECT_TRUE(opened->check().ok);
  }
}

TEST_F(NonsenseOptions, LimitsBelowAnExistingPoolStillOpenIt) {
  std::string path = folder_.file("pool"), image = pool_image(plain_bytes(), 5000);
  write_file(path, image);
  for (std::uint64_t bytes : {std::uint64_t{4096}, image.size() / 2}) {
    options how;
    how.address_space_bytes = how.max_bytes = bytes;
    auto opened = table::open(path, how);
    if (!opened) {
      EXPECT_NE(opened.failure().message.find(path), std::string::npos) << opened.failure().message;
      continue;
    }
    EXPECT_EQ(opened->size(), 5000u);
    EXPECT_EQ(opened->erase(nth_key(plain_bytes(), 1)), status::ok);
    EXPECT_EQ(opened->put(nth_key(plain_bytes(), 1), image_value(plain_bytes(), 1)), status::ok);
  }
}

}  // namespace
}  // namespace durahash::test
