// What a clean close saves of the heap, damaged: the pool is refused with a sentence, or has all
// its records. Where check finds nothing, what is written next loses none.
#include <gtest/gtest.h>

#include "child.hpp"
#include "damaged_reader.hpp"
#include "random.hpp"
#include "saved_state.hpp"
#include "scratch.hpp"

namespace durahash::test {
namespace {

std::vector<setup> setups_with_a_saved_state() {
  std::vector<setup> made;
  for (engine_kind engine : all_engines())
    made.push_back({engine, place_kind::shm, api_kind::bytes, durability_level::process});
  made.push_back(
      {engine_kind::gphash, place_kind::shm, api_kind::bytes, durability_level::process, 8});
  return made;
}

class SavedState : public testing::TestWithParam<setup> {};
INSTANTIATE_TEST_SUITE_P(Every, SavedState, testing::ValuesIn(setups_with_a_saved_state()),
                         setup_name());

TEST_P(SavedState, WildNumbersInItLoseNoRecord) {
  scratch_folder folder;
  const std::string image = saved_state_pool::image(GetParam());
  write_file(folder.file("image"), image);
  const std::uint64_t seed = stream_seed("saved_state/" + GetParam().name());
  const saved_state_damage damages(image);
  shared_words told(folder.file("told"), damage_told::words);
  int faults = 0;
  for (std::uint64_t first = 0; first < damages.count() && faults < 10;) {
    child_process reader("open_forged_states",
                         {GetParam().name(), folder.file("image"), folder.path().string(),
                          folder.file("told"), std::to_string(seed), std::to_string(first)});
    const std::string fault = fault_of(reader, told);
    if (fault.empty()) break;
    ++faults;
    const std::uint64_t which = told[damage_told::current];
    std::string copy = image;
    ADD_FAILURE() << fault << "; damage " << which << ": " << damages.apply(which, seed, copy)
                  << "; again with --seed " << run_seed();
    first = which + 1;
  }
  auto count = [&](damage_outcome outcome) {
    const std::uint64_t seen = told[damage_told::counts + static_cast<std::size_t>(outcome)];
    return seen;
  };
  RecordProperty("refused", std::to_string(count(damage_outcome::refused)));
  RecordProperty("noticed", std::to_string(count(damage_outcome::noticed)));
  RecordProperty("harmless", std::to_string(count(damage_outcome::harmless)));
  EXPECT_GT(count(damage_outcome::harmless), 10u) << "most are passed over";
  EXPECT_GT(count(damage_outcome::noticed), 0u) << "a forged bit is seen by check";
}

}  // namespace
}  // namespace durahash::test
