// Types of what lies in a pool: fields that only the verbs can change, and offsets in place of
// pointers.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

namespace durahash {

template <std::size_t Bytes>
using word_of_size = std::conditional_t<
    Bytes == 1, std::uint8_t,
    std::conditional_t<Bytes == 2, std::uint16_t,
                       std::conditional_t<Bytes == 4, std::uint32_t, std::uint64_t>>>;

/// What one atomic store can write: no pointers (a pool moves), no padding (its bytes would be
/// undefined).
template <class T>
concept storable = std::is_trivially_copyable_v<T> && std::has_unique_object_representations_v<T> &&
                   !std::is_pointer_v<T> &&
                   (sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8);

/// A field of a structure in a pool. Read with load or observe, changed with the verbs of
/// order.hpp, and in no other way.
template <storable T>
class alignas(sizeof(T)) pm {
 public:
  using value_type = T;
  using word = word_of_size<sizeof(T)>;

  pm(const pm&) = delete;
  pm& operator=(const pm&) = delete;
  pm& operator=(T) = delete;

  /// For the verbs, and for a device's.
  constexpr word* raw() noexcept { return &raw_; }
  constexpr const word* raw() const noexcept { return &raw_; }

 private:
  word raw_;
};

/// Offset of a T from the start of the pool. 0, the superblock, stands for none.
template <class T>
struct poff {
  std::uint64_t offset = 0;
  explicit operator bool() const noexcept { return offset != 0; }
  friend bool operator==(poff, poff) = default;
};

}  // namespace durahash
