// What the tests of the untidy world share. A program of a user plays in a process of its own,
// under a watchdog, so that a deadlock, a crash or a kill is the failure of one test.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "test/store/child.hpp"
#include "test/store/conformance.hpp"
#include "test/store/patience.hpp"
#include "test/store/random.hpp"
#include "test/store/scratch.hpp"
#include "test/store/setup.hpp"
#include "test/store/subject.hpp"

namespace durahash::test {

enum exit_code : int { passed = 0, failed = 1, not_possible_here = 77 };

double stress_seconds();  ///< DURAHASH_STRESS_SECONDS, or 0.5

/// Every engine, with byte strings and with words, in /dev/shm.
std::vector<setup> world_setups();
/// Likewise, byte strings alone.
std::vector<setup> byte_setups();
/// Likewise, on a disk, whose page cache a reboot may tear.
std::vector<setup> disk_setups();
/// Behind a log, at the level power_buffered: half of engines x words or bytes, all with
/// DURAHASH_LONG=1.
std::vector<setup> logged_setups();
std::vector<setup> world_and_logged_setups();

/// The setup of that name(), of those above.
setup world_setup(const std::string& name);

/// Where a role plays, of its first two arguments: a setup's name, and a folder for its pools.
struct place {
  setup with;
  std::string folder;
  explicit place(const child_arguments& arguments)
      : with(world_setup(arguments.at(0))), folder(arguments.at(1)) {}
  std::string file(const std::string& name = "pool") const { return folder + "/" + name; }
};

/// A step of a role; a false one ends the process with what is not so.
void require(bool holds, const std::string& what);
/// The same, with what a status says.
void require_ok(status answer, const std::string& what);

/// What an opener asks for who names nothing.
options plain_options(const setup& with);

/// Opens, or ends the process.
std::unique_ptr<subject> open_or_end(const setup& with, const std::string& path,
                                     const options& how);
std::unique_ptr<subject> open_or_end(const setup& with, const std::string& path);
std::unique_ptr<subject> make_or_end(const setup& with, const std::string& path);

/// Requires what expect_sound and expect_contents expect, for roles.
void require_sound(subject& pool, const std::string& when);
/// Records [first, last) with nth_value(n + version).
void require_records(subject& pool, const setup& with, std::uint64_t first, std::uint64_t last,
                     const std::string& when);
void put_records(subject& pool, const setup& with, std::uint64_t first, std::uint64_t last);

/// A figure of stats(), or nothing where it is not told.
std::optional<double> figure_of(handle& pool, const std::string& name);
std::size_t threads_of_this_process();

/// Ends as kill -9 does.
[[noreturn]] void die();

/// Waits for a child; one that is still at work after that long is killed and reported.
struct watched_end {
  child_end end;
  bool hung = false;
};
watched_end wait_with_patience(child_process& child, double seconds = patience_seconds);

/// Plays a role to its end, which must be `passed`.
void play(const std::string& role, const child_arguments& arguments,
          double seconds = patience_seconds);
/// Plays a role that ends by die().
void play_until_death(const std::string& role, const child_arguments& arguments,
                      double seconds = patience_seconds);

/// Runs `what` in a forked child; ends this process unless that child exits with 0 in time. A hang
/// in it is ended by a signal.
pid_t fork_child(const std::function<void()>& what);
void require_good_end(pid_t child, const std::string& who);
void in_forked_child(const std::string& who, const std::function<void()>& what);

bool wait_until(const std::function<bool()>& holds, double seconds = patience_seconds);

}  // namespace durahash::test
