// Small programs of several threads: every schedule with few preemptions, or drawn ones. Of those
// that leave one trace, one is explored for crashes.
#pragma once

#include "crash/baton.hpp"
#include "crash/explorer.hpp"
#include "crash/schedules.hpp"

namespace durahash::crash {

threaded_program random_threads(std::size_t threads, std::size_t operations,
                                std::mt19937_64& random);

/// Explores the program under its schedules. Returns false when to stop.
bool explore_threads(const subject_kind& kind, const maker& make, explorer& x,
                     const threaded_program& what, const schedule_plan& how,
                     std::mt19937_64& random);

}  // namespace durahash::crash
