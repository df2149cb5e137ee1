#include "output.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "failure.hpp"
#include "interruption.hpp"

namespace durahash::tool {

namespace {

[[noreturn]] void refuse(const std::string& why) {
  throw failure(exit_unusable, "cannot write to standard output: " + why);
}

/// Waits until somebody takes more.
void await_reader() {
  pollfd either[] = {{.fd = STDOUT_FILENO, .events = POLLOUT, .revents = 0},
                     {.fd = interruption::descriptor(), .events = POLLIN, .revents = 0}};
  while (::poll(either, 2, -1) < 0 && errno == EINTR) {}
  const bool waits = either[0].revents == 0;
  if (waits && interruption::asked() != 0) refuse("interrupted, and nobody reads it");
}

}  // namespace

std::string coloured(std::string_view text, colour in) {
  const auto is_set = [](const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr && *value != 0;
  };
  const char* terminal = std::getenv("TERM");
  const bool plain = is_set("NO_COLOR") || terminal == nullptr ||
                     std::string_view(terminal) == "dumb" || ::isatty(STDOUT_FILENO) == 0;
  if (plain) return std::string(text);
  const char* code = in == colour::green ? "32" : in == colour::red ? "1;31" : "33";
  return std::string("\033[") + code + "m" + std::string(text) + "\033[0m";
}

void print(std::string_view text) {
  while (!text.empty()) {
    await_reader();
    const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (written < 0) refuse(std::strerror(errno));
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void tell(std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void settle_standard_descriptors() noexcept {
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(standard, F_GETFD) >= 0 || errno != EBADF) continue;
    const int way = standard == STDIN_FILENO ? O_WRONLY : O_RDONLY;  // the one that is not used
    const int opened = ::open("/dev/null", way);  // the lowest number that is free
    if (opened >= 0 && opened != standard) ::close(opened);
  }
}

void output::flush() {
  print(text_);
  text_.clear();
}

}  // namespace durahash::tool
