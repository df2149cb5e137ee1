// Damage to the bytes of a pool, spelled by arbitrary bytes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "sound_pool.hpp"

namespace durahash::fuzz {

/// Takes numbers off the front of arbitrary bytes; missing bytes are 0.
class byte_source {
 public:
  explicit byte_source(std::string_view bytes) : rest_(bytes) {}

  template <class T>
  T take() {
    T value{};
    std::size_t count = std::min(sizeof value, rest_.size());
    std::memcpy(&value, rest_.data(), count);
    rest_.remove_prefix(count);
    return value;
  }
  bool empty() const { return rest_.empty(); }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

/// The pool's bytes after the edits that `source` spells, until it is empty (at most 64).
std::string damaged(const sound_pool& pool, byte_source source);

/// Makes checksums hold again over what the damage left, so that what lies behind them is reached.
void reseal(std::string& bytes);

}  // namespace durahash::fuzz
