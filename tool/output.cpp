#include "output.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "failure.hpp"

namespace durahash::tool {

void print(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0)
      throw failure(exit_not_found, std::string("cannot write to standard output: ") + std::strerror(errno));
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void output::flush() {
  print(text_);
  text_.clear();
}

}  // namespace durahash::tool
