// A salvage that is killed: the next one keeps what the first would have kept, and no open in
// between takes the pool for a whole one. The pools have pages of two moments, as a machine that
// went down leaves them.
#include <signal.h>
#include <sys/time.h>

#include <algorithm>
#include <chrono>

#include "base/hash.hpp"
#include "environment.hpp"
#include "store/patched_pool.hpp"

namespace durahash::test {
namespace {

class KilledSalvage : public fault_test {
 protected:
  KilledSalvage() : fault_test(1500, GetParam().api == api_kind::words ? 0 : 200) {}

  /// A file of pages of two moments of one life, as another run of the machine finds it.
  std::string torn_pool(random_stream& random) {
    start_anew();
    std::string early = folder_.file("early"), late = folder_.file("late");
    std::string why = live([&] {
      auto opened = numbered_pool::open(with(), path(), creating());
      if (!opened) complain(opened.failure().message);
      put_records(*opened, 0, known_.keys() * 2 / 3);
      write_file(early, read_file(path()));
      put_records(*opened, known_.keys() / 3, known_.keys());
      for (std::uint64_t n = 0; n < known_.keys(); n += 5)
        require(opened->erase(known_.now(n)) == status::ok, "an erasure is answered ok");
      write_file(late, read_file(path()));
      die();
    });
    EXPECT_EQ(why, "") << "without a fault";
    std::string torn = read_file(late), old = read_file(early);
    std::uint64_t late_share = 1 + random.below(9);  // of ten pages
    for (std::size_t page = 0; page + page_bytes <= std::min(torn.size(), old.size());
         page += page_bytes)
      if (random.below(10) >= late_share) torn.replace(page, page_bytes, old, page, page_bytes);
    return after_reboot(torn, pool_state::changing);
  }

  /// It stays the same file, as after a power cut: a copy would be refused as such.
  void put_back(const std::string& image) const { write_file(path(), image); }

  options salvaging() const {
    options how = reopening(with());
    how.salvage = true;
    return how;
  }

  // In a life:

  /// The digests of the values of all keys; 0: there is none.
  using contents = std::uint64_t*;
  contents room_for_contents() const {
    return static_cast<contents>(shared_memory(known_.keys() * sizeof(std::uint64_t)));
  }
  void note(numbered_pool& pool, contents at) const {
    for (std::uint64_t n = 0; n < known_.keys(); ++n) {
      step("reads each record", n);
      std::string found;
      std::uint64_t word = 0;
      status answer = pool.get(known_.of(n, 1), found, word);
      if (answer != status::ok && answer != status::not_found)
        complain("a get in a salvaged pool answers: " + std::string(message(answer)));
      at[n] = answer != status::ok
                  ? 0
                  : (found.empty() ? word : checksum(found.data(), found.size())) | 1;
    }
  }
  /// `and_more`: records beside those are no fault. Returns   what is there.
  std::vector<std::uint64_t> must_hold(numbered_pool& pool, const std::uint64_t* kept,
                                       const char* when, bool and_more = false) const {
    std::vector<std::uint64_t> now(known_.keys());
    note(pool, now.data());
    std::uint64_t lost = 0, changed = 0, more = 0;
    for (std::uint64_t n = 0; n < known_.keys(); ++n) {
      lost += kept[n] != 0 && now[n] == 0;
      changed += kept[n] != 0 && now[n] != 0 && kept[n] != now[n];
      more += kept[n] == 0 && now[n] != 0;
    }
    if (lost + changed + (and_more ? 0 : more) != 0)
      complain(std::string(when) + ", of what a salvage keeps that nobody kills: " +
               std::to_string(lost) + " records are lost, " + std::to_string(changed) +
               " have another value, " + std::to_string(more) + " are there beside them");
    check_report report = pool.pool().check();
    if (!report.ok) complain(std::string(when) + ", check: " + report.violations.front());
    return now;
  }

  /// Opens and closes with salvage.
  void salvage() {
    numbered_pool pool = open_or_report(with(), path(), salvaging());
    step("closes what was salvaged");
    require(pool.pool().close() == status::ok, "a close behind a salvage is answered ok");
  }

  /// What a salvage that nobody kills keeps.
  void salvage_undisturbed(const std::string& image, contents kept) {
    put_back(image);
    must_end_well([&] {
      numbered_pool pool = open_or_report(with(), path(), salvaging());
      require(!pool.pool().salvage_report().empty(), "a salvage says what it did");
      note(pool, kept);
      must_hold(pool, kept, "behind a salvage");
      die();
    });
  }
  std::uint64_t count_of(const std::uint64_t* kept) const {
    return known_.keys() - static_cast<std::uint64_t>(std::count(kept, kept + known_.keys(), 0u));
  }
  /// Its calls, and how long it takes.
  void measure(const std::string& image, std::uint64_t& microseconds) {
    put_back(image);
    auto began = std::chrono::steady_clock::now();
    must_end_well([&] {
      arm({.nth = 0});
      salvage();
      report_calls();
      die();
    });
    microseconds = static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(
                                                  std::chrono::steady_clock::now() - began)
                                                  .count());
  }

  /// What the kill left: refused, or whole.
  void go_on(const std::uint64_t* kept) {
    step("opens behind a killed salvage");
    std::vector<std::uint64_t> now_kept;
    {
      auto opened = numbered_pool::open(with(), path(), reopening(with()));
      if (opened) {
        must_hold(*opened, kept, "a plain open behind a killed salvage");
      } else if (opened.failure().message.find("check --salvage") == std::string::npos) {
        complain("the refusal names no way out: " + opened.failure().message);
      }
    }
    {
      numbered_pool pool = open_or_report(with(), path(), salvaging());
      // Of two records that claim the same bytes the first salvage may have dropped one already.
      now_kept = must_hold(pool, kept, "behind the next salvage", true);
      constexpr std::uint64_t others = 1000, first = record::first_counter - others;
      for (std::uint64_t n = first; n < first + others; ++n) {
        step("writes new records", n);
        require(pool.put(known_.of(n, 1)) == status::ok, "a put behind a salvage is answered ok");
      }
      must_hold(pool, now_kept.data(), "behind later writes");
      require(pool.pool().close() == status::ok, "a close behind a salvage is answered ok");
    }
    numbered_pool pool = open_or_report(with(), path(), reopening(with()));
    require(pool.pool().info().clean, "a salvaged pool that was closed is clean");
    must_hold(pool, now_kept.data(), "behind the close");
  }

  /// Kills by that plan, or where the plan kills nobody, by the clock.
  void kill_and_go_on(const std::string& image, const std::uint64_t* kept, const fault_plan& plan,
                      std::uint64_t after_microseconds) {
    put_back(image);
    std::string why = live([&] {
      if (after_microseconds != 0) {
        itimerval clock{};
        clock.it_value.tv_usec = static_cast<suseconds_t>(after_microseconds);
        ::setitimer(ITIMER_REAL, &clock, nullptr);
      }
      arm(plan);
      salvage();
    });
    bool killed = why.find("it ended by: ") == 0;
    ASSERT_TRUE(killed || why.empty()) << why;
    if (killed) ++injected_, ++kills_;
    std::string next = live([&] { go_on(kept); });
    ASSERT_EQ(next, "") << (why.empty() ? "it was not killed" : why);
  }

  std::uint64_t kills_ = 0;
};
INSTANTIATE_TEST_SUITE_P(Every, KilledSalvage, testing::ValuesIn(setups_at(place_kind::disk)),
                         setup_name());

TEST_P(KilledSalvage, AtAnyCallOrMomentIsMadeGoodByTheNextOne) {
  random_stream random(seed());
  SCOPED_TRACE("seed " + std::to_string(run_seed()));
  contents kept = room_for_contents();
  std::string image;
  // Some tears take nearly everything: a directory of the early moment names what is no longer its.
  for (int tries = 0; tries < 20 && count_of(kept) < 100; ++tries) {
    image = torn_pool(random);
    ASSERT_NO_FATAL_FAILURE(salvage_undisturbed(image, kept));
  }
  ASSERT_GE(count_of(kept), 100u) << "the salvage keeps next to nothing: the test shows nothing";
  std::uint64_t microseconds = 0;
  ASSERT_NO_FATAL_FAILURE(measure(image, microseconds));

  call_counts seen = calls_of_last_life();
  for (call which : {call::msync, call::posix_fallocate, call::fallocate, call::mmap, call::munmap,
                     call::ftruncate, call::flock, call::fsetxattr, call::allocation}) {
    std::uint64_t count = seen[static_cast<std::size_t>(which)], most = long_run() ? 1000 : 5;
    for (std::uint64_t nth = 1; nth <= count;
         nth += count <= most ? 1 : 1 + random.below(2 * (count / most))) {
      fault_plan plan{.which = which, .nth = nth, .kills = true};
      SCOPED_TRACE(plan.name());
      ASSERT_NO_FATAL_FAILURE(kill_and_go_on(image, kept, plan, 0));
    }
  }
  for (int round = 0; round < (long_run() ? 200 : 8); ++round) {
    std::uint64_t after = 1 + random.below(microseconds);
    SCOPED_TRACE("killed after " + std::to_string(after) + " microseconds");
    ASSERT_NO_FATAL_FAILURE(kill_and_go_on(image, kept, {.nth = 0}, after));
  }
  std::fprintf(stderr, "%s: %llu salvages killed\n", with().name().c_str(),
               static_cast<unsigned long long>(kills_));
}

}  // namespace
}  // namespace durahash::test
