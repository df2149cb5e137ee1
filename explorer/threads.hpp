// Small programs of several threads: every schedule with few preemptions, or drawn ones. Of those
// that leave one trace, one is explored for crashes.
#pragma once

#include "explorer/explorer.hpp"
#include "explorer/schedules.hpp"
#include "explorer/turn_scheduler.hpp"

namespace durahash::crash {

threaded_program random_threads(std::size_t threads, std::size_t operations,
                                std::mt19937_64& random);

/// A scan visits what a writer has stored and not made durable yet.
threaded_program scanned_while_written();

/// One thread does things to the whole table (sync, reserve, scan, compact) beside others that
/// write, and all of them beside the library's own. Or, where it `closes`, beside that one alone: a
/// close allows no other.
threaded_program beside_threads(std::size_t threads, bool closes, std::mt19937_64& random);

/// Of random_threads, with the reads by processes of their own.
threaded_program read_beside(std::size_t threads, std::mt19937_64& random);

/// A key is updated again and again while a process of its own reads it: the second update may take
/// the cell that held its record first.
threaded_program updated_while_read();

/// A key leaves while a process of its own looks for it, and others come: one may have its slot.
threaded_program lent_while_read();

/// Explores the program under its schedules. Returns false when to stop.
bool explore_threads(const subject_kind& kind, const maker& make, explorer& x,
                     const threaded_program& what, const schedule_plan& how,
                     std::mt19937_64& random);

}  // namespace durahash::crash
