// What a follower knows of a log's lines: beside a map that is told the same.
#include "disk/log_tail.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "store/random.hpp"

namespace durahash::test {
namespace {

constexpr std::uint64_t pages = 512, lines = pages * log_tail::lines_per_page;

struct told {
  std::uint64_t place;
  log_tail::line words;
};

class LogTail : public testing::Test {
 protected:
  random_stream draw_{stream_seed("LogTail")};
  log_tail tail_;
  std::map<std::uint64_t, told> model_;

  void take(std::uint64_t place) {
    log_entry e{};
    e.head = draw_.below(lines);
    for (std::uint64_t& word : e.line) word = draw_.next();
    tail_.take(place, e, place + 1, [](auto, const auto&) {});
    told& last = model_[e.number()];
    if (place >= last.place) last = {place, e.line};
  }

  void forget_before(std::uint64_t place) {
    tail_.forget_before(place);
    std::erase_if(model_, [&](const auto& l) { return l.second.place < place; });
  }

  void expect_pages() const {
    for (std::uint64_t page = 0; page < pages; ++page) {
      alignas(8) std::byte put[page_bytes]{}, wanted[page_bytes]{};
      tail_.put_onto(page, put);
      for (auto l = model_.lower_bound(page * log_tail::lines_per_page);
           l != model_.end() && l->first < (page + 1) * log_tail::lines_per_page; ++l)
        std::memcpy(wanted + l->first % log_tail::lines_per_page * line_bytes,
                    l->second.words.data(), line_bytes);
      ASSERT_EQ(std::memcmp(put, wanted, page_bytes), 0) << "page " << page;
    }
  }
};

TEST_F(LogTail, KnowsOfEachLineWhatItsLatestPlaceSays) {
  std::uint64_t first = 1, forgotten = 0;
  for (int round = 0; round < 20; ++round) {
    const std::uint64_t count = 1 + draw_.below(20'000);
    // some come late, as a place does that was not sealed at first
    for (std::uint64_t n = 0; n < count; ++n) take(first + (n ^ draw_.below(4)));
    first += count + 4;
    expect_pages();
    forgotten += draw_.below(first - forgotten);
    forget_before(forgotten);
    expect_pages();
  }
  tail_.clear(), model_.clear();
  expect_pages();
}

}  // namespace
}  // namespace durahash::test
