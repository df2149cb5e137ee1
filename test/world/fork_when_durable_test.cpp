// Calls that wait for the disk belong to the process that asked for them. A child made meanwhile
// calls none of them, and the parent's all come; also where a call itself makes the child.
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>
#include <thread>
#include <vector>

#include "durahash/deferred_wait.hpp"
#include "world.hpp"

namespace durahash::test {
namespace {

constexpr std::uint64_t records = 3000, most_awaited = 60, records_per_child = 100;

/// What came of the calls, in this process.
struct calls {
  std::atomic<std::uint64_t> came{0}, wrong{0};
  std::vector<std::atomic<int>> of_record = std::vector<std::atomic<int>>(records);

  std::function<void(status)> call_for(std::uint64_t n) {
    return [this, n](status answer) {
      wrong += answer != status::ok || of_record[n]++ != 0;
      ++came;
    };
  }
};

struct durable_place : place {
  explicit durable_place(const child_arguments& arguments) : place(arguments) {
    with.durability = durability_named(arguments.at(2));
  }
  static durability_level durability_named(const std::string& name) {
    return name == "power" ? durability_level::power : durability_level::power_buffered;
  }
};

/// One that children count in, too.
std::atomic<std::uint64_t>* shared_count() {
  void* page = ::mmap(nullptr, sizeof(std::atomic<std::uint64_t>), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  require(page != MAP_FAILED, "processes can share memory");
  return new (page) std::atomic<std::uint64_t>(0);
}

/// Puts the record and does not wait; `call` waits in its stead.
void put_and_ask(subject& pool, const setup& with, std::uint64_t n,
                 std::function<void(status)> call) {
  deferred_wait later(pool.pool());
  require_ok(pool.put(nth_key(with, n), nth_value(with, n)), "a put that waits for nothing");
  require_ok(pool.pool().when_durable(later.position(), std::move(call)), "when_durable");
}

/// In a child: the calls that its parent awaits are its parent's.
void call_nothing(std::unique_ptr<subject>& pool, const setup& with, const calls& parents) {
  std::uint64_t came = parents.came;
  require(pool->pool().when_durable(0, [](status) { std::_Exit(failed); }) == status::forked,
          "in a child when_durable answers forked, and calls nothing");
  require(pool->put(nth_key(with, 0), nth_value(with, 1)) == status::forked,
          "in a child put answers forked");
  require(pool->pool().close() == status::forked, "in a child close answers forked");
  pool.reset();
  ::usleep(30'000);  // three times what the disk is given for a group
  require(parents.came == came, "in a child none of its parent's calls comes");
}

[[noreturn]] void require_all_calls_and_die(subject& pool, const setup& with, const calls& all) {
  require(wait_until([&] { return all.came == records; }, 30), "each call of the parent's comes");
  require(all.wrong == 0, "each comes once, and says ok");
  require_records(pool, with, 0, records, "behind the children");
  require_sound(pool, "behind the children");
  die();
}

/// Another thread writes and asks, and lets the disk get up to 60 calls behind. However fast it is,
/// there is a child for every hundred records, made as soon as a call is awaited.
int fork_beside_awaited_calls(const child_arguments& arguments) {
  durable_place at(arguments);
  auto pool = make_or_end(at.with, at.file());
  calls all;
  std::atomic<std::uint64_t> asked{0}, may_write{records_per_child};
  std::thread writer([&] {
    for (std::uint64_t n = 0; n < records; ++n) {
      require(wait_until([&] { return n < may_write; }), "a child ends");
      require(wait_until([&] { return asked - all.came < most_awaited; }), "calls come");
      put_and_ask(*pool, at.with, n, all.call_for(n));
      ++asked;
    }
  });
  auto& beside_awaited = *shared_count();
  for (; asked < records; may_write += records_per_child) {
    while (asked < may_write && asked == all.came) {}
    in_forked_child("a child made while calls are awaited", [&] {
      if (asked > all.came) ++beside_awaited;
      call_nothing(pool, at.with, all);
    });
  }
  writer.join();
  require(beside_awaited > 0, "some child was made while a call was awaited");
  require_all_calls_and_die(*pool, at.with, all);
}

/// Every hundredth call forks. Its child has a thread of the library's, and ends.
int fork_within_calls(const child_arguments& arguments) {
  durable_place at(arguments);
  auto pool = make_or_end(at.with, at.file());
  calls all;
  for (std::uint64_t n = 0; n < records; ++n)
    put_and_ask(*pool, at.with, n, [&, n, note = all.call_for(n)](status answer) {
      if (n % 100 == 50)
        in_forked_child("a child that a call makes", [&] { call_nothing(pool, at.with, all); });
      note(answer);
    });
  require_all_calls_and_die(*pool, at.with, all);
}

const child_role roles_of_fork_when_durable[] = {
    {"fork_beside_awaited_calls", fork_beside_awaited_calls},
    {"fork_within_calls", fork_within_calls}};

class ForkWhenDurable : public testing::TestWithParam<setup> {
 protected:
  void parent_dies_in(const std::string& role) {
    for (const char* durability : {"power_buffered", "power"}) {
      SCOPED_TRACE(durability);
      scratch_folder folder(GetParam().folder());
      ASSERT_NO_FATAL_FAILURE(
          play_until_death(role, {GetParam().name(), folder.path().string(), durability}));
      auto opened = open_subject(GetParam(), folder.file("pool"), plain_options(GetParam()));
      ASSERT_TRUE(opened) << opened.failure().message;
      std::uint64_t lost = 0;
      for (std::uint64_t n = 0; n < records; ++n)
        lost += (*opened)->get(nth_key(GetParam(), n)) != nth_value(GetParam(), n);
      EXPECT_EQ(lost, 0u) << "records that a call said are durable are gone";
      expect_sound(**opened);
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Every, ForkWhenDurable, testing::ValuesIn(logged_setups()), setup_name());

TEST_P(ForkWhenDurable, BesideAwaitedCallsTheChildCallsNoneAndTheParentAll) {
#ifdef DURAHASH_SANITIZED
  GTEST_SKIP() << "a child that is made beside threads that allocate hangs in the sanitizer";
#endif
  parent_dies_in("fork_beside_awaited_calls");
}

TEST_P(ForkWhenDurable, WithinACallTheParentsCallsAllCome) { parent_dies_in("fork_within_calls"); }

}  // namespace
}  // namespace durahash::test
