// Some thousands of damaged pools, without libFuzzer: what CI runs of fuzz/. DURAHASH_SEED=<seed>
// repeats a run, DURAHASH_FUZZ_POOLS=<n> changes its length. Each input stands in fuzz_smoke_input
// while it runs; DURAHASH_FUZZ_INPUT=<file> runs one again, and so does fuzz_open_check <file>.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "damage.hpp"
#include "durahash/table.hpp"
#include "open_check.hpp"
#include "sound_pool.hpp"
#include "store/patience.hpp"

namespace durahash::fuzz {
namespace {

std::uint64_t number_from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr && *text != '\0' ? std::strtoull(text, nullptr, 0) : otherwise;
}

std::uint64_t run_seed() {
  static const std::uint64_t seed =
      number_from_environment("DURAHASH_SEED", std::random_device{}());
  return seed;
}

std::string random_input(std::mt19937_64& random) {
  std::string input;
  auto push = [&](auto value) {
    input.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  std::uint64_t edits = random() % 4 == 0 ? random() % 30 : 1 + random() % 3;
  push(static_cast<std::uint8_t>(1 + random() % 3));
  push(static_cast<std::uint8_t>(random()));
  push(static_cast<std::uint8_t>(random()));
  for (std::uint64_t i = 0; i < edits; ++i) {
    push(static_cast<std::uint8_t>(random()));
    push(static_cast<std::uint32_t>(random()));
    push(random() >> random() % 64);
  }
  return input;
}

/// Runs one input; the process dies when it hangs.
outcome run(const std::string& input) {
  std::ofstream("fuzz_smoke_input", std::ios::binary) << input;
  ::alarm(test::patience_seconds);
  outcome seen = open_check(input);
  ::alarm(0);
  return seen;
}

TEST(FuzzSmoke, EverySoundPoolOpensAndHoldsItsRecords) {
  // words and bytes, closed and killed; gphash has keys of one length besides
  ASSERT_EQ(sound_pools().size(), all_engines().size() * 8 + 2);
  for (const sound_pool& pool : sound_pools())
    for (std::uint8_t how : {0, 2, 8, 16}) {
      outcome seen = open_check_bytes(pool.bytes, how);
      EXPECT_TRUE(seen.opened) << pool.name << ": " << seen.refusal;
      EXPECT_FALSE(seen.found_damage) << pool.name;
    }
}

TEST(FuzzSmoke, TheSameInputMeansTheSamePool) {
  std::vector<sound_pool> again = make_sound_pools();
  for (std::size_t i = 0; i < again.size(); ++i) {
    // where records go depends on when cells are reclaimed, in the background
    if (again[i].name.find("bytes") != std::string::npos) continue;
    EXPECT_TRUE(again[i].bytes == sound_pools()[i].bytes) << again[i].name;
    std::mt19937_64 random(run_seed());
    std::string input = random_input(random);
    EXPECT_TRUE(damaged(again[i], byte_source(input)) ==
                damaged(sound_pools()[i], byte_source(input)));
  }
}

TEST(FuzzSmoke, DamagedPoolsAreRefusedOrUsedAndNeverFatal) {
  std::uint64_t pools = number_from_environment("DURAHASH_FUZZ_POOLS", 4000);
  std::cout << "seed " << run_seed() << ", " << pools
            << " pools (DURAHASH_SEED, DURAHASH_FUZZ_POOLS)\n"
            << std::flush;
  sound_pools();  // no input takes as long as these
  std::mt19937_64 random(run_seed());
  std::uint64_t refused = 0, opened = 0, found = 0;
  for (std::uint64_t i = 0; i < pools; ++i) {
    outcome seen = run(random_input(random));
    ++(seen.opened ? opened : refused);
    found += seen.found_damage;
  }
  std::cout << refused << " refused, " << opened << " opened, damage found by check in " << found
            << '\n';
  EXPECT_GT(refused, pools / 100) << "the damage never reaches what open looks at";
  EXPECT_GT(opened, pools / 100) << "nothing behind open is reached";
  EXPECT_GT(found, pools / 100) << "check finds none of the damage";
}

TEST(FuzzSmoke, ArbitraryBytesAreRefusedWithASentence) {
  std::mt19937_64 random(run_seed() + 1);
  for (std::size_t length : {0, 1, 7, 8, 100, 4095, 4096, 8192, 16384, 16385, 65536, 1 << 20})
    for (int variant = 0; variant < 4; ++variant) {
      std::string bytes(length, static_cast<char>(variant == 1 ? 0xff : 0));
      if (variant >= 2)
        for (char& c : bytes) c = static_cast<char>(random());
      if (variant == 3)
        bytes.replace(0, std::min<std::size_t>(8, length), "DURAHASH",
                      std::min<std::size_t>(8, length));
      for (std::uint8_t how = 0; how < 16; ++how) {
        outcome seen = open_check_bytes(bytes, how);
        EXPECT_FALSE(seen.opened) << length << " bytes, variant " << variant;
        EXPECT_GT(seen.refusal.size(), 20u) << seen.refusal;
      }
    }
}

/// Flips one bit in every place where `text` lies: in the live record, and in what older ones left
/// behind.
int flip_bit_in_each(std::string& bytes, const std::string& text, std::size_t bit) {
  int places = 0;
  for (std::size_t at = bytes.find(text); at != std::string::npos;
       at = bytes.find(text, at + text.size()), ++places)
    bytes[at + bit / 8 % text.size()] ^= static_cast<char>(1 << bit % 8);
  return places;
}

TEST(FuzzSmoke, CheckFindsAFlippedBitInAnyRecord) {
  for (const sound_pool& pool : sound_pools()) {
    // nothing is behind words in slots but the close's digest
    if (pool.value != data_kind::bytes && !pool.clean) continue;
    for (std::uint64_t n = 1; n < sound_records; n += 9) {
      std::string bytes = pool.bytes;
      ASSERT_GT(flip_bit_in_each(bytes, nth_value(pool.value, n), n * 61), 0)
          << pool.name << ", record " << n;
      outcome seen = open_check_bytes(bytes, 0);
      EXPECT_TRUE(!seen.opened || seen.found_damage) << pool.name << ", record " << n;
    }
  }
}

TEST(FuzzSmoke, OneInputAgain) {
  const char* file = std::getenv("DURAHASH_FUZZ_INPUT");
  if (file == nullptr) GTEST_SKIP() << "DURAHASH_FUZZ_INPUT names no input";
  std::ifstream stream(file, std::ios::binary);
  ASSERT_TRUE(stream) << file;
  outcome seen = open_check(std::string{std::istreambuf_iterator<char>(stream), {}});
  std::cout << (seen.opened ? "opened" : "refused: " + seen.refusal) << '\n';
}

}  // namespace
}  // namespace durahash::fuzz
