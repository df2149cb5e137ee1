// The processes that crash_kill_test.cpp kills. They never end by themselves, and tell how far they
// came through shared words.
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "conformance.hpp"
#include "crash_lane.hpp"
#include "patience.hpp"
#include "random.hpp"

namespace durahash::test {
namespace {

options plain_options(const setup& with) {
  options how;
  how.medium = with.medium();
  return how;
}

[[noreturn]] void fail(const std::string& why) {
  std::fprintf(stderr, "the writer fails: %s\n", why.c_str());
  std::_Exit(1);
}

std::unique_ptr<subject> open_or_fail(const setup& with, const std::string& path,
                                      const options& how) {
  auto opened = open_subject(with, path, how);
  if (!opened) fail(opened.failure().message);
  return std::move(*opened);
}

void expect_ok(status answer, const char* what) {
  if (answer != status::ok) fail(std::string(what) + ": " + std::string(message(answer)));
}

/// One lane at work on a pool. Every answer is checked: an operation that was refused must not be
/// counted as done.
class lane_writer {
 public:
  lane_writer(const lane_plan& plan, std::uint64_t lane, std::string path,
              std::unique_ptr<subject>& pool, shared_words& told)
      : plan_(plan),
        lane_(lane),
        path_(std::move(path)),
        pool_(pool),
        progress_(lane_progress::of(told, lane)) {}

  void run() {
    for (std::uint64_t i = progress_.finished.load();; ++i) {
      lane_operation o = lane_operation::of(plan_, lane_, i);
      progress_.started.store(i + 1);
      perform(o);
      progress_.finished.store(i + 1);
    }
  }

  /// A reader tells what it was given: no crash may undo that.
  void observe() {
    std::string value;
    for (std::string key = nth_key(plan_.with, counter_key(plan_, lane_));;)
      if (pool_->get(key, value) == status::ok) progress_.observed.store(bytes_word(value));
  }

 private:
  void perform(const lane_operation& o) {
    std::uint64_t previous = 0;
    strings keys, values;
    for (std::uint64_t key : o.keys)
      keys.push_back(nth_key(plan_.with, key)), values.push_back(lane_value(plan_, o.seed, key));
    switch (o.what) {
      case lane_action::put: return expect_ok(pool_->put(keys[0], values[0]), "put");
      case lane_action::insert:
        return expect_either(pool_->insert(keys[0], values[0]), status::exists, "insert");
      case lane_action::update:
        return expect_either(pool_->update(keys[0], values[0]), status::not_found, "update");
      case lane_action::erase:
        return expect_either(pool_->erase(keys[0]), status::not_found, "erase");
      case lane_action::fetch_add:
        return expect_either(pool_->fetch_add(keys[0], o.seed, previous), status::invalid_argument,
                             "fetch_add");
      case lane_action::count_up:
        return expect_ok(pool_->fetch_add(keys[0], 1, previous), "fetch_add");
      case lane_action::put_many:
        for (status answer : pool_->put_many(keys, values)) expect_ok(answer, "put_many");
        return;
      case lane_action::erase_many:
        for (status answer : pool_->erase_many(keys))
          expect_either(answer, status::not_found, "erase_many");
        return;
      case lane_action::compact: return expect_ok(pool_->pool().compact(), "compact");
      case lane_action::reopen: return reopen();
    }
  }

  void reopen() {
    expect_ok(pool_->pool().close(), "close");
    pool_.reset();
    pool_ = open_or_fail(plan_.with, path_, plain_options(plan_.with));
  }

  static void expect_either(status answer, status other, const char* what) {
    if (answer != other) expect_ok(answer, what);
  }

  lane_plan plan_;
  std::uint64_t lane_;
  std::string path_;
  std::unique_ptr<subject>& pool_;
  lane_progress progress_;
};

/// What other threads of the same process do to the pool: all that waits, walks, moves or marks.
void disturb(const lane_plan& plan, std::uint64_t which, subject& pool) {
  random_stream random(mixed(plan.seed ^ which));
  for (;;) {
    switch (random.below(6)) {
      case 0: expect_ok(pool.pool().sync(), "sync"); break;
      case 1: contents_of(pool); break;
      case 2:
        expect_ok(pool.pool().reserve(pool.pool().size() + random.below(5000)), "reserve");
        break;
      case 3: expect_ok(pool.pool().compact(), "compact"); break;
      case 4:
        if (!pool.pool().check().ok) fail("check beside writers finds a violation");
        break;
      default: std::this_thread::sleep_for(std::chrono::microseconds(random.below(3000)));
    }
  }
}

/// Children that write through the handle which they inherit, and drop it. None may change
/// anything.
void fork_children(const lane_plan& plan, std::unique_ptr<subject>& pool) {
  for (std::uint64_t n = 0;; ++n) {
    pid_t child = ::fork();
    if (child < 0) fail("fork");
    if (child == 0) {
      ::alarm(patience_seconds);
      for (std::uint64_t key = 0; key < 20; ++key)
        if (pool->put(nth_key(plan.with, key), nth_value(plan.with, n + key)) != status::forked)
          fail("a child writes");
      if (n % 2 == 0) pool.reset();
      std::_Exit(0);
    }
    int end = 0;
    if (::waitpid(child, &end, 0) != child || !WIFEXITED(end) || WEXITSTATUS(end) != 0)
      fail("a child ends badly");
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

/// path, progress file, first lane, lanes that this process works on, plan
int write_lanes(const child_arguments& arguments) {
  const std::string& path = arguments.at(0);
  lane_plan plan = plan_of(arguments, 4);
  shared_words told(arguments.at(1), plan.lanes * lane_progress::words + 1);
  std::uint64_t first = std::stoull(arguments.at(2)), count = std::stoull(arguments.at(3));
  auto pool = open_or_fail(plan.with, path, plain_options(plan.with));
  told[told.size() - 1].store(1);  // open: from here on there is something to lose
  std::vector<std::unique_ptr<lane_writer>> writers;
  std::vector<std::thread> threads;
  for (std::uint64_t lane = first; lane < first + count; ++lane) {
    writers.push_back(std::make_unique<lane_writer>(plan, lane, path, pool, told));
    threads.emplace_back([writer = writers.back().get()] { writer->run(); });
    if (plan.reopen == 0)
      threads.emplace_back([writer = writers.back().get()] { writer->observe(); });
  }
  if (plan.beside != 0) {
    for (std::uint64_t which = 0; which < 2; ++which)
      threads.emplace_back([&, which] { disturb(plan, which, *pool); });
    threads.emplace_back([&] { fork_children(plan, pool); });
  }
  for (std::thread& thread : threads) thread.join();
  return 0;
}

/// path, progress file, setup: makes the pool, and tells when it is made.
int create_pool(const child_arguments& arguments) {
  shared_words told(arguments.at(1), 1);
  setup with = setup_named(arguments.at(2));
  auto pool = open_or_fail(with, arguments.at(0), with.create_options());
  told[0].store(1);
  for (;;) pause();
}

/// path, progress file, setup, records: writes the same keys with values of the same lengths for
/// ever, and tells how many puts returned.
int rewrite_records(const child_arguments& arguments) {
  shared_words told(arguments.at(1), 1);
  setup with = setup_named(arguments.at(2));
  std::uint64_t records = std::stoull(arguments.at(3));
  auto pool = open_or_fail(with, arguments.at(0), plain_options(with));
  for (std::uint64_t round = told[0].load() + 1;; ++round)
    for (std::uint64_t n = 0; n < records; ++n) {
      expect_ok(pool->put(nth_key(with, n), long_value(with, round, n % 500)), "put");
      told[0].fetch_add(1);
    }
}

const child_role writer_roles[] = {{"write_lanes", write_lanes},
                                   {"create_pool", create_pool},
                                   {"rewrite_records", rewrite_records}};

}  // namespace
}  // namespace durahash::test
