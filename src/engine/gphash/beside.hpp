// GPHash: read beside a writer of another process. The root's words name the levels; the writer's
// stripes tell whether a slot of words was lent to another key; records of bytes tell whose they
// are themselves (docs/explanation/readers.md).
#pragma once

#include "engine/beside.hpp"
#include "engine/frame/stripes.hpp"
#include "engine/gphash/places.hpp"
#include "engine/gphash/stripe.hpp"

namespace durahash::gphash {

template <medium M, class Kind>
class beside {
 public:
  using kind = Kind;
  using key_type = typename Kind::key_type;
  using record = copied_record<Kind>;
  static constexpr bool finds_by_versions = Kind::in_slot, scans_by_versions = Kind::in_slot;
  static constexpr bool reads_pairs = false;

  explicit beside(beside_pool<M>& p)
      : p_(p),
        seeds_(seeds_of(p.block())),
        shape_(shape_of(p.block().settings)),
        places_(shape_, seeds_) {}

  bool is_possible() const noexcept {
    const setting_words& s = p_.block().settings;
    return s[setting::levels] == shape_.levels && s[setting::hashes] == shape_.hashes &&
           s[setting::slots] == shape_.slots &&
           shape_.levels * shape_.hashes * shape_.slots <= 32 &&
           (shape_.key_bytes != 0) == Kind::fixed_key && p_.block().engine_bytes == sizeof(root);
  }
  std::size_t key_bytes() const noexcept { return shape_.key_bytes; }

  looked find(key_type key, const std::byte* versions, record& found) const {
    const std::uint64_t hash = hash_of(key);
    const candidates c = places_.candidates_of(hash, Kind::in_slot);
    named_levels v;
    if (looked bad = levels(v); bad != looked::hit)
      return bad == looked::miss && c.escape < 0 ? looked::miss : bad;
    found.hash = hash;
    const std::uint32_t version = version_of(versions, v, hash);
    looked_at<M> lines(p_.medium());
    looked answer = looked::miss;
    if (c.escape >= 0) {
      const slot& at = root_of_table().escapes[c.escape];
      lines.add(&at, sizeof at);
      answer = read_if({&at.state, &at.value, nullptr}, c.fingerprint, key, found);
    }
    for (unsigned l = 0; c.escape < 0 && l < shape_.levels && answer == looked::miss; ++l)
      for (unsigned which = 0; which < shape_.hashes && answer == looked::miss; ++which) {
        const auto* const b = bucket_at(v.at[l], bucket_number(c.place[which], v.at[l].log2));
        lines.add(b, shape_.bucket_bytes());
        for (unsigned i = 0; i < shape_.slots && answer == looked::miss; ++i)
          answer = read_if(slot_at(b, i), c.fingerprint, key, found);
      }
    lines.make_durable();
    if (version_of(versions, v, hash) != version || !are_still_named(v)) return looked::again;
    return answer;
  }

  /// All records whose hashes begin with some bits: of words, those of one stripe.
  looked read_stretch(std::uint64_t position, const std::byte* versions, std::vector<record>& found,
                      std::uint64_t& end) const {
    named_levels v;
    if (looked bad = levels(v); bad != looked::hit)
      return end = 0, bad == looked::miss ? looked::hit : bad;
    const unsigned bits = stripe_bits_of(v);
    const std::uint64_t prefix = position >> (64 - bits) << (64 - bits);
    end = prefix + (std::uint64_t{1} << (64 - bits));
    const places_of_prefix where(places_, prefix, bits);
    looked_at<M> lines(p_.medium());
    looked answer = looked::hit;
    for (const named_level& l : v.all(shape_.levels))
      where.for_each_run(l.log2, [&](std::uint64_t first, std::uint64_t behind) {
        for (std::uint64_t n = first; n < behind && answer == looked::hit; ++n) {
          const auto* const b = bucket_at(l, n);
          lines.add(b, shape_.bucket_bytes());
          for (unsigned i = 0; i < shape_.slots && answer == looked::hit; ++i)
            answer = read_slot(slot_at(b, i), versions, v, prefix, bits, found);
        }
      });
    if (answer != looked::hit) return answer;
    if constexpr (Kind::in_slot)
      for (unsigned i = 0; prefix == 0 && i < first_fingerprint; ++i) {
        const slot& at = root_of_table().escapes[i];
        lines.add(&at, sizeof at);
        record r;
        r.hash = i, r.key_word = places_.words().key_of(i);
        const std::uint32_t version = version_of(versions, v, i);
        const looked read =
            read_if({&at.state, &at.value, nullptr}, escape_fingerprint, r.key_word, r);
        if (version_of(versions, v, i) != version || read == looked::again) return looked::again;
        r.hash = i;
        if (read == looked::hit) found.push_back(r);
      }
    lines.make_durable();
    return are_still_named(v) ? looked::hit : looked::again;
  }

  std::uint64_t slots() const noexcept {
    named_levels v;
    return levels(v) == looked::hit ? slots_of(shape_, v.at[0].log2) : 0;
  }

 private:
  struct named_level {
    std::uint64_t word, offset;
    unsigned log2;
  };
  /// From the top down.
  struct named_levels {
    std::uint64_t geometry_word;
    named_level at[max_levels];
    std::span<const named_level> all(unsigned count) const noexcept { return {at, count}; }
  };
  using words = const pm<std::uint64_t>*;
  struct slot_words {
    words state, value, key;
  };

  static shape shape_of(const setting_words& s) noexcept {
    const auto within = [&](setting which, std::uint64_t most) {
      return static_cast<unsigned>(std::clamp<std::uint64_t>(s[which], 1, most));
    };
    const unsigned slots = std::bit_floor(within(setting::slots, max_slots));
    return {within(setting::levels, max_levels), within(setting::hashes, max_hashes), slots,
            static_cast<unsigned>(std::countr_zero(slots)),
            static_cast<unsigned>(
                std::min<std::uint64_t>(s[setting::key_bytes] / 8 * 8, gphash::max_key_bytes))};
  }
  const root& root_of_table() const noexcept {
    return *p_.template at<root>(p_.block().engine_offset);
  }
  std::uint64_t hash_of(key_type key) const noexcept {
    if constexpr (Kind::in_slot) {
      return places_.words().mix(key);
    } else {
      return fingerprint_of(bytes_hash(key, seeds_));
    }
  }
  /// miss: there are none yet.
  looked levels(named_levels& v) const noexcept {
    v.geometry_word = load(p_.medium(), root_of_table().geometry);
    const geometry g{v.geometry_word};
    if (g.none()) return looked::miss;
    if (!g.sound() || g.bottom() < min_bottom || g.bottom() + shape_.levels > level_sizes)
      return looked::suspect;
    for (unsigned l = 0; l < shape_.levels; ++l) {
      const unsigned log2 = g.bottom() + shape_.levels - 1 - l;
      const checked_place at{load(p_.medium(), root_of_table().levels[g.bank()][log2])};
      if (at.none() || !at.sound() || at.exponent() != log2 ||
          !p_.holds(at.offset(), shape_.level_bytes(log2)))
        return looked::suspect;
      v.at[l] = {at.word, at.offset(), log2};
    }
    return looked::hit;
  }
  bool are_still_named(const named_levels& v) const noexcept {
    std::atomic_thread_fence(std::memory_order_acquire);
    const unsigned bank = geometry{v.geometry_word}.bank();
    for (const named_level& l : v.all(shape_.levels))
      if (load(p_.medium(), root_of_table().levels[bank][l.log2]) != l.word) return false;
    return load(p_.medium(), root_of_table().geometry) == v.geometry_word;
  }
  static unsigned stripe_bits_of(const named_levels& v) noexcept {
    return std::min(v.at[0].log2, stripe_bits_on<M>);
  }
  /// Of the key's stripe; 0 where nobody writes, or versions are not needed.
  static std::uint32_t version_of(const std::byte* versions, const named_levels& v,
                                  std::uint64_t hash) noexcept {
    if (versions == nullptr || M::planted("beside-versions-are-not-asked")) return 0;
    std::atomic_thread_fence(std::memory_order_acquire);
    const auto* const stripes = reinterpret_cast<const stripe_state<M>*>(versions);
    return stripes[hash >> (64 - stripe_bits_of(v))].mark.version();
  }
  words bucket_at(const named_level& l, std::uint64_t index) const noexcept {
    return p_.template at<pm<std::uint64_t>>(l.offset + index * shape_.bucket_bytes());
  }
  slot_words slot_at(words b, unsigned i) const noexcept {
    return {b + i, b + shape_.slots + i, b + 2 * shape_.slots + i * shape_.key_words()};
  }
  bool is(const slot_words& at, std::uint64_t state, std::uint64_t value) const noexcept {
    std::atomic_thread_fence(std::memory_order_acquire);
    return (load(p_.medium(), *at.value) == value && load(p_.medium(), *at.state) == state) ||
           M::planted("beside-what-was-read-is-not-looked-at-again");
  }

  /// The slot's record, if its state is that. Of words the caller looks at the version again.
  looked read(const slot_words& at, std::uint64_t state, record& found) const {
    const std::uint64_t value = load(p_.medium(), *at.value);
    if constexpr (Kind::in_slot) {
      found.value_word = value;
      return load(p_.medium(), *at.state) == state ? looked::hit : looked::again;
    } else {
      std::uint64_t key[gphash::max_key_bytes / 8];
      if constexpr (Kind::fixed_key)
        for (unsigned n = 0; n < shape_.key_words(); ++n) key[n] = load(p_.medium(), at.key[n]);
      const std::string_view in_slot(reinterpret_cast<const char*>(key), shape_.key_bytes);
      const looked copied =
          copy_record<M>(p_, value, in_slot, found, [&] { return is(at, state, value); });
      return is(at, state, value) ? copied : looked::again;
    }
  }
  looked read_if(const slot_words& at, std::uint64_t state, key_type key, record& found) const {
    if (load(p_.medium(), *at.state) != state) return looked::miss;
    const looked answer = read(at, state, found);
    if constexpr (Kind::in_slot) found.key_word = key;
    else if (answer == looked::hit && found.key() != key) return looked::miss;
    return answer;
  }
  looked read_slot(const slot_words& at, const std::byte* versions, const named_levels& v,
                   std::uint64_t prefix, unsigned bits, std::vector<record>& found) const {
    constexpr int tries = 100;
    looked last = looked::again;
    for (int left = tries; left > 0; --left) {
      const std::uint64_t state = load(p_.medium(), *at.state);
      if (state < first_fingerprint || (state ^ prefix) >> (64 - bits) != 0) return looked::hit;
      const std::uint32_t version = version_of(versions, v, state);
      if (load(p_.medium(), *at.state) != state) continue;
      record r;
      last = read(at, state, r);
      if (version_of(versions, v, state) != version) continue;
      if (last != looked::hit) continue;
      r.hash = state;
      if constexpr (Kind::in_slot) r.key_word = places_.words().key_of(state);
      found.push_back(std::move(r));
      return looked::hit;
    }
    return last;
  }

  beside_pool<M>& p_;
  hash_seeds seeds_;
  shape shape_;
  places places_;
};

}  // namespace durahash::gphash
