#include "input.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "encoding.hpp"
#include "failure.hpp"
#include "interruption.hpp"

namespace durahash::tool {
namespace {

constexpr std::size_t read_bytes = 256 * 1024;
constexpr std::size_t hopeless_bytes = 1 << 20;
static_assert(hopeless_bytes > 6 * max_key_bytes);  // \uXXXX for a byte

[[noreturn]] void refuse(const std::string& name, int fault) {
  throw failure(exit_usage, "cannot read " + name + ": " + std::strerror(fault));
}

}  // namespace

record_input::record_input(const std::string& path, format_kind format)
    : name_(path == "-" ? "standard input" : path), format_(format) {
  file_ = path == "-" ? ::dup(STDIN_FILENO) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file_ < 0) refuse(name_, errno);
  struct stat facts {};
  if (::fstat(file_, &facts) != 0) refuse(name_, errno);
  if (S_ISDIR(facts.st_mode)) refuse(name_, EISDIR);
  if (S_ISREG(facts.st_mode)) total_bytes_ = static_cast<std::uint64_t>(facts.st_size);
}

record_input::~record_input() { ::close(file_); }

bool record_input::next(std::string_view& frame) {
  for (;;) {
    terminated_ = find_frame_end();
    if (terminated_) {
      frame = take_frame(scanned_);
      begin_ = ++scanned_;  // past the line end
    } else if (end_ - begin_ >= hopeless_bytes && !may_be_record()) {
      if (before_wait) before_wait();
      throw failure(exit_usage,
                    fmt::format("{}:{}: no record: its first mebibyte has no {}", name_, line_,
                                format_ == format_kind::csv   ? "comma"
                                : format_ == format_kind::tsv ? "tab"
                                                              : "JSON object"));
    } else if (fill()) {
      continue;
    } else if (at_end_ && begin_ < end_) {
      frame = take_frame(end_);  // the last line has no line end
      begin_ = scanned_ = end_;
    } else {
      return false;
    }
    if (!frame.empty()) return true;
  }
}

/// Moves scanned_ to the line end that closes the frame, or to the end of what was read.
bool record_input::find_frame_end() {
  if (format_ == format_kind::csv) return find_csv_frame_end();
  const void* found = std::memchr(buffer_.data() + scanned_, '\n', end_ - scanned_);
  scanned_ =
      found ? static_cast<std::size_t>(static_cast<const char*>(found) - buffer_.data()) : end_;
  return found != nullptr;
}

/// The mark stands at the beginning of the first line.
bool record_input::is_of_byte_order_mark(std::size_t at) const {
  const std::size_t i = at - begin_;
  return line_ == 1 && i < byte_order_mark.size() && buffer_[at] == byte_order_mark[i];
}

bool record_input::find_csv_frame_end() {
  for (; scanned_ < end_; ++scanned_) {
    const char c = buffer_[scanned_];
    switch (place_) {
      case place::quoted:
        if (c == '"') place_ = place::quote_in_quoted;
        continue;
      case place::quote_in_quoted:
        if (c == '"') {
          place_ = place::quoted;
          continue;
        }
        break;
      case place::field_start:
        if (c == '"') {
          place_ = place::quoted;
          continue;
        }
        if (is_of_byte_order_mark(scanned_)) continue;  // a quote may follow it
        break;
      case place::unquoted: break;
    }
    if (c == '\n') return true;
    place_ = c == ',' ? place::field_start : place::unquoted;
  }
  return false;
}

std::string_view record_input::take_frame(std::size_t end) {
  std::string_view frame(buffer_.data() + begin_, end - begin_);
  place_ = place::field_start;
  frame_line_ = line_;
  line_ += 1 + static_cast<std::uint64_t>(std::count(frame.begin(), frame.end(), '\n'));
  if (frame_line_ == 1 && begins_as_utf16(frame))
    throw failure(exit_usage,
                  name_ +
                      ": it begins as a text of UTF-16 does; convert it to UTF-8: iconv "
                      "-f UTF-16 -t UTF-8");
  if (frame_line_ == 1 && frame.starts_with(byte_order_mark))
    frame.remove_prefix(byte_order_mark.size());
  if (frame.ends_with('\r'))
    frame.remove_suffix(1);  // a line end of the other kind; inside a field it is escaped or quoted
  return frame;
}

/// Reads more behind what is there; false at the end of the file, and when a signal came.
bool record_input::fill() {
  if (at_end_) return false;
  if (before_wait && must_wait()) before_wait();
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    scanned_ -= begin_;
    end_ -= begin_;
    begin_ = 0;
  }
  if (buffer_.size() < end_ + read_bytes)
    buffer_.resize(std::max(end_ + read_bytes, 2 * buffer_.size()));
  if (!await_more()) return false;
  ssize_t got;
  do got = ::read(file_, buffer_.data() + end_, buffer_.size() - end_);
  while (got < 0 && (errno == EINTR || errno == EAGAIN));
  if (got < 0) {
    const int fault = errno;
    if (before_wait) before_wait();  // nothing more comes: what came is not held back
    refuse(name_, fault);
  }
  at_end_ = got == 0;
  end_ += static_cast<std::size_t>(got);
  bytes_read_ += static_cast<std::uint64_t>(got);
  return got > 0;
}

/// False for what is no text at all, before all of it is in memory: keys are much shorter than what
/// was looked at.
bool record_input::may_be_record() const {
  const std::string_view start(buffer_.data() + begin_, hopeless_bytes);
  if (format_ == format_kind::csv) return start.find(',') != start.npos;
  if (format_ == format_kind::tsv) return start.find('\t') != start.npos;
  const std::size_t first = start.find_first_not_of(" \t\r\n");
  return first != start.npos && (start[first] == '{' || start.starts_with(byte_order_mark));
}

bool record_input::must_wait() const {
  pollfd asked{.fd = file_, .events = POLLIN, .revents = 0};
  return ::poll(&asked, 1, 0) <= 0;
}

/// False if a signal came first.
bool record_input::await_more() const {
  pollfd either[] = {{.fd = file_, .events = POLLIN, .revents = 0},
                     {.fd = interruption::descriptor(), .events = POLLIN, .revents = 0}};
  while (::poll(either, 2, -1) < 0 && errno == EINTR) {}
  return interruption::asked() == 0;
}

}  // namespace durahash::tool
