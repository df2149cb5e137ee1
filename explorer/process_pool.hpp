// Work done in child processes: what hangs, aborts or faults there is a finding, not the end.
#pragma once

#include <functional>

#include "explorer/findings.hpp"

namespace durahash::crash {

/// Runs work(0) ... work(count - 1), `at_once` at a time, and hands over what each found, in the
/// order in which they end. `done` returns false to start no more. A child that says nothing within
/// `seconds` of its processor's time, or of the clock's while it does not get on, is killed, and
/// that is what it found.
void run_threads(std::size_t count, unsigned at_once, unsigned seconds,
                 const std::function<findings(std::size_t)>& work,
                 const std::function<bool(std::size_t, findings)>& done);

}  // namespace durahash::crash
