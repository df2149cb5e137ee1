// Small programs in which one flush, fence or order is left out: the images that come in addition
// are known by hand.
#include "explorer/machine.hpp"

namespace durahash::crash {
namespace {

/// The program in which one effect of its last publication is missing.
template <class Program>
outcomes without(elision::what kind, Program program) {
  recorded_machine whole;
  program(whole);
  elision left_out{kind, whole.sources()[whole.events().back().where].text()};
  for (const event& e : whole.events())
    if (kind == elision::what::order && e.kind == event::what::store &&
        whole.sources()[e.where].commits())
      left_out.place = whole.sources()[e.where].text();
  recorded_machine lame(&left_out);
  return program(lame);
}

outcomes one_line_trick(recorded_machine& on) {
  word &a = on.at(2, 3), &b = on.at(2, 4);
  store(on.medium(), a, 5);
  (void)publish_unfenced(on.medium(), b, 1, after_same_line(&b, &a, sizeof a));
  return on.of({&a, &b});
}

TEST(CrashElision, WithoutTheOrderACommitComesBeforeItsPayload) {
  recorded_machine whole;
  EXPECT_EQ(one_line_trick(whole), (outcomes{{0, 0}, {5, 0}, {5, 1}}));
  EXPECT_EQ(without(elision::what::order, one_line_trick),
            (outcomes{{0, 0}, {5, 0}, {5, 1}, {0, 1}}));
}

/// As much as a line of records has: more stores than one would look at every part of.
outcomes long_one_line_trick(recorded_machine& on) {
  word &first = on.at(2, 0), &commit = on.at(2, 7);
  for (std::uint64_t n = 1; n <= 40; ++n) store(on.medium(), on.at(2, n % 7), n);
  (void)publish_unfenced(on.medium(), commit, 1, after_same_line(&commit, &first, 56));
  outcomes made;
  cache_model model = on.model();
  std::mt19937_64 random(1);
  images_of(model, {}, random, [&](const image& chosen) {
    image_bytes now = content_of(model, chosen);
    std::uint64_t values[2];
    std::memcpy(values, &now[2 * line_bytes], 8);
    std::memcpy(values + 1, &now[2 * line_bytes + 56], 8);
    made.insert({values[0], values[1]});
    return true;
  });
  return made;
}

TEST(CrashElision, WithoutTheOrderACommitAloneIsAmongTheChosenImagesOfALongLine) {
  EXPECT_TRUE(without(elision::what::order, long_one_line_trick).contains({0, 1}));
}

outcomes payload_and_commit(recorded_machine& on) {
  word &x = on.at(0, 0), &y = on.at(1, 0);
  store(on.medium(), y, 5);
  durable payload = persist(on.medium(), extent_of(y));
  (void)publish(on.medium(), x, 1, after(std::move(payload)));
  return on.of({&y, &x});
}

TEST(CrashElision, WithoutTheFenceAPublicationMayBeLost) {
  recorded_machine whole;
  EXPECT_EQ(payload_and_commit(whole), (outcomes{{5, 1}}));
  EXPECT_EQ(without(elision::what::fence, payload_and_commit), (outcomes{{5, 0}, {5, 1}}));
}

TEST(CrashElision, OnlyTheNamedPlaceIsLeftOut) {
  elision elsewhere{elision::what::fence, "nowhere.at.all"};
  recorded_machine on(&elsewhere);
  EXPECT_EQ(payload_and_commit(on), (outcomes{{5, 1}}));
}

outcomes flush_then_fence(recorded_machine& on) {
  word& x = on.at(0, 0);
  store(on.medium(), x, 1);
  flushed f = flush(on.medium(), extent_of(x));
  cache_model before = on.model();
  EXPECT_EQ(all_images(before).size(), 2u);
  (void)fence(on.medium(), std::move(f));
  return on.of({&x});
}

TEST(CrashElision, WithoutTheFlushAFenceBindsNothing) {
  recorded_machine whole;
  EXPECT_EQ(flush_then_fence(whole), (outcomes{{1}}));
  std::string place;
  for (const event& e : whole.events())
    if (e.kind == event::what::flush) place = whole.sources()[e.where].text();
  elision left_out{elision::what::flush, place};
  recorded_machine lame(&left_out);
  EXPECT_EQ(flush_then_fence(lame), (outcomes{{0}, {1}}));
}

}  // namespace
}  // namespace durahash::crash
