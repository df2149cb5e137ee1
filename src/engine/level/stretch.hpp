// Level hashing: what a scan reads at once.
#pragma once

#include <cstdint>
#include <iterator>

#include "engine/frame/frame.hpp"
#include "engine/level/bucket.hpp"
#include "engine/level/places.hpp"

namespace durahash::level {

/// Of the hashes with a prefix. Records are written to its end before it is known whether they
/// belong to it.
struct stretch : plain_stretch<true> {
  std::uint64_t prefix = 0;
  unsigned bits = 0;
  live_record* end = nullptr;
  // buckets that were looked over, and the slots in which its records may be
  static constexpr unsigned at_once = 64;
  unsigned noted = 0;
  struct {
    bucket where;
    std::uint64_t state;
    std::uint32_t slots;
    tag_bits tags;
  } ahead[at_once];

  void begin_with(std::uint64_t its_prefix, unsigned its_bits) noexcept {
    prefix = its_prefix, bits = its_bits, noted = 0;
    end = records.data();
  }
  live_record* room(std::ptrdiff_t more) {
    const std::ptrdiff_t count = end - records.data();
    if (count + more > std::ssize(records)) [[unlikely]] {
      records.resize(static_cast<std::size_t>(2 * (count + more)));
      end = records.data() + count;
    }
    return end;
  }
  void finish() { records.resize(static_cast<std::size_t>(end - records.data())); }
};

}  // namespace durahash::level
