// The pipe from the demo's indexing process to the one that kills it: what is durable, said once it
// is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace durahash::tool {

/// One record that is durable: its value, or nothing if it was erased. An empty key says that the
/// pool is open.
struct acknowledgement {
  std::string key;
  std::optional<std::string> value;
};

/// Collects acknowledgements and sends them in one piece.
class ack_sender {
 public:
  explicit ack_sender(int pipe) : pipe_(pipe) {}
  void add(std::string_view key, std::optional<std::string_view> value);
  /// Ends the process if nobody listens any more.
  void send();

 private:
  int pipe_;
  std::string text_;
};

/// Takes them apart again. What a killed sender left unfinished is dropped.
class ack_receiver {
 public:
  explicit ack_receiver(int pipe) : pipe_(pipe) {}

  /// Waits for more, at most so long. False at the end: the sender is dead and everything it sent
  /// was read.
  bool wait(double seconds);

  /// The next one, or nothing until `wait` brought more.
  std::optional<acknowledgement> next();

 private:
  int pipe_;
  std::string text_;
  std::size_t begin_ = 0;
};

}  // namespace durahash::tool
