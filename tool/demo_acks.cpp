#include "demo_acks.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace durahash::tool {
namespace {

/// What goes before the bytes of key and value.
struct frame_head {
  std::uint32_t key_bytes;
  std::uint32_t value_bytes;
};
constexpr std::uint32_t erased = 0xffff'ffff;  // in place of value_bytes

}  // namespace

void ack_sender::add(std::string_view key, std::optional<std::string_view> value) {
  const frame_head head{static_cast<std::uint32_t>(key.size()),
                        value ? static_cast<std::uint32_t>(value->size()) : erased};
  text_.append(reinterpret_cast<const char*>(&head), sizeof head)
      .append(key)
      .append(value.value_or(""));
}

void ack_sender::send() {
  std::string_view rest = text_;
  while (!rest.empty()) {
    const ssize_t written = ::write(pipe_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) std::_Exit(1);
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  text_.clear();
}

bool ack_receiver::wait(double seconds) {
  pollfd readable{pipe_, POLLIN, 0};
  const int limit_ms = static_cast<int>(std::clamp(seconds * 1000, 0.0, 60'000.0));
  if (::poll(&readable, 1, limit_ms) <= 0) return true;
  text_.erase(0, begin_);
  begin_ = 0;
  char chunk[64 * 1024];
  const ssize_t got = ::read(pipe_, chunk, sizeof chunk);
  if (got < 0) return errno == EINTR;
  text_.append(chunk, static_cast<std::size_t>(got));
  return got > 0;
}

std::optional<acknowledgement> ack_receiver::next() {
  frame_head head;
  const std::string_view rest = std::string_view(text_).substr(begin_);
  if (rest.size() < sizeof head) return std::nullopt;
  std::memcpy(&head, rest.data(), sizeof head);
  const std::size_t value_bytes = head.value_bytes == erased ? 0 : head.value_bytes;
  if (rest.size() < sizeof head + head.key_bytes + value_bytes) return std::nullopt;
  acknowledgement ack{.key = std::string(rest.substr(sizeof head, head.key_bytes)),
                      .value = std::nullopt};
  if (head.value_bytes != erased)
    ack.value = rest.substr(sizeof head + head.key_bytes, value_bytes);
  begin_ += sizeof head + head.key_bytes + value_bytes;
  return ack;
}

}  // namespace durahash::tool
