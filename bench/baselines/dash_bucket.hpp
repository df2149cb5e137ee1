// A bucket of Dash (§4.1): 32 bytes of meta data, and 14 slots.
//
//   slots_word   bits 0 to 13: used; bits 16 to 29: a member, whose home is the bucket before
//   prints       of 14 slots, a byte each
//   overflow     of up to four records of the stash: fingerprint, place, whose they are; how many
//                more there are
#pragma once

#include <bit>

#include "bench/baselines/design.hpp"

namespace durahash::baselines {

template <unsigned Slots>
struct dash_bucket {
  static_assert(Slots <= 14);
  static constexpr unsigned noted = 4;

  pm<std::uint64_t> slots_word;
  pm<std::uint64_t> prints[2];
  pm<std::uint64_t> overflow;
  record slots[14];

  template <class M>
  bool is_used(M& m, unsigned slot) const {
    return (load(m, slots_word) >> slot & 1) != 0;
  }
  template <class M>
  bool is_member(M& m, unsigned slot) const {
    return (load(m, slots_word) >> (16 + slot) & 1) != 0;
  }
  template <class M>
  unsigned count(M& m) const {
    return static_cast<unsigned>(std::popcount(load(m, slots_word) & 0x3fff));
  }
  template <class M>
  unsigned empty(M& m) const {
    return static_cast<unsigned>(std::countr_one(load(m, slots_word) & 0x3fff));
  }
  template <class M>
  std::uint64_t with(M& m, unsigned slot, bool member) const {
    return without(m, slot) | std::uint64_t{1} << slot | std::uint64_t{member} << (16 + slot);
  }
  template <class M>
  std::uint64_t without(M& m, unsigned slot) const {
    return load(m, slots_word) & ~(std::uint64_t{1} << slot | std::uint64_t{1} << (16 + slot));
  }

  template <class M>
  std::uint8_t print(M& m, unsigned slot) const {
    return static_cast<std::uint8_t>(load(m, prints[slot / 8]) >> (slot % 8 * 8));
  }
  template <class M>
  void set_print(M& m, unsigned slot, std::uint8_t print) {
    const unsigned shift = slot % 8 * 8;
    pm<std::uint64_t>& word = prints[slot / 8];
    store(m, word,
          (load(m, word) & ~(std::uint64_t{0xff} << shift)) | std::uint64_t{print} << shift);
  }

  // The overflow word: 4 fingerprints; from bit 32 4 x used, 4 x member, 4 x 2 bits of the stash's
  // bucket; from bit 48 the count of the others.

  /// Returns false where all four places are taken.
  template <class M>
  bool note_overflow(M& m, std::uint8_t print, unsigned stash, bool member) {
    std::uint64_t word = load(m, overflow);
    const auto i = static_cast<unsigned>(std::countr_one((word >> 32) & 0xf));
    if (i == noted) return false;
    word &= ~(std::uint64_t{0xff} << (8 * i));
    word |= std::uint64_t{print} << (8 * i) | std::uint64_t{1} << (32 + i) |
            std::uint64_t{member} << (36 + i) | std::uint64_t{stash} << (40 + 2 * i);
    store(m, overflow, word);
    return true;
  }
  template <class M>
  void count_overflow(M& m) {
    store(m, overflow, load(m, overflow) + (std::uint64_t{1} << 48));
  }
  template <class M>
  void forget_overflow(M& m) {
    if (load(m, overflow) != 0) store(m, overflow, 0);
  }
  template <class M>
  bool overflows(M& m) const {
    return load(m, overflow) >> 48 != 0;
  }
  template <class M>
  bool overflow_has(M& m, std::uint8_t print, unsigned stash, bool member) const {
    const std::uint64_t word = load(m, overflow);
    for (unsigned i = 0; i < noted; ++i)
      if ((word >> (32 + i) & 1) != 0 && static_cast<std::uint8_t>(word >> (8 * i)) == print &&
          (word >> (36 + i) & 1) == member && (word >> (40 + 2 * i) & 3) == stash)
        return true;
    return false;
  }
};
static_assert(sizeof(dash_bucket<14>) == 256);

}  // namespace durahash::baselines
