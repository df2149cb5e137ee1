// Pools whose closed file says wrong things of the heap: what a clean close saves for the next open
// (docs/reference/format.md, "saved allocation state"), with wild numbers in it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "setup.hpp"

namespace durahash::test {

/// A closed pool whose heap has slabs of several classes, some not full, and extents.
struct saved_state_pool {
  static constexpr std::uint64_t records = 300;
  static std::string value(const setup& with, std::uint64_t n);
  static std::string image(const setup& with);
};

/// The damages of one image, numbered: the same number and seed are the same damage.
class saved_state_damage {
 public:
  explicit saved_state_damage(const std::string& image);

  std::uint64_t count() const { return (words_ + fields) * numbers + several; }
  /// A share that the seed chooses, a smaller one of those in bitmaps; with DURAHASH_LONG=1 all.
  bool is_tried(std::uint64_t which, std::uint64_t seed) const;
  /// Whether the state's checksum is made good again; the root's always is.
  bool is_sealed(std::uint64_t which) const;
  /// Whether the open must pass the state over, and find all that it says in the slots.
  bool must_recover(std::uint64_t which) const {
    const std::uint64_t place = which / numbers;
    return !is_sealed(which) && (place < words_ || place >= words_ + fields);
  }
  /// Applies it to a copy of the image; says in words what it is.
  std::string apply(std::uint64_t which, std::uint64_t seed, std::string& copy) const;

 private:
  static constexpr std::uint64_t fields = 3;     // of the root
  static constexpr std::uint64_t numbers = 24;   // that are tried in each word
  static constexpr std::uint64_t several = 200;  // damages of more than one word

  std::uint64_t number(std::uint64_t which, std::uint64_t word, std::uint64_t random) const;

  std::uint64_t pool_bytes_, at_, words_;
  std::vector<std::uint64_t> saved_;   // its words
  std::vector<bool> is_structure_;     // by the same index: not a bitmap's
  std::vector<std::uint64_t> places_;  // offsets that it names
};

}  // namespace durahash::test
