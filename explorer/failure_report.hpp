// What a report says of a crash (the calls, the verbs of the one under way, what the image keeps of
// the pending lines), and of what was crashed.
#pragma once

#include "explorer/findings.hpp"
#include "explorer/images.hpp"
#include "explorer/recording.hpp"

namespace durahash::crash {

struct crash_site {
  const recording& rec;
  std::size_t index;  // of the last event before the crash
  cache_model& model;
  const image& chosen;
};

/// How many calls had begun when the crash came after this event.
std::size_t calls_begun(const recording& rec, std::size_t index);

/// The last of the first `count` calls.
std::string calls_of(const recording& rec, std::size_t count);

std::string report_of(const crash_site& at, const places& where);

/// Counts the commit points among what the image keeps and what it loses.
void note_commits(const crash_site& at, const places& where,
                  std::map<std::string, commit_coverage>& commits);

/// Counts the flushes, fences and orders of a run, as the elision matrix names them.
void note_places(const trace& events, const places& where,
                 std::map<std::string, std::uint64_t>& found);

}  // namespace durahash::crash
