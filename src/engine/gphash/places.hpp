// GPHash: what follows from a key's hash alone: where the key may be (docs/reference/format.md,
// "Gphash"). Arithmetic, trivially copyable, constexpr: host and device compute the same.
#pragma once

#include "engine/gphash/format.hpp"

namespace durahash::gphash {

/// The fingerprint of a key of bytes: its hash. Eight hashes, which stand for states, share the
/// buckets of others.
constexpr std::uint64_t fingerprint_of(std::uint64_t bytes_hash) noexcept {
  return bytes_hash < first_fingerprint ? bytes_hash + first_fingerprint : bytes_hash;
}

/// The bucket that a place names in a level of 2^log2 of them.
constexpr std::uint64_t bucket_number(std::uint64_t place, unsigned log2) noexcept {
  return place >> (64 - log2);
}

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
  [[gnu::always_inline]] constexpr std::uint64_t place(std::uint64_t hash,
                                                       unsigned which) const noexcept {
    return which == 0 ? hash
                      : other_place(hash, which,
                                    hash * 0x9e3779b97f4a7c15u >> (64 - 4 * which) & (maps - 1));
  }
  constexpr std::uint64_t other_place(std::uint64_t hash, unsigned which,
                                      unsigned map) const noexcept {
    return hash ^ flips_[which][map] ^ (((hash ^ hash >> 7) >> 1) & carries_[which][map]);
  }
  /// Which of the hash's places names this bucket of a level of 2^log2: one at most, for they
  /// differ in every level. -1: none, and no search for the hash looks there.
  constexpr int place_in(std::uint64_t hash, unsigned log2, std::uint64_t bucket) const noexcept {
    for (unsigned which = 0; which < shape_.hashes; ++which)
      if (bucket_number(place(hash, which), log2) == bucket) return static_cast<int>(which);
    return -1;
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

/// Where the records are whose hashes begin with the first `bits` of a prefix: in buckets whose
/// numbers begin with the first `bits` of one of these places. At least one bit, at most 63.
class places_of_prefix {
 public:
  places_of_prefix(const places& of, std::uint64_t prefix, unsigned bits) noexcept : bits_(bits) {
    note(prefix);
    for (unsigned which = 1; which < of.form().hashes; ++which)
      for (unsigned map = 0; map < places::maps; ++map) note(of.other_place(prefix, which, map));
    std::sort(all_, all_ + count_);
  }
  const std::uint64_t* begin() const noexcept { return all_; }
  const std::uint64_t* end() const noexcept { return all_ + count_; }

  /// Calls visit(first, end) for those buckets of a level of 2^log2, side by side, in their order.
  template <class Visit>
  [[gnu::always_inline]] void for_each_run(unsigned log2, Visit&& visit) const {
    std::uint64_t last = ~std::uint64_t{0};
    for (const std::uint64_t place : *this) {
      const std::uint64_t first = bucket_number(place, log2);
      if (first == last) continue;  // a bucket of several prefixes
      visit(first, first + (log2 > bits_ ? std::uint64_t{1} << (log2 - bits_) : 1));
      last = first;
    }
  }

 private:
  void note(std::uint64_t place) noexcept {
    place = place >> (64 - bits_) << (64 - bits_);
    // of few bits many are the same
    if (std::find(all_, all_ + count_, place) == all_ + count_) all_[count_++] = place;
  }
  unsigned bits_, count_ = 0;
  std::uint64_t all_[1 + (max_hashes - 1) * places::maps];
};

}  // namespace durahash::gphash
