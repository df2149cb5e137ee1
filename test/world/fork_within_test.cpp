// A child that is made within a visitor or a reader, and returns from it: the operation around it
// ends there with `forked`. What the parent's other threads had locked is locked there for ever,
// and nothing waits for it.
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "durahash/table.hpp"
#include "world.hpp"

namespace durahash::test {
namespace {

constexpr std::uint64_t few_records = 1000;

/// Forks once, from within an operation.
class fork_within {
 public:
  void now() {
    if (child_ >= 0) return;
    child_ = ::fork();
    require(child_ >= 0, "fork works");
    if (child_ == 0) ::alarm(patience_seconds);
  }
  bool in_child() const { return child_ == 0; }
  void require_good_end_of_child(const std::string& who) const { require_good_end(child_, who); }

 private:
  pid_t child_ = -1;
};

/// In the child, behind the operation that it was made in.
[[noreturn]] void end_child(std::unique_ptr<subject>& pool, const setup& with, status answer) {
  require(answer == status::forked, "the operation that a child was made in answers forked there");
  std::string value;
  require(pool->get(nth_key(with, 1), value) == status::forked, "in a child get answers forked");
  require(pool->put(nth_key(with, 1), nth_value(with, 2)) == status::forked,
          "in a child put answers forked");
  pool.reset();
  std::_Exit(passed);
}

void scan_and_fork(std::unique_ptr<subject>& pool, const setup& with, std::uint64_t at_visit) {
  fork_within fork;
  std::uint64_t visits = 0;
  status answer = status::ok;
  cursor at;
  // no look at the answer, as programs do: in the child the cursor ends all the same
  while (!at.done)
    answer = pool->scan(at, 300, [&](std::string_view, std::string_view) {
      if (++visits == at_visit) fork.now();
    });
  if (fork.in_child()) {
    require(visits == at_visit, "in a child nothing more is visited");
    end_child(pool, with, answer);
  }
  require_ok(answer, "the scan goes on in the parent");
  require(visits == few_records, "in the parent each record is visited");
  fork.require_good_end_of_child("a child that returns from a visitor");
}

void read_and_fork(std::unique_ptr<subject>& pool, const setup& with, std::uint64_t n) {
  fork_within fork;
  std::uint64_t reads = 0;
  status answer = static_cast<table&>(pool->pool()).read(nth_key(with, n), [&](std::string_view) {
    ++reads;
    fork.now();
  });
  if (fork.in_child()) {
    require(reads == 1, "in a child nothing more is read");
    end_child(pool, with, answer);
  }
  require_ok(answer, "the read ends well in the parent");
  fork.require_good_end_of_child("a child that returns from a reader");
}

/// Writers of the parent hold locks at any moment.
class writers {
 public:
  writers(subject& pool, const setup& with) {
    for (std::uint64_t first : {0, 1})
      threads_.emplace_back([&pool, with, first, this] {
        while (!over_)
          for (std::uint64_t n = first; n < few_records; n += 2)
            require_ok(pool.put(nth_key(with, n), nth_value(with, n)), "put beside a fork");
      });
  }
  ~writers() {
    over_ = true;
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  std::atomic<bool> over_{false};
  std::vector<std::thread> threads_;
};

[[noreturn]] void require_all_and_die(subject& pool, const setup& with) {
  require_records(pool, with, 0, few_records, "behind the children");
  require_sound(pool, "behind the children");
  put_records(pool, with, few_records, 2 * few_records);
  die();
}

int fork_within_visitors(const child_arguments& arguments) {
  place at(arguments);
  auto pool = make_or_end(at.with, at.file());
  put_records(*pool, at.with, 0, few_records);
  {
    writers beside(*pool, at.with);
    for (std::uint64_t visit = 1; visit <= few_records; visit += 90)
      scan_and_fork(pool, at.with, visit);
  }
  require_all_and_die(*pool, at.with);
}

int fork_within_reads(const child_arguments& arguments) {
  place at(arguments);
  auto pool = make_or_end(at.with, at.file());
  put_records(*pool, at.with, 0, few_records);
  {
    writers beside(*pool, at.with);
    for (std::uint64_t n = 0; n < 10; ++n) read_and_fork(pool, at.with, n);
  }
  require_all_and_die(*pool, at.with);
}

const child_role roles_of_fork_within[] = {{"fork_within_visitors", fork_within_visitors},
                                           {"fork_within_reads", fork_within_reads}};

class ForkWithin : public testing::TestWithParam<setup> {
 protected:
  void parent_dies_in(const std::string& role) {
    scratch_folder folder(GetParam().folder());
    ASSERT_NO_FATAL_FAILURE(play_until_death(role, {GetParam().name(), folder.path().string()}));
    if (IsSkipped()) return;
    auto opened = open_subject(GetParam(), folder.file("pool"), plain_options(GetParam()));
    ASSERT_TRUE(opened) << opened.failure().message;
    std::uint64_t lost = 0;
    for (std::uint64_t n = 0; n < 2 * few_records; ++n)
      lost += (*opened)->get(nth_key(GetParam(), n)) != nth_value(GetParam(), n);
    EXPECT_EQ(lost, 0u) << "acknowledged records are gone";
    expect_sound(**opened);
  }
};
INSTANTIATE_TEST_SUITE_P(Every, ForkWithin, testing::ValuesIn(world_and_logged_setups()),
                         setup_name());

TEST_P(ForkWithin, AVisitorEndsTheScanInTheChildAlone) { parent_dies_in("fork_within_visitors"); }

TEST_P(ForkWithin, AReaderEndsTheReadInTheChildAlone) {
  if (GetParam().api == api_kind::words) GTEST_SKIP() << "words are read without a function";
  parent_dies_in("fork_within_reads");
}

}  // namespace
}  // namespace durahash::test
