// Pools with damaged bytes: each is refused with a sentence, or works without a crash; and where
// records come out wrong, check notices.
#include <gtest/gtest.h>

#include "child.hpp"
#include "damage.hpp"
#include "damaged_reader.hpp"
#include "random.hpp"
#include "scratch.hpp"
#include "subject.hpp"

namespace durahash::test {
namespace {

constexpr std::uint64_t records_at_first = 400;

std::vector<setup> damaged_setups() {
  return setups_where([](const setup& s) {
    return s.place == place_kind::shm && s.durability == durability_level::process;
  });
}

class DamagedPool : public testing::TestWithParam<setup> {
 protected:
  void SetUp() override {
    image_ = pool_image(GetParam(), records_at_first);
    write_file(folder_.file("image"), image_);
    seed_ = stream_seed("damage/" + GetParam().name());
  }

  /// Every damage, in as many processes as it takes.
  void try_all(const char* mode) {
    damage damages(image_);
    shared_words told(folder_.file("told"), damage_told::words);
    int faults = 0;
    for (std::uint64_t first = 0; first < damages.count() && faults < 10;) {
      child_process reader(
          "open_damaged_pools",
          {GetParam().name(), folder_.file("image"), folder_.path().string(), folder_.file("told"),
           std::to_string(seed_), std::to_string(first), std::to_string(records_at_first), mode});
      std::string fault = fault_of(reader, told);
      if (fault.empty()) break;
      ++faults;
      std::uint64_t which = told[damage_told::current];
      std::string copy = image_;
      ADD_FAILURE() << fault << "; damage " << which << ": " << damages.apply(which, seed_, copy)
                    << "; again with --seed " << run_seed();
      first = which + 1;
    }
    RecordProperty("refused", std::to_string(count(told, damage_outcome::refused)));
    RecordProperty("noticed", std::to_string(count(told, damage_outcome::noticed)));
    RecordProperty("harmless", std::to_string(count(told, damage_outcome::harmless)));
    if (long_run()) {  // a small sample may hit nothing that open or check sees
      EXPECT_GT(count(told, damage_outcome::refused), 0u);
      EXPECT_GT(count(told, damage_outcome::noticed), 0u);
    }
  }

 private:
  static std::uint64_t count(shared_words& told, damage_outcome outcome) {
    return told[damage_told::counts + static_cast<std::size_t>(outcome)];
  }

  scratch_folder folder_;
  std::string image_;
  std::uint64_t seed_ = 0;
};
INSTANTIATE_TEST_SUITE_P(Every, DamagedPool, testing::ValuesIn(damaged_setups()), setup_name());

TEST_P(DamagedPool, IsRefusedOrReadWithoutACrash) { try_all("read"); }

TEST_P(DamagedPool, IsRefusedOrWrittenWithoutACrash) { try_all("write"); }

/// Words have no checksums. A close tells what they were, also where a sync left nothing to write.
TEST_P(DamagedPool, AChangedValueOfAClosedPoolIsFound) {
  setup with = GetParam();
  if (with.key() != data_kind::u64 || with.value() != data_kind::u64) return;
  for (bool synced : {false, true}) {
    scratch_folder folder;
    std::string path = folder.file("pool");
    {
      auto made = open_subject(with, path, with.create_options());
      ASSERT_TRUE(made) << made.failure().message;
      for (std::uint64_t n = 0; n < records_at_first; ++n)
        ASSERT_EQ((*made)->put(nth_key(with, n), image_value(with, n)), status::ok);
      ASSERT_EQ(synced ? (*made)->pool().sync() : status::ok, status::ok);
      ASSERT_EQ((*made)->pool().close(), status::ok);
    }
    std::string image = read_file(path);
    int places = 0;  // where a smaller table was, too
    for (std::size_t at = 0; (at = image.find(image_value(with, 7), at)) != std::string::npos;
         ++places)
      image[at] = static_cast<char>(image[at] ^ 1);
    ASSERT_GT(places, 0);
    write_file(path, image);
    options plain;
    plain.medium = with.medium();
    auto opened = open_subject(with, path, plain);
    ASSERT_TRUE(opened) << opened.failure().message;
    EXPECT_FALSE((*opened)->pool().check().ok) << (synced ? "after a sync" : "");
    ASSERT_EQ((*opened)->pool().close(), status::ok);
  }
}

}  // namespace
}  // namespace durahash::test
