// One bucket: which of its slots may hold a key, and which one a new record goes to. All of it is
// inlined into reads and writes.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/bytes16.hpp"
#include "engine/turbo/format.hpp"
#include "engine/turbo/places.hpp"
#include "persist/order.hpp"

namespace durahash::turbo {

/// The first of these slots; there is one.
constexpr std::size_t first_of(std::uint32_t slots) noexcept {
  return static_cast<unsigned>(__builtin_ctz(slots));
}

/// A slot, in the form that takes the fewest instructions.
template <class Bucket>
auto& slot_in(Bucket& b, std::size_t i) noexcept {
  using its_slot = std::conditional_t<std::is_const_v<Bucket>, const slot, slot>;
  using byte = std::conditional_t<std::is_const_v<Bucket>, const char, char>;
  std::size_t distance = static_cast<unsigned>(i) * unsigned{sizeof(slot)};
  asm("" : "+r"(distance));  // else the header is added to it, and it is no index any more
  return *reinterpret_cast<its_slot*>(reinterpret_cast<byte*>(&b) + distance +
                                      offsetof(bucket, slots));
}

/// Where a search expects the record, if not in the first line.
inline const char* near_line(const bucket* home, std::uint64_t hash) noexcept {
  return reinterpret_cast<const char*>(home) + byte_of_near_line(hash);
}

// ---------------------------------------------------------------------------------- of new records

/// The slots that a new record may go to: deleted ones, else empty ones.
constexpr std::uint32_t open_in(meta_word meta) noexcept {
  return meta.deleted() != 0 ? meta.deleted() : meta.empty();
}
/// Of these slots, where the first line has none: at the end that the hash tells.
constexpr std::size_t best_behind(std::uint32_t open, std::uint64_t hash) noexcept {
  return from_the_end(hash) ? 31u ^ static_cast<unsigned>(__builtin_clz(open)) : first_of(open);
}
/// The one of these slots that a new record of that hash goes to: in the first line, where it needs
/// no fence of its own, or else at the end that the hash tells. There is one.
constexpr std::size_t best_of(std::uint32_t open, std::uint64_t hash) noexcept {
  return (open & slots_of_first_line) == 0 ? best_behind(open, hash) : first_of(open);
}

// -------------------------------------------------------------------------------------- of records

template <medium M>
std::uint8_t tag_at(M& m, const bucket& b, int slot) noexcept {
  return static_cast<std::uint8_t>(load(m, b.tags[slot / 8]) >> (slot % 8 * 8));
}

/// The slots that have the hash's tag.
template <medium M>
[[gnu::always_inline]] inline std::uint32_t match_tags(M& m, const bucket& b,
                                                       std::uint64_t hash) noexcept {
  bytes16 tags;
  if constexpr (reads_plainly<M>) {  // in any order: the commit word, read again, vouches for them
    tags = bytes16_at(b.tags[0].raw());
    read_before_what_follows();
  } else {
    const std::uint64_t first = load(m, b.tags[0]);
    tags = bytes16_of(first, load(m, b.tags[1]));
  }
  return same_bytes(tags, in_each_byte(hash));
}

/// The valid ones of them. A deleted one may be among them: `find_in` tells.
template <medium M>
[[gnu::always_inline]] inline std::uint32_t match_valid(M& m, const bucket& b, meta_word meta,
                                                        std::uint64_t hash) noexcept {
  return match_tags(m, b, hash) & all_slots & static_cast<std::uint32_t>(meta.bits);
}

/// Of these slots, those from the one that holds the key on; 0: none does.
template <medium M>
[[gnu::always_inline]] inline std::uint32_t find_in(M& m, const bucket& b, meta_word meta,
                                                    std::uint32_t hits,
                                                    std::uint64_t key_word) noexcept {
  for (; hits != 0; hits &= hits - 1) {
    const std::size_t i = first_of(hits);
    if (!meta.is_deleted(i) && holds(m, slot_in(b, i).key, key_word)) [[likely]]
      break;
  }
  return hits;
}

/// The first of these slots that holds the key, or null. A slot is told by the place of its bit
/// `deleted`: one number in one register.
template <medium M>
[[gnu::always_inline]] inline const slot* slot_of(M& m, const bucket& b, meta_word meta,
                                                  std::uint32_t hits,
                                                  std::uint64_t key_word) noexcept {
  constexpr unsigned deleted_bits = meta_word::first_deleted_bit;
  const char* const bits_0 =
      reinterpret_cast<const char*>(&b) + offsetof(bucket, slots) - deleted_bits * sizeof(slot);
  for (; hits != 0; hits &= hits - 1) {
    unsigned bit = static_cast<unsigned>(__builtin_ctz(hits)) + deleted_bits;
    asm("" : "+r"(bit));
    if ((meta.bits >> bit & 1) != 0) continue;
    const void* const at = bits_0 + bit * unsigned{sizeof(slot)};
    const slot* const s = static_cast<const slot*>(at);
    if (holds(m, s->key, key_word)) [[likely]]
      return s;
  }
  return nullptr;
}

/// Whether nothing was written to the bucket since its commit word was this one.
template <medium M>
[[gnu::always_inline]] inline bool is_as_read(M& m, const bucket& b, meta_word meta) noexcept {
  if (M::planted("one-write-in-between-is-tolerated"))
    return (load(m, b.meta).bits >> 28) - (meta.bits >> 28) <= 1;
  return holds(m, b.meta, meta);
}

/// Where paths of a shard lead. Buckets of an array, from the home bucket on.
template <medium M>
struct path_in {
  M& m;
  const bucket* first;
  std::uint64_t mask;
  unsigned scope;

  const bucket& at(std::uint64_t home, std::uint64_t distance) const noexcept {
    return first[(home + distance) & mask];
  }
  /// Buckets that a search for an absent key looks at, the home included.
  std::uint64_t length_from(std::uint64_t home) const noexcept {
    std::uint64_t length = 1;
    while (length < scope && !load(m, at(home, length - 1).meta).ends_path()) ++length;
    return length;
  }
  /// Whether a search from this home gets as far as the bucket with that index.
  bool reaches(std::uint64_t home, std::uint64_t index) const noexcept {
    const std::uint64_t distance = (index - home) & mask;
    if (distance >= scope) return false;
    for (std::uint64_t d = 0; d < distance; ++d)
      if (load(m, at(home, d).meta).ends_path()) return false;
    return true;
  }
};

}  // namespace durahash::turbo
