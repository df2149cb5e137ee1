// A second process for the tests that kill one: this executable started again in a role. It is a
// fresh process and not a bare fork, so that it owes nothing to the parent's threads and runs the
// same under every sanitizer.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace durahash::test {

using child_arguments = std::vector<std::string>;

/// A role is registered by a static object; its exit code is the child's.
struct child_role {
  child_role(const char* name, std::function<int(const child_arguments&)> run);
};

/// When the command line asks for a role, plays it and returns its exit code.
std::optional<int> run_as_child(int argc, char** argv);

/// How a child ended.
struct child_end {
  bool exited = false;
  int exit_code = -1;
  int signal = 0;
};

class child_process {
 public:
  child_process(const std::string& role, const child_arguments& arguments);
  ~child_process();  // kills it if it still runs
  child_process(const child_process&) = delete;
  child_process& operator=(const child_process&) = delete;

  child_end wait();
  child_end kill();  ///< SIGKILL, then wait
  bool running();

 private:
  pid_t pid_ = -1;
  std::optional<child_end> end_;
};

/// What a child tells its parent: words in a file that both map, so that a word is told the instant
/// it is stored, and is not lost by SIGKILL.
class shared_words {
 public:
  shared_words(const std::string& path, std::size_t count);  // makes the file where it is absent
  ~shared_words();
  shared_words(const shared_words&) = delete;
  shared_words& operator=(const shared_words&) = delete;

  std::atomic<std::uint64_t>& operator[](std::size_t i) { return words_[i]; }
  std::size_t size() const { return count_; }

 private:
  std::atomic<std::uint64_t>* words_;
  std::size_t count_;
};

}  // namespace durahash::test
