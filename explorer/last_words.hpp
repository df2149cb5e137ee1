// When an explored table hangs, aborts or faults, the process that explored it says where, and
// ends.
#pragma once

#include <functional>
#include <string>

namespace durahash::crash {

/// Where last words go (a pipe), and what ends the process that has said them.
void prepare_last_words(int descriptor);

/// What is explored from here on, in this process: violation::job.
void last_words_job(std::string name);

/// What is going on: `packed` makes the findings so far, the last violation being what would be
/// reported. Within `seconds` of processor time, or it hangs; so does what stands still for
/// as long. It is looked at once a second, and a hang is noticed up to a second later. Time in
/// which the process was stopped (SIGSTOP) does not count.
void last_words_context(std::function<std::string()> packed, unsigned seconds);

/// Writes the findings with this as what was wrong, and ends the process.
[[noreturn]] void last_words(const std::string& what);

}  // namespace durahash::crash
