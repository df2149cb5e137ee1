// A file of records, read frame by frame, with the line numbers that its author sees.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "format.hpp"

namespace durahash::tool {

class record_input {
 public:
  /// `path` may be "-" for standard input. Throws `failure` if it cannot be read.
  record_input(const std::string& path, format_kind format);
  ~record_input();
  record_input(const record_input&) = delete;
  record_input& operator=(const record_input&) = delete;

  /// The next frame without its line end, empty lines skipped; false at the end, and when a signal
  /// came that ends the command (tool/interruption.hpp) while more was waited for. The view holds
  /// until the next call.
  bool next(std::string_view& frame);

  /// The last frame had a line end. One without stands at the end of the input; it may be cut off.
  bool terminated() const { return terminated_; }

  /// Called before more input is waited for, and not where it is there already, as a file's always
  /// is. A producer that waits for acknowledgements before it goes on is not kept waiting.
  std::function<void()> before_wait;

  const std::string& name() const { return name_; }   ///< for messages
  std::uint64_t line() const { return frame_line_; }  ///< where the last frame began, from 1
  std::uint64_t lines_taken() const {
    return line_ - 1;
  }  ///< all that `next` is past, empty ones too
  std::uint64_t bytes_read() const { return bytes_read_; }
  std::uint64_t total_bytes() const { return total_bytes_; }  ///< 0 if unknown

 private:
  /// Where inside a csv frame the scan stands. Other formats end at every line end.
  enum class place { field_start, unquoted, quoted, quote_in_quoted };

  bool find_frame_end();
  bool find_csv_frame_end();
  bool is_of_byte_order_mark(std::size_t at) const;
  bool fill();
  bool may_be_record() const;
  bool must_wait() const;
  bool await_more() const;
  std::string_view take_frame(std::size_t end);

  std::string name_;
  int file_ = -1;
  format_kind format_;
  std::string buffer_;
  std::size_t begin_ = 0;    // of the frame
  std::size_t scanned_ = 0;  // no frame end between begin_ and here
  std::size_t end_ = 0;      // of what was read
  place place_ = place::field_start;
  bool at_end_ = false;
  bool terminated_ = true;
  std::uint64_t line_ = 1;
  std::uint64_t frame_line_ = 0;
  std::uint64_t bytes_read_ = 0;
  std::uint64_t total_bytes_ = 0;
};

}  // namespace durahash::tool
