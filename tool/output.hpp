// Standard output, where results go: buffered by the caller's choice, and never silently lost.
#pragma once

#include <string>
#include <string_view>

namespace durahash::tool {

/// Text on its way to standard output. What was appended is written by `flush`, by itself past a
/// mebibyte, never by the destructor: a command that fails halfway decides what it still says.
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

/// Writes a result at once. Throws `failure` when standard output takes no more, and when a signal
/// came that ends the command (tool/interruption.hpp) while nobody reads.
void print(std::string_view text);

enum class colour { green, red, yellow };

/// The text in a colour where standard output is a terminal that has some, and NO_COLOR is not set;
/// else as it is.
std::string coloured(std::string_view text, colour in);

/// Writes a message to standard error. One that cannot be written changes nothing.
void tell(std::string_view text) noexcept;

/// Opens what is closed of standard input, output and error, so that no pool gets its number;
/// reading and writing there stay errors. For the beginning of main.
void settle_standard_descriptors() noexcept;

}  // namespace durahash::tool
