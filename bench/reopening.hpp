// A pool whose process is killed, and what the next opening takes.
#pragma once

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <vector>

#include "bench/pool_run.hpp"

namespace durahash::bench {

/// Loads a pool in a child that kills itself. Returns whether it came to that.
template <class Table>
bool load_and_be_killed(const request& asked, engine_kind engine) {
  pid_t child = ::fork();
  if (child == 0) try {
      pool_run<Table> pool(asked, engine, pool_names::kept);
      pool.load_quietly();
      ::kill(::getpid(), SIGKILL);
    } catch (...) {
      ::_exit(1);
    }
  int ended = 0;
  return child > 0 && ::waitpid(child, &ended, 0) == child && WIFSIGNALED(ended) &&
         WTERMSIG(ended) == SIGKILL;
}

/// Opens the pool that is there, and closes it.
template <class Table>
double opening_seconds(const request& asked, engine_kind engine, std::uint64_t* replayed) {
  options how = options_of(asked, engine);
  how.mode = open_mode::open_existing;
  auto begin = std::chrono::steady_clock::now();
  auto opened = open_table<Table>(asked, how);
  double seconds = seconds_between(begin, std::chrono::steady_clock::now());
  if (!opened) throw failure(opened.failure().code, opened.failure().message);
  if (replayed != nullptr) *replayed = disk_counts::of(opened->stats()).replayed_lines;
  if (opened->size() != asked.keys) throw failure(status::damaged, "records are lost after a kill");
  if (status s = opened->close(); s != status::ok) throw failure(s, std::string(message(s)));
  return seconds;
}

template <class Table>
reopening reopenings_of(const request& asked, engine_kind engine) {
  struct remover {
    const request& asked;
    ~remover() { remove_scratch(asked); }
  };
  std::vector<double> killed, clean;
  reopening found;
  for (unsigned r = 0; r < asked.repeat; ++r) {
    if (!load_and_be_killed<Table>(asked, engine))
      throw failure(status::unusable, "the process that was to be killed could not load its pool");
    remover at_end{asked};
    killed.push_back(opening_seconds<Table>(asked, engine, &found.lines));
    clean.push_back(opening_seconds<Table>(asked, engine, nullptr));
  }
  auto median = [](std::vector<double>& all) {
    std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2),
                     all.end());
    return all[all.size() / 2];
  };
  found.seconds = median(killed);
  found.clean_seconds = median(clean);
  return found;
}

}  // namespace durahash::bench
