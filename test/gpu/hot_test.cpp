// Writes of one key that lie beside one another in a batch: a warp does them as one, and each has
// its answer, as if they had come one after another.
#include "test/gpu/map_rig.hpp"

namespace durahash::test {
namespace {

using enum status;

TEST_P(GpuMap, WritesOfOneKeyBesideOneAnotherComeInTheirOrder) {
  auto made = open();
  ASSERT_TRUE(made) << made.failure().message;
  const std::vector<std::uint64_t> hot = {5, 5, 7, 5, 9, 7, 5, 5};
  device_words keys(*device, hot), values(*device, hot.size());
  shared_answers answers(*device, hot.size());
  make_room(*made, keys);
  auto expect = [&](const char* what, status asked, std::vector<status> wanted,
                    const model& there) {
    ASSERT_EQ(asked, ok) << what;
    ASSERT_EQ(made->commit(), ok) << what;
    EXPECT_EQ(std::vector<status>(answers.begin(), answers.end()), wanted) << what;
    EXPECT_EQ(made->size(), there.size()) << what;
    if (!there.empty()) expect_found(*made, there);
  };
  auto next = [&, first = std::uint64_t{0}]() mutable {
    first += 100;
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = first + i;
  };
  const std::size_t n = hot.size();
  const std::vector<status> of_the_first = {ok, exists, ok, exists, ok, exists, exists, exists},
                            erased = {ok, not_found, ok,        not_found,
                                      ok, not_found, not_found, not_found},
                            all(n, ok), none(n, not_found), present(n, exists);
  next();
  expect("update of none", made->update_async(n, keys.data(), values.data(), answers.data()), none,
         {});
  expect("insert", made->insert_async(n, keys.data(), values.data(), answers.data()), of_the_first,
         {{5, 100}, {7, 102}, {9, 104}});
  next();
  expect("insert again", made->insert_async(n, keys.data(), values.data(), answers.data()), present,
         {{5, 100}, {7, 102}, {9, 104}});
  expect("put", made->put_async(n, keys.data(), values.data(), answers.data()), all,
         {{5, 207}, {7, 205}, {9, 204}});
  next();
  expect("update", made->update_async(n, keys.data(), values.data(), answers.data()), all,
         {{5, 307}, {7, 305}, {9, 304}});
  next();
  expect("find_or_insert",
         made->find_or_insert_async(n, keys.data(), values.data(), answers.data()), present,
         {{5, 307}, {7, 305}, {9, 304}});
  EXPECT_EQ(std::vector<std::uint64_t>(values.begin(), values.end()),
            (std::vector<std::uint64_t>{307, 307, 305, 307, 304, 305, 307, 307}));
  expect("erase", made->erase_async(n, keys.data(), answers.data()), erased, {});
  expect("erase again", made->erase_async(n, keys.data(), answers.data()), none, {});
  next();
  expect("find_or_insert of new ones",
         made->find_or_insert_async(n, keys.data(), values.data(), answers.data()), of_the_first,
         {{5, 500}, {7, 502}, {9, 504}});
  EXPECT_EQ(std::vector<std::uint64_t>(values.begin(), values.end()),
            (std::vector<std::uint64_t>{500, 500, 502, 500, 504, 502, 500, 500}));
  for (std::size_t i = 0; i < n; ++i) values[i] = std::uint64_t{1} << i;
  expect("add", made->add_async(n, keys.data(), values.data(), answers.data()), all,
         {{5, 500 + 1 + 2 + 8 + 64 + 128}, {7, 502 + 4 + 32}, {9, 504 + 16}});
}

/// Where there is no room, there is none for any of them, and each is done again.
TEST_P(GpuMap, WritesOfOneKeyThatFindNoRoomAreAllDoneAgain) {
  auto made = open();
  ASSERT_TRUE(made) << made.failure().message;
  constexpr std::size_t n = 3000, each = 3;
  device_words keys(*device, n), values(*device, n);
  shared_answers answers(*device, n);
  model wanted;
  for (std::size_t i = 0; i < n; ++i) {
    keys[i] = i / each, values[i] = i;
    wanted[keys[i]] += values[i];
  }
  ASSERT_EQ(made->add_async(n, keys.data(), values.data(), answers.data()), ok);
  ASSERT_EQ(made->commit(), ok);
  model found;
  for (std::size_t i = 0; i < n; ++i) {
    ASSERT_TRUE(answers[i] == ok || answers[i] == no_space);
    if (answers[i] == ok) found[keys[i]] += values[i];
  }
  expect_found(*made, found);
  ASSERT_EQ(made->clear(), ok);
  ASSERT_EQ(made->add(n, keys.data(), values.data(), answers.data()), ok);
  for (status answer : answers) ASSERT_EQ(answer, ok);
  expect_found(*made, wanted);
  EXPECT_EQ(made->size(), wanted.size());
}

}  // namespace
}  // namespace durahash::test
