// The threads of one pass: they start together, and the clock runs from the first start to the last
// finish.
#pragma once

#include <sys/resource.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <exception>
#include <optional>
#include <thread>
#include <vector>

#include "bench/clock.hpp"
#include "bench/instruction_counter.hpp"

namespace durahash::bench {

struct thread_group_result {
  double seconds = 0;
  std::uint64_t page_faults = 0;  // minor ones, of these threads alone
  /// in user space, of these threads alone; nothing where the processor does not count them
  std::optional<std::uint64_t> instructions;
};

inline std::uint64_t page_faults_of_this_thread() noexcept {
  rusage used{};
  getrusage(RUSAGE_THREAD, &used);
  return static_cast<std::uint64_t>(used.ru_minflt);
}

/// Runs `work(thread)` on `threads` new threads.
template <class Work>
thread_group_result run_threads(unsigned threads, Work&& work) {
  using clock = std::chrono::steady_clock;
  struct alignas(64) stint {
    clock::time_point begin, end;
    std::uint64_t page_faults = 0;
    std::optional<std::uint64_t> instructions;
    std::exception_ptr thrown;
  };
  std::vector<stint> stints(threads);
  std::barrier start(threads);
  {
    std::vector<std::jthread> thread_group;
    for (unsigned t = 0; t < threads; ++t)
      thread_group.emplace_back([&, t] {
        stint& mine = stints[t];
        instruction_counter counter;
        start.arrive_and_wait();
        const std::optional<std::uint64_t> counted = counter.value();
        std::uint64_t faults = page_faults_of_this_thread();
        mine.begin = clock::now();
        try {
          work(t);
        } catch (...) {
          mine.thrown = std::current_exception();
        }
        mine.end = clock::now();
        mine.page_faults = page_faults_of_this_thread() - faults;
        if (const std::optional<std::uint64_t> now = counter.value(); counted && now)
          mine.instructions = *now - *counted;
      });
  }
  thread_group_result result;
  result.instructions = 0;
  clock::time_point first = stints[0].begin, last = stints[0].end;
  for (const stint& one : stints) {
    if (one.thrown) std::rethrow_exception(one.thrown);
    first = std::min(first, one.begin);
    last = std::max(last, one.end);
    result.page_faults += one.page_faults;
    if (!one.instructions) result.instructions.reset();
    if (result.instructions) *result.instructions += *one.instructions;
  }
  result.seconds = seconds_between(first, last);
  return result;
}

}  // namespace durahash::bench
