#include "demo_process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "failure.hpp"

extern char** environ;

namespace durahash::tool {
namespace {

[[noreturn]] void cannot(const char* what) {
  throw failure(exit_unusable, std::string("cannot ") + what + ": " + std::strerror(errno));
}

/// Both ends close themselves in programs that are started later.
std::array<int, 2> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) cannot("make a pipe");
  return ends;
}

pid_t spawn(const std::string& pool_path, work_kind work, int list, int acks) {
  std::string program = "/proc/self/exe";
  std::string kind(name_of(work));
  std::string path = pool_path;
  std::string command = "demo", worker = "--worker", pool = "--pool";
  char* arguments[] = {program.data(), command.data(), worker.data(), kind.data(),
                       pool.data(),    path.data(),    nullptr};
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  // Both descriptors come from above 10, so that neither copy lands on the other.
  posix_spawn_file_actions_adddup2(&files, list, worker_list_file);
  posix_spawn_file_actions_adddup2(&files, acks, worker_acks_file);
  pid_t process = -1;
  errno = ::posix_spawn(&process, program.c_str(), &files, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&files);
  if (errno != 0) cannot("start a worker process");
  return process;
}

/// The same descriptor with a number above 10.
int moved_up(int file) {
  const int high = ::fcntl(file, F_DUPFD_CLOEXEC, 11);
  if (high < 0) cannot("copy a file descriptor");
  ::close(file);
  return high;
}

}  // namespace

shared_list::shared_list(const std::string& text) {
  file_ = ::memfd_create("durahash-demo-list", MFD_CLOEXEC);
  if (file_ < 0) cannot("make a file in memory");
  file_ = moved_up(file_);
  for (std::string_view rest = text; !rest.empty();) {
    const ssize_t written = ::write(file_, rest.data(), rest.size());
    if (written < 0) cannot("write a file in memory");
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
}

shared_list::~shared_list() { ::close(file_); }

worker_process::worker_process(const std::string& pool_path, work_kind work,
                               const shared_list& list)
    : acks_(-1) {
  const auto [read_end, write_end] = make_pipe();
  pipe_ = read_end;
  acks_ = ack_receiver(read_end);
  const int high = moved_up(write_end);
  process_ = spawn(pool_path, work, list.file(), high);
  ::close(high);
}

worker_process::~worker_process() {
  kill();
  ::close(pipe_);
}

void worker_process::kill() {
  if (process_ < 0) return;
  ::kill(process_, SIGKILL);
  finish();
}

bool worker_process::finish() {
  if (process_ < 0) return !killed_;
  int how = 0;
  while (::waitpid(process_, &how, 0) < 0 && errno == EINTR) {}
  process_ = -1;
  killed_ = WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL;
  if (killed_ || (WIFEXITED(how) && WEXITSTATUS(how) == exit_done)) return !killed_;
  if (WIFSIGNALED(how))
    throw failure(exit_not_found,
                  std::string("a worker died by itself: ") + ::strsignal(WTERMSIG(how)));
  throw failure(WEXITSTATUS(how), "a worker gave up");
}

}  // namespace durahash::tool
