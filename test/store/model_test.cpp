// Random operations against std::unordered_map, over every engine, medium and kind. A failure
// prints the seed that replays it and the shortest list of operations that was found to show it.
#include <gtest/gtest.h>

#include "model_run.hpp"
#include "random.hpp"

namespace durahash::test {
namespace {

class Model : public testing::TestWithParam<setup> {
 protected:
  void agrees(std::string_view name, std::size_t count, const operation_mix& mix) {
    std::uint64_t seed = stream_seed(GetParam().name() + "/" + std::string(name));
    std::vector<operation> list = random_operations(seed, count, mix);
    std::optional<std::string> why = disagreement(GetParam(), list, mix.key_range);
    if (!why) return;
    std::vector<operation> shorter = shortened(GetParam(), list, mix.key_range, 20);
    std::string text;
    for (std::size_t i = 0; i < shorter.size() && i < 40; ++i)
      text += "  " + to_string(shorter[i]) + "\n";
    FAIL() << *why << "\nagain with --seed " << run_seed() << "; " << shorter.size() << " of "
           << list.size() << " operations still show it:\n"
           << text;
  }
};
INSTANTIATE_TEST_SUITE_P(Every, Model, testing::ValuesIn(tried_setups()), setup_name());

TEST_P(Model, AgreesOnAHandfulOfKeys) {
  agrees("handful", 3000, {.key_range = 8, .structural = 30});
}

TEST_P(Model, AgreesOnHundredsOfKeys) {
  agrees("hundreds", 6000, {.key_range = 300, .structural = 100});
}

class LongModel : public Model {};
INSTANTIATE_TEST_SUITE_P(Every, LongModel, testing::ValuesIn(setups_for_long_tests()),
                         setup_name());

TEST_P(LongModel, AgreesOnManyKeysWhileTheTableGrowsAndShrinks) {
  agrees("many", 10'000, {.key_range = 30'000, .structural = 500});
}

}  // namespace
}  // namespace durahash::test
