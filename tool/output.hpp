// Standard output, where results go: buffered by the caller's choice, and never silently lost.
#pragma once

#include <string>
#include <string_view>

namespace durahash::tool {

/// Text on its way to standard output. What was appended is written by `flush`, by itself past a mebibyte, never by the destructor:
/// a command that fails halfway decides what it still says.
class output {
 public:
  /// Room to append to; call `flush_if_full` after.
  std::string& text() { return text_; }

  void flush_if_full() {
    if (text_.size() >= full_bytes) flush();
  }
  /// Throws `failure` when standard output takes no more.
  void flush();

 private:
  static constexpr std::size_t full_bytes = 1 << 20;
  std::string text_;
};

/// Writes a result at once.
void print(std::string_view text);

}  // namespace durahash::tool
