// The same from outside: the shim is preloaded into the built tool, which loads records,
// acknowledges each, meets a fault, and is killed.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <sstream>

#include "environment.hpp"

#if defined(DURAHASH_FAULTS_SHIM) && defined(DURAHASH_TOOL_PATH)

extern char** environ;

namespace durahash::test {
namespace {

/// The tool with pipes at its ends.
class tool_run {
 public:
  tool_run(const std::vector<std::string>& arguments, const std::string& fault,
           const std::string& error_file) {
    int in[2], out[2];
    if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0)
      throw std::runtime_error("no pipes");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], 0);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    posix_spawn_file_actions_addopen(&actions, 2, error_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                     0600);
    std::vector<std::string> words{DURAHASH_TOOL_PATH},
        settings{"LD_PRELOAD=" DURAHASH_FAULTS_SHIM, "DURAHASH_FAULT=" + fault};
    words.insert(words.end(), arguments.begin(), arguments.end());
    for (char** setting = environ; *setting != nullptr; ++setting) settings.push_back(*setting);
    int failed = posix_spawn(&pid_, DURAHASH_TOOL_PATH, &actions, nullptr, pointers(words).data(),
                             pointers(settings).data());
    posix_spawn_file_actions_destroy(&actions);
    ::close(in[0]), ::close(out[1]);
    in_ = in[1], out_ = out[0];
    if (failed != 0) throw std::runtime_error("cannot start the tool");
  }
  ~tool_run() {
    ::close(out_);
    finish(true);
  }
  tool_run(const tool_run&) = delete;

  void write(const std::string& text) {
    for (std::size_t at = 0; at < text.size();) {
      ssize_t wrote = ::write(in_, text.data() + at, text.size() - at);
      if (wrote <= 0) return;  // it has ended: its acknowledgements tell
      at += static_cast<std::size_t>(wrote);
    }
  }
  /// Lines until there are so many, or the tool ends. Nothing when it is silent for long.
  std::optional<strings> read_lines(std::size_t count) {
    std::string text;
    auto lines_in = [&] {
      return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
    };
    while (lines_in() < count) {
      pollfd ready{out_, POLLIN, 0};
      if (::poll(&ready, 1, 10'000) == 0) return std::nullopt;
      char piece[65536];
      ssize_t got = ::read(out_, piece, sizeof piece);
      if (got <= 0) break;
      text.append(piece, static_cast<std::size_t>(got));
    }
    strings lines;
    std::istringstream all(text.substr(0, text.rfind('\n') + 1));
    for (std::string line; std::getline(all, line);) lines.push_back(line);
    return lines;
  }
  /// Its wait status.
  int finish(bool by_kill) {
    if (pid_ < 0) return wait_status_;
    if (by_kill) ::kill(pid_, SIGKILL);
    ::close(in_);
    ::waitpid(pid_, &wait_status_, 0);
    pid_ = -1;
    return wait_status_;
  }

 private:
  static std::vector<char*> pointers(std::vector<std::string>& words) {
    std::vector<char*> all;
    for (std::string& word : words) all.push_back(word.data());
    all.push_back(nullptr);
    return all;
  }
  pid_t pid_ = -1;
  int in_ = -1, out_ = -1, wait_status_ = 0;
};

class PreloadedTool : public testing::TestWithParam<engine_kind> {
 protected:
  static constexpr int records = 3000;
  static std::string key(int n) { return "key/" + std::to_string(n); }
  static std::string value(int n) { return std::to_string(n) + std::string(300, 'v'); }

  void SetUp() override { ::signal(SIGPIPE, SIG_IGN); }
  std::string path() const { return folder_.file("pool"); }
  std::string said() const { return read_file(folder_.file("errors")); }
  std::uint64_t faults_told() const {
    std::string text = said();
    std::size_t at = text.rfind("faults injected: ");
    return at == std::string::npos
               ? 0
               : std::stoull(text.substr(at + std::strlen("faults injected: ")));
  }

  void create() {
    std::filesystem::remove(path());
    tool_run run({"create", path(), "--engine", std::string(name_of(GetParam()))}, "",
                 folder_.file("errors"));
    ASSERT_EQ(run.finish(false), 0) << said();
  }

  /// Loads, and kills behind the last acknowledgement or lets the tool end; then all acknowledged
  /// records are there.
  void load(call which, const std::string& how, bool by_kill, std::uint64_t& faults) {
    std::string fault = std::string(name_of(which)) + " " + how;
    SCOPED_TRACE("DURAHASH_FAULT=\"" + fault + (by_kill ? "\", killed" : "\""));
    ASSERT_NO_FATAL_FAILURE(create());
    tool_run run({"load", path(), "-", "--acks", "--sync", "1000"}, fault, folder_.file("errors"));
    std::string text;
    for (int n = 0; n < records; ++n) text += key(n) + "\t" + value(n) + "\n";
    run.write(text);
    auto acknowledged = run.read_lines(records);
    ASSERT_TRUE(acknowledged) << "the tool is stuck: " << said();
    int ended = run.finish(by_kill && acknowledged->size() == records);
    bool killed_by_us = by_kill && WIFSIGNALED(ended) && WTERMSIG(ended) == SIGKILL;
    ASSERT_TRUE(killed_by_us || WIFEXITED(ended))
        << "the tool ended by signal " << WTERMSIG(ended) << ": " << said();
    bool failed = WIFEXITED(ended) && WEXITSTATUS(ended) != 0;
    EXPECT_TRUE(!failed || said().size() >= 20) << "it failed and does not say why";
    faults += faults_told();
    count_faults("the tool, " + std::string(name_of(GetParam())), which, faults_told());
    std::string why = live([&] {
      auto pool = table::open(path());
      if (!pool) complain(pool.failure().message);
      for (const std::string& name : *acknowledged) {
        int n = std::stoi(name.substr(4));
        if (pool->get(name) != value(n)) complain("the acknowledged record " + name + " is lost");
      }
      check_report report = pool->check();
      if (!report.ok) complain("check: " + report.violations.front());
    });
    ASSERT_EQ(why, "");
  }

  scratch_folder folder_;
};
INSTANTIATE_TEST_SUITE_P(Every, PreloadedTool,
                         testing::ValuesIn(all_engines().begin(), all_engines().end()),
                         [](const auto& engine) { return std::string(name_of(engine.param)); });

TEST_P(PreloadedTool, ThatMeetsFaultsLosesNothingAcknowledged) {
  struct case_of {
    call which;
    int error_number;
  };
  std::uint64_t faults = 0;
  for (case_of c : {case_of{call::msync, EIO},
                    {call::fsync, EIO},
                    {call::posix_fallocate, ENOSPC},
                    {call::mmap, ENOMEM},
                    {call::pthread_create, EAGAIN}})
    for (int nth : {1, 2, 3, 5})
      for (const char* times : {"", " all"})
        load(c.which, std::to_string(nth) + " " + std::to_string(c.error_number) + times,
             nth % 2 == 1, faults);
  EXPECT_GT(faults, 0u) << "no fault was reached: the test shows nothing";
}

}  // namespace
}  // namespace durahash::test

#endif
