#include "child.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <stdexcept>

extern char** environ;

namespace durahash::test {

namespace {

std::map<std::string, std::function<int(const child_arguments&)>>& known_roles() {
  static std::map<std::string, std::function<int(const child_arguments&)>> all;
  return all;
}

constexpr const char* role_flag = "--child-role";

child_end decoded(int wait_status) {
  child_end end;
  end.exited = WIFEXITED(wait_status);
  if (end.exited) end.exit_code = WEXITSTATUS(wait_status);
  if (WIFSIGNALED(wait_status)) end.signal = WTERMSIG(wait_status);
  return end;
}

}  // namespace

child_role::child_role(const char* name, std::function<int(const child_arguments&)> run) {
  known_roles()[name] = std::move(run);
}

std::optional<int> run_as_child(int argc, char** argv) {
  if (argc < 3 || std::string(argv[1]) != role_flag) return std::nullopt;
  auto role = known_roles().find(argv[2]);
  if (role == known_roles().end())
    throw std::invalid_argument(std::string("no role is named ") + argv[2]);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a test that is stopped leaves nobody behind
  return role->second(child_arguments(argv + 3, argv + argc));
}

child_process::child_process(const std::string& role, const child_arguments& arguments) {
  std::vector<std::string> words = {"/proc/self/exe", role_flag, role};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  if (posix_spawn(&pid_, "/proc/self/exe", nullptr, nullptr, pointers.data(), environ) != 0)
    throw std::runtime_error("cannot start the child process");
}

child_process::~child_process() { kill(); }

child_end child_process::wait() {
  if (!end_) {
    int wait_status = 0;
    if (waitpid(pid_, &wait_status, 0) != pid_)
      throw std::runtime_error("cannot wait for the child process");
    end_ = decoded(wait_status);
  }
  return *end_;
}

child_end child_process::kill() {
  if (!end_) ::kill(pid_, SIGKILL);
  return wait();
}

bool child_process::running() {
  int wait_status = 0;
  if (!end_ && waitpid(pid_, &wait_status, WNOHANG) == pid_) end_ = decoded(wait_status);
  return !end_;
}

shared_words::shared_words(const std::string& path, std::size_t count) : count_(count) {
  int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0 || ftruncate(file, static_cast<off_t>(count * sizeof *words_)) != 0)
    throw std::runtime_error("cannot make " + path);
  void* mapped = mmap(nullptr, count * sizeof *words_, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ::close(file);
  if (mapped == MAP_FAILED) throw std::runtime_error("cannot map " + path);
  words_ = static_cast<std::atomic<std::uint64_t>*>(mapped);
}

shared_words::~shared_words() { munmap(words_, count_ * sizeof *words_); }

}  // namespace durahash::test
