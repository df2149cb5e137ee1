// A life: a forked process that uses the library while calls fail, and ends by kill -9 or by
// itself.
//
// The process of the tests opens no pool and starts no thread, so that each life begins as a
// program does, at the cost of a fork: thousands of them fit into a minute, which is why they are
// not child_process. What a life was answered, it writes into memory that both share, where kill -9
// loses nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "shim.hpp"

namespace durahash::test {

/// Lives it, and waits for its end. A life that makes no step for long is killed: something waits
/// for ever. Returns   nothing if it ended as it should, else a sentence that says what went wrong
/// at which step.
std::string live(const std::function<void()>& life);

/// The faults of the last life, by call.
std::uint64_t faults_of_last_life(call which);

// In a life:

/// Names what comes now. `what` is a literal.
void step(const char* what, std::uint64_t number = 0) noexcept;
/// Ends the life with a complaint.
[[noreturn]] void complain(const std::string& why);
inline void require(bool holds, const char* what) {
  if (!holds) complain(what);
}
/// The end by kill -9.
[[noreturn]] void die();
/// Tells the test of faults that were injected, and of calls that were seen.
void report_faults(call which, std::uint64_t count) noexcept;
void report_calls() noexcept;
/// The calls that the last life reported.
call_counts calls_of_last_life();

/// Memory of that many bytes, zeros, that all later lives and the test share; never given back.
void* shared_memory(std::size_t bytes);

/// Adds up faults, and prints them when the test program ends, by engine.
void count_faults(const std::string& engine, call which, std::uint64_t count);

}  // namespace durahash::test
