// Ways to damage the bytes of a pool, numbered: the same number on the same bytes is the same
// damage.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "setup.hpp"

namespace durahash::test {

/// Bytes of a pool that was closed cleanly and holds records [0, count) of the setup.
std::string pool_image(const setup& with, std::uint64_t count);
/// The value of a record of pool_image.
std::string image_value(const setup& with, std::uint64_t n);

class damage {
 public:
  /// The damages of one image. Every byte of the superblocks, of the selector and of the roots is
  /// hit by a flipped bit of its own; then bits and words anywhere, mostly where the image is not
  /// zero; then whole pages.
  explicit damage(const std::string& image);

  std::uint64_t count() const { return superblock_bytes_.size() + anywhere + pages; }

  /// Applies damage `which` to a copy; says in words what it is.
  std::string apply(std::uint64_t which, std::uint64_t seed, std::string& copy) const;

  static constexpr std::uint64_t anywhere = 1200, pages = 120;

 private:
  std::vector<std::uint64_t> superblock_bytes_;  // offsets
  std::vector<std::uint64_t> used_lines_;        // offsets of lines that hold something
};

}  // namespace durahash::test
