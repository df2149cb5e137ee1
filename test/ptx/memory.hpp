// Which memory there is: pieces that the program was given or has registered. An access outside of
// them, across two, or at an address that its size does not divide, is a fault.
#pragma once

#include <map>
#include <optional>

#include "test/ptx/fault.hpp"
#include "test/ptx/instruction.hpp"

namespace durahash::ptx {

enum class owner : std::uint8_t { device, host };

struct piece {
  std::uint64_t first, end;
  owner of;
  bool registered;  // memory of the program's, and not made for it
};

class memory {
 public:
  /// False: it overlaps what is there.
  bool add(std::uint64_t first, std::uint64_t bytes, owner of, bool registered) {
    last_ = {};
    auto next = pieces_.lower_bound(first);
    if (next != pieces_.end() && next->first < first + bytes) return false;
    if (next != pieces_.begin() && std::prev(next)->second.end > first) return false;
    return pieces_.emplace(first, piece{first, first + bytes, of, registered}).second;
  }
  std::optional<piece> remove(std::uint64_t first, bool registered) {
    last_ = {};
    auto at = pieces_.find(first);
    if (at == pieces_.end() || at->second.registered != registered) return std::nullopt;
    piece gone = at->second;
    pieces_.erase(at);
    return gone;
  }
  /// The piece that has all of it, or null.
  const piece* find(std::uint64_t address, std::uint64_t bytes) const {
    if (address >= last_.first && address + bytes <= last_.end) return &last_;
    auto at = pieces_.upper_bound(address);
    if (at == pieces_.begin()) return nullptr;
    --at;
    if (address + bytes > at->second.end) return nullptr;
    last_ = at->second;
    return &last_;
  }
  const std::map<std::uint64_t, piece>& pieces() const { return pieces_; }

 private:
  std::map<std::uint64_t, piece> pieces_;
  mutable piece last_{};
};

/// A word of the program's memory, as its threads see it beside.
inline std::uint64_t read_now(std::uint64_t at, unsigned bytes) {
  switch (bytes) {
    case 1: return __atomic_load_n(reinterpret_cast<std::uint8_t*>(at), __ATOMIC_ACQUIRE);
    case 2: return __atomic_load_n(reinterpret_cast<std::uint16_t*>(at), __ATOMIC_ACQUIRE);
    case 4: return __atomic_load_n(reinterpret_cast<std::uint32_t*>(at), __ATOMIC_ACQUIRE);
    default: return __atomic_load_n(reinterpret_cast<std::uint64_t*>(at), __ATOMIC_ACQUIRE);
  }
}
inline void write_now(std::uint64_t at, unsigned bytes, std::uint64_t v) {
  switch (bytes) {
    case 1:
      return __atomic_store_n(reinterpret_cast<std::uint8_t*>(at), static_cast<std::uint8_t>(v),
                              __ATOMIC_RELEASE);
    case 2:
      return __atomic_store_n(reinterpret_cast<std::uint16_t*>(at), static_cast<std::uint16_t>(v),
                              __ATOMIC_RELEASE);
    case 4:
      return __atomic_store_n(reinterpret_cast<std::uint32_t*>(at), static_cast<std::uint32_t>(v),
                              __ATOMIC_RELEASE);
    default: return __atomic_store_n(reinterpret_cast<std::uint64_t*>(at), v, __ATOMIC_RELEASE);
  }
}

}  // namespace durahash::ptx
