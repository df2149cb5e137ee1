// A handle belongs to the process that opened it. Children of every kind are made beside writers:
// servers that fork before they serve, a language's process pools, snapshots. The parent is killed
// at the end, for what a child did to its pool shows at the next open.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "test/store/patched_pool.hpp"
#include "world.hpp"

namespace durahash::test {
namespace {

constexpr std::uint64_t before_fork = 1000,
                        after_fork =
                            4000;  // records [0, before_fork), then [before_fork, after_fork)

void require_forked(status answer, const std::string& what) {
  require(answer == status::forked,
          "in a child " + what + " answers forked; it answers: " + std::string(message(answer)));
}

/// In a child, with a handle that its parent opened.
void require_every_operation_forked(subject& pool, const setup& with) {
  std::string there = nth_key(with, 1), absent = nth_key(with, 1'000'000),
              other = nth_value(with, 77), eight = word_bytes(77), value;
  std::uint64_t previous = 0;
  for (const std::string& key : {there, absent}) {
    require_forked(pool.put(key, other), "put");
    require_forked(pool.insert(key, other), "insert");
    require_forked(pool.update(key, other), "update");
    require_forked(pool.get(key, value), "get");
    require(!pool.get(key), "in a child get gives nothing");
    require(!pool.contains(key), "in a child a table contains nothing");
    require_forked(pool.compare_and_set(key, nth_value(with, 1), other), "compare_and_set");
    require_forked(pool.fetch_add(key, 5, previous), "fetch_add");
    require_forked(pool.update_with(key, [&](std::string_view) { return other; }), "update_with");
    require_forked(pool.erase(key), "erase");
    require_forked(pool.take(key, value), "take");
  }
  strings keys = {there, absent}, values = {other, other}, found(2);
  for (status answer : pool.get_many(keys, found)) require_forked(answer, "get_many");
  for (status answer : pool.put_many(keys, values)) require_forked(answer, "put_many");
  for (status answer : pool.erase_many(keys)) require_forked(answer, "erase_many");
  cursor at;
  bool visited = false;
  require_forked(pool.scan(at, 100, [&](std::string_view, std::string_view) { visited = true; }),
                 "scan");
  require(!visited, "in a child a scan visits nothing");
  require_forked(pool.pool().reserve(100'000), "reserve");
  require_forked(pool.pool().compact(), "compact");
  require_forked(pool.pool().sync(), "sync");
  require(pool.pool().size() == 0, "in a child size is 0");
  require(!pool.pool().check().ok, "in a child check is not ok");
  (void)pool.pool().info();
  (void)pool.pool().stats();
  (void)pool.pool().kinds();
  (void)pool.pool().salvage_report();
  require_forked(pool.pool().close(), "close");
}

/// A pool with records [0, before_fork), as its maker holds it.
std::unique_ptr<subject> parents_pool(const setup& with, const std::string& path) {
  auto pool = make_or_end(with, path);
  put_records(*pool, with, 0, before_fork);
  return pool;
}

/// What the parent does after its children are gone; it dies with the pool open.
[[noreturn]] void go_on_and_die(subject& pool, const setup& with, const std::string& path) {
  if (with.place != place_kind::logged)  // its file is that of its last checkpoint
    require(state_in_file(path) == pool_state::changing, "no child marked the pool clean");
  require_records(pool, with, 0, before_fork, "after the children");
  put_records(pool, with, before_fork, after_fork);
  require_records(pool, with, 0, after_fork, "before the parent dies");
  require_sound(pool, "before the parent dies");
  die();
}

class Fork : public testing::TestWithParam<setup> {
 protected:
  std::string path() const { return folder_.file("pool"); }

  void parent_dies_in(const std::string& role) {
    play_until_death(role, {GetParam().name(), folder_.path().string()});
  }
  void parent_ends_well_in(const std::string& role) {
    play(role, {GetParam().name(), folder_.path().string()});
  }

  /// Nothing that the parent was told is done is gone, and nobody marked its pool clean.
  void expect_all_there(std::uint64_t records = after_fork) {
    if (IsSkipped()) return;
    auto opened = open_subject(GetParam(), path(), plain_options(GetParam()));
    ASSERT_TRUE(opened) << opened.failure().message;
    EXPECT_FALSE((*opened)->pool().info().clean)
        << "somebody marked the pool of a killed process clean";
    std::uint64_t lost = 0;
    for (std::uint64_t n = 0; n < records; ++n)
      lost += (*opened)->get(nth_key(GetParam(), n)) != nth_value(GetParam(), n);
    EXPECT_EQ(lost, 0u) << "acknowledged records are gone";
    EXPECT_EQ((*opened)->pool().size(), records);
    expect_sound(**opened);
    for (std::uint64_t n = records; n < 2 * records; ++n)
      ASSERT_EQ((*opened)->put(nth_key(GetParam(), n), nth_value(GetParam(), n)), status::ok);
    for (std::uint64_t n = 0; n < 2 * records; ++n)
      lost += (*opened)->get(nth_key(GetParam(), n)) != nth_value(GetParam(), n);
    EXPECT_EQ(lost, 0u) << "later puts overwrote acknowledged records";
    expect_sound(**opened);
  }

  scratch_folder folder_{GetParam().folder()};
};
INSTANTIATE_TEST_SUITE_P(Every, Fork, testing::ValuesIn(world_and_logged_setups()), setup_name());

// -------------------------------------------------------------------------------------------------
// what a child may do with a handle

int child_tries_everything(const child_arguments& arguments) {
  place at(arguments);
  auto pool = parents_pool(at.with, at.file("pool"));
  in_forked_child("a child that tries everything", [&] {
    require_every_operation_forked(*pool, at.with);
    pool.reset();
  });
  go_on_and_die(*pool, at.with, at.file("pool"));
}
TEST_P(Fork, EveryOperationOfAnInheritedHandleAnswersForkedAndHarmsNothing) {
  ASSERT_NO_FATAL_FAILURE(parent_dies_in("child_tries_everything"));
  expect_all_there();
}

int child_destroys_its_copy(const child_arguments& arguments) {
  place at(arguments);
  auto pool = parents_pool(at.with, at.file("pool"));
  in_forked_child("a child that destroys its handle", [&] { pool.reset(); });
  go_on_and_die(*pool, at.with, at.file("pool"));
}
TEST_P(Fork, TheDestructorInAChildTouchesNothing) {
  ASSERT_NO_FATAL_FAILURE(parent_dies_in("child_destroys_its_copy"));
  expect_all_there();
}

int child_closes_its_copy(const child_arguments& arguments) {
  place at(arguments);
  auto pool = parents_pool(at.with, at.file("pool"));
  in_forked_child("a child that closes its handle", [&] {
    require_forked(pool->pool().close(), "close");
    require(pool->put(nth_key(at.with, 1), nth_value(at.with, 2)) != status::ok,
            "a closed handle takes nothing");
    pool.reset();
  });
  go_on_and_die(*pool, at.with, at.file("pool"));
}
TEST_P(Fork, CloseInAChildAnswersForkedAndTouchesNothing) {
  ASSERT_NO_FATAL_FAILURE(parent_dies_in("child_closes_its_copy"));
  expect_all_there();
}

int child_writes(const child_arguments& arguments) {
  place at(arguments);
  auto pool = parents_pool(at.with, at.file("pool"));
  in_forked_child("a child that writes without looking at answers", [&] {
    for (std::uint64_t n = 0; n < 2 * after_fork; ++n)
      (void)pool->put(nth_key(at.with, n), nth_value(at.with, n + 1));
    pool.reset();
  });
  go_on_and_die(*pool, at.with, at.file("pool"));
}
TEST_P(Fork, AChildThatWritesChangesNothing) {
  ASSERT_NO_FATAL_FAILURE(parent_dies_in("child_writes"));
  expect_all_there();
}

std::unique_ptr<subject> pool_of_static_life;  // exit() destroys it

int children_exit(const child_arguments& arguments) {
  place at(arguments);
  pool_of_static_life = parents_pool(at.with, at.file("pool"));
  in_forked_child("a child that calls _exit", [] { ::_exit(passed); });
  in_forked_child("a child that calls exit, which destroys its handle", [] { std::exit(passed); });
  in_forked_child("a child that calls exit after a write", [&] {
    (void)pool_of_static_life->put(nth_key(at.with, 3), nth_value(at.with, 4));
    std::exit(passed);
  });
  go_on_and_die(*pool_of_static_life, at.with, at.file("pool"));
}
TEST_P(Fork, AChildMayEndByExitAndByUnderscoreExit) {
  ASSERT_NO_FATAL_FAILURE(parent_dies_in("children_exit"));
  expect_all_there();
}

int grandchild_tries(const child_arguments& arguments) {
  place at(arguments);
  auto pool = parents_pool(at.with, at.file("pool"));
  in_forked_child("a child with a child", [&] {
    in_forked_child("a grandchild", [&] {
      require_every_operation_forked(*pool, at.with);
      pool.reset();
    });
    require_forked(pool->put(nth_key(at.with, 1), nth_value(at.with, 2)), "put");
    pool.reset();
  });
  go_on_and_die(*pool, at.with, at.file("pool"));
}
TEST_P(Fork, AGrandchildIsAChildToo) {
  ASSERT_NO_FATAL_FAILURE(parent_dies_in("grandchild_tries"));
  expect_all_there();
}

// -------------------------------------------------------------------------------------------------
// beside threads of the parent

/// Four processes forked at once that each do what they like, as servers do; the parent serves,
/// too.
int prefork(const child_arguments& arguments) {
  place at(arguments);
  auto pool = parents_pool(at.with, at.file("pool"));
  std::vector<pid_t> children;
  for (int n = 0; n < 4; ++n)
    children.push_back(fork_child([&] {
      for (int round = 0; round < 3; ++round) {
        std::string value;
        require_forked(pool->put(nth_key(at.with, 1), nth_value(at.with, 2)), "put");
        require_forked(pool->get(nth_key(at.with, 1), value), "get");
        require_forked(pool->pool().sync(), "sync");
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
      }
      require_every_operation_forked(*pool, at.with);
      pool.reset();
    }));
  put_records(*pool, at.with, before_fork, after_fork);
  for (pid_t child : children) require_good_end(child, "one of four children");
  go_on_and_die(*pool, at.with, at.file("pool"));
}
TEST_P(Fork, FourChildrenForkedBeforeTheServiceHarmNothing) {
  ASSERT_NO_FATAL_FAILURE(parent_dies_in("prefork"));
  expect_all_there();
}

/// Forks from one thread while others are inside put, growth ahead and reclaiming behind them.
int fork_beside_writers(const child_arguments& arguments) {
  place at(arguments);
  auto pool = parents_pool(at.with, at.file("pool"));
  std::atomic<bool> over{false};
  std::vector<std::thread> writers;
  for (std::uint64_t t = 0; t < 2; ++t)
    writers.emplace_back([&, t] {
      for (std::uint64_t n = before_fork + t; n < after_fork; n += 2) {
        require_ok(pool->put(nth_key(at.with, n), nth_value(at.with, n)), "put beside a fork");
        // Large values come and go, so that the file grows and the reclaimer works.
        std::uint64_t large = 100'000 + n % 500;
        require_ok(pool->put(nth_key(at.with, large), long_value(at.with, n, 20'000)),
                   "put of a large value beside a fork");
      }
      while (!over) {
        for (std::uint64_t n = t; n < before_fork; n += 2)
          require_ok(pool->put(nth_key(at.with, n), nth_value(at.with, n)), "put beside a fork");
      }
    });
  for (int n = 0; n < 12; ++n)
    in_forked_child("a child forked beside writers", [&] {
      require_every_operation_forked(*pool, at.with);
      pool.reset();
    });
  over = true;
  for (std::thread& writer : writers) writer.join();
  for (std::uint64_t n = 0; n < 500; ++n) (void)pool->erase(nth_key(at.with, 100'000 + n));
  require_records(*pool, at.with, 0, after_fork, "beside forks");
  require_sound(*pool, "beside forks");
  die();
}
TEST_P(Fork, BesideThreadsInsidePutHangsNobodyAndLosesNothing) {
  ASSERT_NO_FATAL_FAILURE(parent_dies_in("fork_beside_writers"));
  expect_all_there();
}

/// A thread that is gone in the child was in a scan: nothing may wait for it there.
int fork_beside_a_reader(const child_arguments& arguments) {
  place at(arguments);
  auto pool = parents_pool(at.with, at.file("pool"));
  std::atomic<bool> parked{false}, over{false};
  std::thread reader([&] {
    cursor from;
    (void)pool->scan(from, 10, [&](std::string_view, std::string_view) {
      parked = true;
      while (!over) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
  });
  require(wait_until([&] { return parked.load(); }), "the reader gets a record");
  in_forked_child("a child of a process that reads, with a pool of its own", [&] {
    auto own = make_or_end(at.with, at.file("own"));
    for (std::uint64_t round = 0; round < 5; ++round)
      for (std::uint64_t n = 0; n < 1000; ++n)
        require_ok(own->put(nth_key(at.with, n), nth_value(at.with, n + round)),
                   "put into the own pool");
    require_ok(own->pool().compact(), "compact of the own pool");
    require_sound(*own, "in the child's own pool");
    require_ok(own->pool().close(), "close of the own pool");
    pool.reset();
  });
  over = true;
  reader.join();
  go_on_and_die(*pool, at.with, at.file("pool"));
}
TEST_P(Fork, AThreadThatReadWhileForkedIsWaitedForByNobody) {
  ASSERT_NO_FATAL_FAILURE(parent_dies_in("fork_beside_a_reader"));
  expect_all_there();
}

int fork_beside_the_recount(const child_arguments& arguments) {
  place at(arguments);
  auto pool =
      open_or_end(at.with, at.file("pool"));  // killed before: counted in the background now
  in_forked_child("a child forked during the recount", [&] {
    require(pool->pool().size() == 0, "in a child size is 0");
    (void)pool->pool().info();
    pool.reset();
  });
  require_records(*pool, at.with, 0, 40'000, "after the recount");
  require(pool->pool().size() == 40'000, "the recount goes on in the parent");
  die();
}
int fill_and_die(const child_arguments& arguments) {
  place at(arguments);
  auto pool = make_or_end(at.with, at.file("pool"));
  put_records(*pool, at.with, 0, 40'000);
  die();
}
TEST_P(Fork, DuringTheRecountHangsNobody) {
  ASSERT_NO_FATAL_FAILURE(parent_dies_in("fill_and_die"));
  ASSERT_NO_FATAL_FAILURE(parent_dies_in("fork_beside_the_recount"));
  expect_all_there(40'000);
}

// -------------------------------------------------------------------------------------------------
// pools of the child's own

int children_with_their_own(const child_arguments& arguments) {
  place at(arguments);
  auto pool = parents_pool(at.with, at.file("pool"));
  std::vector<pid_t> children;
  for (int n = 0; n < 3; ++n)
    children.push_back(fork_child([&, n] {
      std::string own = at.file("own" + std::to_string(n));
      {
        auto made = make_or_end(at.with, own);
        put_records(*made, at.with, 0, 20'000);
        require_ok(made->pool().sync(), "sync of the own pool");
        require_records(*made, at.with, 0, 20'000, "in the own pool");
        require_sound(*made, "in the own pool");
        require_forked(pool->put(nth_key(at.with, 1), nth_value(at.with, 2)),
                       "put into the parent's pool");
      }
      auto again = open_or_end(at.with, own);
      require(again->pool().info().clean, "the own pool was closed cleanly");
      require_records(*again, at.with, 0, 20'000, "in the own pool, opened again");
    }));
  for (pid_t child : children) require_good_end(child, "a child with a pool of its own");
  go_on_and_die(*pool, at.with, at.file("pool"));
}
TEST_P(Fork, ChildrenOpenPoolsOfTheirOwn) {
  ASSERT_NO_FATAL_FAILURE(parent_dies_in("children_with_their_own"));
  expect_all_there();
}

int child_opens_the_same_file(const child_arguments& arguments) {
  place at(arguments);
  auto pool = parents_pool(at.with, at.file("pool"));
  in_forked_child("a child that opens what its parent has open", [&] {
    auto second = open_subject(at.with, at.file("pool"), plain_options(at.with));
    require(!second, "a pool that the parent has open is refused to the child");
    require(second.failure().message.find("locked") != std::string::npos,
            "the refusal says locked: " + second.failure().message);
  });
  int told[2];
  require(::pipe(told) == 0, "a pipe can be made");
  pid_t child = fork_child([&] {
    char word;
    require(::read(told[0], &word, 1) == 1, "the parent tells that it has closed");
    auto anew = open_or_end(at.with, at.file("pool"));
    require(anew->pool().info().clean, "the parent closed cleanly");
    require_records(*anew, at.with, 0, before_fork, "in the child that opened anew");
    put_records(*anew, at.with, before_fork, after_fork);
    require_forked(pool->put(nth_key(at.with, 1), nth_value(at.with, 2)),
                   "put through the inherited handle");
    pool.reset();
    require_ok(anew->put(nth_key(at.with, 1), nth_value(at.with, 1)),
               "put through the handle of its own");
    require_ok(anew->pool().close(), "close in the child");
  });
  require_ok(pool->pool().close(), "close in the parent");
  require(::write(told[1], "x", 1) == 1, "the child hears it");
  require_good_end(child, "a child that opens the pool anew");
  auto again = open_or_end(at.with, at.file("pool"));
  require(again->pool().info().clean, "the child closed cleanly");
  require_records(*again, at.with, 0, after_fork, "after the child wrote");
  require_sound(*again, "after the child wrote");
  return passed;
}
TEST_P(Fork, AChildOpensThePoolAnewOnceTheParentHasClosedIt) {
  parent_ends_well_in("child_opens_the_same_file");
}

/// The parent is killed while its child, which does nothing, lives on.
int die_with_a_child_alive(const child_arguments& arguments) {
  place at(arguments);
  shared_words told(at.file("told"), 2);
  auto pool = parents_pool(at.with, at.file("pool"));
  put_records(*pool, at.with, before_fork, after_fork);
  pid_t child = fork_child([&] {
    told[1] = 1;
    for (;;) ::pause();
  });
  told[0] = static_cast<std::uint64_t>(child);
  require(wait_until([&] { return told[1] == 1; }), "the child runs: it has let go of the lock");
  die();
}
TEST_P(Fork, TheLockOfAKilledParentDoesNotStayWithItsChild) {
  ASSERT_NO_FATAL_FAILURE(parent_dies_in("die_with_a_child_alive"));
  shared_words told(folder_.file("told"), 2);
  auto child = static_cast<pid_t>(told[0].load());
  ASSERT_GT(child, 0);
  ASSERT_EQ(::kill(child, 0), 0) << "the child lives";
  expect_all_there();
  ::kill(child, SIGKILL);
}

/// The child outlives its parent, opens the pool anew and goes on with it.
int die_and_leave_the_pool_to_the_child(const child_arguments& arguments) {
  place at(arguments);
  shared_words told(at.file("told"), 2);
  auto pool = parents_pool(at.with, at.file("pool"));
  pid_t parent = ::getpid();
  pid_t child = fork_child([&] {
    require(wait_until([&] { return ::getppid() != parent; }), "the parent dies");
    {
      std::unique_ptr<subject> anew;
      // The last of its threads may still be about to let go of its files: only who waits for
      // the process knows when that is over.
      require(wait_until([&] {
                auto opened = open_subject(at.with, at.file("pool"), plain_options(at.with));
                if (opened) anew = std::move(*opened);
                return anew != nullptr;
              }),
              "the lock of a dead parent goes");
      require_records(*anew, at.with, 0, before_fork, "in the child that inherits");
      put_records(*anew, at.with, before_fork, after_fork);
      require_sound(*anew, "in the child that inherits");
    }
    pool.reset();
    told[1] = 1;
  });
  told[0] = static_cast<std::uint64_t>(child);
  die();
}
TEST_P(Fork, AChildOpensThePoolAnewOnceTheParentIsDead) {
  ASSERT_NO_FATAL_FAILURE(parent_dies_in("die_and_leave_the_pool_to_the_child"));
  shared_words told(folder_.file("told"), 2);
  bool done = wait_until(
      [&] { return told[1] == 1 || ::kill(static_cast<pid_t>(told[0].load()), 0) != 0; });
  if (!done) ::kill(static_cast<pid_t>(told[0].load()), SIGKILL);
  ASSERT_EQ(told[1], 1u) << "the child could not go on with the pool: its stderr says why";
  auto opened = open_subject(GetParam(), path(), plain_options(GetParam()));
  ASSERT_TRUE(opened) << opened.failure().message;
  EXPECT_TRUE((*opened)->pool().info().clean);
  EXPECT_EQ((*opened)->pool().size(), after_fork);
  expect_sound(**opened);
}

const child_role roles_of_fork[] = {
    {"child_tries_everything", child_tries_everything},
    {"child_destroys_its_copy", child_destroys_its_copy},
    {"child_closes_its_copy", child_closes_its_copy},
    {"child_writes", child_writes},
    {"children_exit", children_exit},
    {"grandchild_tries", grandchild_tries},
    {"prefork", prefork},
    {"fork_beside_writers", fork_beside_writers},
    {"fork_beside_a_reader", fork_beside_a_reader},
    {"fork_beside_the_recount", fork_beside_the_recount},
    {"fill_and_die", fill_and_die},
    {"children_with_their_own", children_with_their_own},
    {"child_opens_the_same_file", child_opens_the_same_file},
    {"die_with_a_child_alive", die_with_a_child_alive},
    {"die_and_leave_the_pool_to_the_child", die_and_leave_the_pool_to_the_child}};

}  // namespace
}  // namespace durahash::test
