// A child has its parent's pool and device in its memory, and may touch neither. One that closed
// its copy would make the parent's later writes look older than a clean close.
#include <sys/wait.h>
#include <unistd.h>

#include <numeric>

#include "durahash/table.hpp"
#include "test/gpu/map_rig.hpp"
#include "test/gpu/rows_rig.hpp"
#include "test/store/patched_pool.hpp"
#include "test/store/patience.hpp"

namespace durahash::test {
namespace {

/// What a forked child finds.
template <class Find>
void expect_in_child(Find&& find) {
  pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::alarm(patience_seconds);
    ::_exit(find() ? 0 : 1);
  }
  int end = 0;
  ASSERT_EQ(::waitpid(child, &end, 0), child);
  EXPECT_TRUE(WIFEXITED(end) && WEXITSTATUS(end) == 0) << "the child ended with " << end;
}

template <class Handle>
bool is_left_alone(Handle& h) {
  bool refuses = h.sync() == status::forked && h.reserve(10) == status::forked &&
                 h.compact() == status::forked && h.close() == status::forked && h.size() == 0;
  check_report report = h.check();
  { Handle dropped = std::move(h); }
  return refuses && !report.ok && report.violations.front() == message(status::forked);
}

constexpr std::size_t n = 1000;

TEST(GpuFork, AChildOfAMapTouchesNothing) {
  scratch_folder folder;
  auto made = gpu::open_on(std::make_unique<lockstep_device>(), folder.file("a"), {}, {});
  ASSERT_TRUE(made) << made.failure().message;
  std::vector<std::uint64_t> keys(n);
  std::iota(keys.begin(), keys.end(), 1);
  std::vector<status> answers(n);
  ASSERT_EQ(made->put(n / 2, keys.data(), keys.data(), answers.data()), status::ok);
  expect_in_child([&] {
    return made->put(n, keys.data(), keys.data(), answers.data()) == status::forked &&
           made->find_async(n, keys.data(), keys.data(), answers.data()) == status::forked &&
           is_left_alone(*made);
  });
  EXPECT_EQ(state_in_file(folder.file("a")), pool_state::changing) << "by the child";
  ASSERT_EQ(made->put(n, keys.data(), keys.data(), answers.data()), status::ok);
  EXPECT_EQ(made->size(), n);
  EXPECT_TRUE(made->check().ok);
  ASSERT_EQ(made->close(), status::ok);
  auto again = map<std::uint64_t, std::uint64_t>::open(folder.file("a"));
  ASSERT_TRUE(again) << again.failure().message;
  EXPECT_EQ(again->size(), n);
}

TEST(GpuFork, AChildOfATableTouchesNothing) {
  constexpr std::size_t bytes = 16;
  scratch_folder folder;
  gpu::table made = open_rows_in_lockstep(folder.file("a"), gpu::table_place::host_mirror);
  std::vector<std::uint64_t> keys(n);
  std::iota(keys.begin(), keys.end(), 1);
  std::vector<char> values(n * bytes, 'v');
  std::vector<status> answers(n);
  ASSERT_EQ(made.put(n / 2, keys.data(), values.data(), bytes, answers.data()), status::ok);
  expect_in_child([&] {
    return made.put(n, keys.data(), values.data(), bytes, answers.data()) == status::forked &&
           made.find_async(n, keys.data(), values.data(), bytes, answers.data()) ==
               status::forked &&
           is_left_alone(made);
  });
  EXPECT_EQ(state_in_file(folder.file("a")), pool_state::changing) << "by the child";
  ASSERT_EQ(made.put(n, keys.data(), values.data(), bytes, answers.data()), status::ok);
  EXPECT_EQ(made.size(), n);
  EXPECT_TRUE(made.check().ok);
  ASSERT_EQ(made.close(), status::ok);
  auto again = table::open(folder.file("a"));
  ASSERT_TRUE(again) << again.failure().message;
  EXPECT_EQ(again->size(), n);
}

}  // namespace
}  // namespace durahash::test
