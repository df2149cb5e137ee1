// What a table of the engine level holds, read from its bytes alone (docs/reference/format.md,
// "level"): in memory, or in the image that a power cut leaves.
#pragma once

#include <cstring>
#include <map>
#include <vector>

#include "engine/level/format.hpp"
#include "engine/place.hpp"
#include "persist/format.hpp"

namespace durahash::test {

/// A slot with a token.
struct level_item {
  unsigned level_log2 = 0, slot = 0;
  std::uint64_t bucket = 0;
  std::uint64_t key_word = 0, value_word = 0;
  friend bool operator==(const level_item&, const level_item&) = default;
};

class level_image {
 public:
  /// Bytes behind the end are zeros.
  level_image(const std::byte* base, std::size_t size) : base_(base), size_(size) {
    level::shape shape =
        level::shape::of(static_cast<unsigned>(word(offsetof(superblock, settings))));
    std::uint64_t root = word(offsetof(superblock, engine_offset));
    intents_offset = root + offsetof(level::root, intents);
    for (unsigned log2 = 0; log2 < level::level_sizes; ++log2) {
      checked_place at{word(root + 8 * log2)};
      if (at.none()) continue;
      levels.push_back(log2);
      drains_top = (at.exponent() & level::draining) != 0;
      for (std::uint64_t n = 0; n < std::uint64_t{1} << log2; ++n)
        read_bucket(shape, log2, n, at.offset() + (n << shape.bytes_log2));
    }
    for (std::size_t n = 0; n < level::intent_count; ++n) {
      std::uint64_t intent = intents_offset + n * sizeof(level::intent);
      logs += word(intent + offsetof(level::intent, logged_check)) != 0;
    }
  }
  explicit level_image(const std::vector<std::byte>& image)
      : level_image(image.data(), image.size()) {}

  /// How often a key's word is there.
  std::map<std::uint64_t, int> copies() const {
    std::map<std::uint64_t, int> found;
    for (const level_item& i : items) ++found[i.key_word];
    return found;
  }
  /// How many are there more than once.
  int doubled() const {
    int sum = 0;
    for (auto [key, count] : copies()) sum += count > 1;
    return sum;
  }

  std::vector<unsigned> levels;  // their sizes, log2, from the smallest
  bool drains_top = false;       // the largest is marked
  std::uint64_t intents_offset = 0;
  int logs = 0;  // updates that are logged
  std::vector<level_item> items;

 private:
  std::uint64_t word(std::uint64_t at) const {
    std::uint64_t found = 0;
    if (at + sizeof found <= size_) std::memcpy(&found, base_ + at, sizeof found);
    return found;
  }
  void read_bucket(const level::shape& shape, unsigned log2, std::uint64_t number,
                   std::uint64_t at) {
    level::bucket_state state{word(at)};
    for (unsigned n = 0; n < shape.slots; ++n) {
      if ((state.tokens() >> n & 1) == 0) continue;
      std::uint64_t slot = at + shape.header_bytes + n * sizeof(level::slot);
      items.push_back({log2, n, number, word(slot), word(slot + 8)});
    }
  }

  const std::byte* base_;
  std::size_t size_;
};

}  // namespace durahash::test
