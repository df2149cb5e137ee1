// GPHash: where a key may be (docs/reference/format.md, "Gphash"). Arithmetic alone, trivially
// copyable, constexpr: host and device compute the same.
#pragma once

#include "engine/gphash/format.hpp"

namespace durahash::gphash {

/// What to look for.
struct target {
  std::uint64_t hash, fingerprint;
  int escape;  // the escape slot, of a word that has no fingerprint; or -1
};
/// And where.
struct candidates : target {
  std::uint64_t place[max_hashes];
};

class places {
 public:
  static constexpr unsigned maps = 16;  // ways from a hash to each of its other places

  places(const shape& s, const hash_seeds& seeds) noexcept;  // by the host

  constexpr const shape& form() const noexcept { return shape_; }
  constexpr const mixer& words() const noexcept { return mixer_; }

  /// `of_words`: the hash is a word key's mixture, and eight of them stand for states.
  static constexpr target target_of(std::uint64_t hash, bool of_words) noexcept {
    if (of_words && hash < first_fingerprint) [[unlikely]]
      return {hash, escape_fingerprint, static_cast<int>(hash)};
    return {hash, hash, -1};
  }
  [[gnu::always_inline]] constexpr candidates candidates_of(std::uint64_t hash,
                                                            bool of_words) const noexcept {
    candidates s{target_of(hash, of_words), {}};
    for (unsigned which = 0; which < shape_.hashes; ++which) s.place[which] = place(hash, which);
    return s;
  }
  constexpr std::uint64_t place(std::uint64_t hash, unsigned which) const noexcept {
    return which == 0 ? hash
                      : other_place(hash, which,
                                    hash * 0x9e3779b97f4a7c15u >> (64 - 4 * which) & (maps - 1));
  }
  constexpr std::uint64_t other_place(std::uint64_t hash, unsigned which,
                                      unsigned map) const noexcept {
    return hash ^ flips_[which][map] ^ (((hash ^ hash >> 7) >> 1) & carries_[which][map]);
  }

  /// The lane of the first empty slot of the bucket with most of them; of equals of the one in the
  /// uppermost level (§3.2.3, "less-loaded"). -1: none.
  constexpr int room_in(std::uint32_t empty) const noexcept { return room_in(shape_, empty); }
  static constexpr int room_in(const shape& s, std::uint32_t empty) noexcept {
    int best = -1, most = 0;
    for (unsigned lane = 0; lane < s.lanes(); lane += s.slots) {
      std::uint32_t bucket = empty >> lane & static_cast<std::uint32_t>(low_bits(s.slots));
      if (int here = count_bits(bucket); here > most)
        most = here, best = static_cast<int>(lane) + lowest_bit(bucket);
    }
    return best;
  }

 private:
  shape shape_;
  mixer mixer_;
  // of the places but the first
  std::uint64_t flips_[max_hashes][maps] = {}, carries_[max_hashes][maps] = {};
};
static_assert(std::is_trivially_copyable_v<places>);

}  // namespace durahash::gphash
