// Groups of writes of CCEH, beside who has all locks.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "test/engine/engine_rig.hpp"

namespace durahash::test {
namespace cceh_group {

using namespace std::chrono_literals;

/// The records of a batch are written first. Those that found no room were freed when the batch's
/// locks were released already: a check in between told of bytes in use that nothing reaches.
TEST(CcehGroup, ACheckBesideABatchWithoutRoomFindsNothing) {
  constexpr std::uint64_t batches = 5, in_batch = 64;
  options how;
  how.settings = {{"segment", 2}};  // small: most batches find some of theirs full
  auto r = make_rig<hooked_medium, byte_records, cceh_engine>(how);
  const std::thread::id writer = std::this_thread::get_id();
  r->m->before_bytes_are_read = [&](std::uint64_t) {
    // who frees a record asks how long it is: there is time for others then
    if (std::this_thread::get_id() == writer) std::this_thread::sleep_for(200us);
  };
  std::atomic<bool> over = false;
  std::atomic<int> checks = 0;
  std::string fault;
  std::thread others([&] {
    for (; !over && fault.empty(); ++checks) {
      check_report report;
      r->t->check(report);
      if (!report.ok)
        fault = report.violations.empty() ? "it is not ok" : report.violations.front();
    }
  });
  for (std::uint64_t first = 0; first < batches * in_batch; first += in_batch) {
    std::vector<std::string> keys;
    for (std::uint64_t n = 0; n < in_batch; ++n) keys.push_back(item<byte_records>(first + n));
    const std::vector<std::string_view> views(keys.begin(), keys.end());
    std::vector<status> answers(in_batch);
    r->t->put_many(views, views.data(), answers.data());
    for (status answer : answers) EXPECT_EQ(answer, status::ok);
  }
  over = true;
  others.join();
  EXPECT_EQ(fault, "");
  EXPECT_GT(checks, 0);
  EXPECT_GT(figures(*r)["splits"], 5) << "no batch has found a segment full";
}

}  // namespace cceh_group
}  // namespace durahash::test
