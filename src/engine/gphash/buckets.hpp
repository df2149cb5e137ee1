// GPHash: the buckets in the pool: where their slots are, what these hold, and how a key's are
// looked at, all in one go (paper §3.1).
//
// It knows of no lock and no version: whether what was read may be believed is its caller's to say.
#pragma once

#include <bit>
#include <cstring>
#include <optional>
#include <span>
#include <string>

#include "base/bytes16.hpp"
#include "base/hash.hpp"
#include "engine/frame/live_record.hpp"
#include "engine/gphash/levels.hpp"
#include "persist/pool.hpp"
#include "warp/host_warp.hpp"

namespace durahash::gphash {

/// Its state words; the value words follow, then the keys.
using bucket_ref = pm<std::uint64_t>*;

struct two_words {
  pm<std::uint64_t>* state = nullptr;
  pm<std::uint64_t>* value = nullptr;
};
struct words_and_key : two_words {
  pm<std::uint64_t>* key = nullptr;
};
template <class Kind>
using slot_ref = std::conditional_t<Kind::fixed_key, words_and_key, two_words>;

template <class Kind>
struct resident : record_of<Kind> {
  slot_ref<Kind> where;
};

/// A key's buckets, whose slots are the lanes of a warp: levels from the top down, in each of them
/// the key's places.
struct warp_view {
  std::uint64_t* buckets[max_levels * max_hashes];
};

template <medium M>
root& root_of(const pool<M>& p) noexcept {
  return *p.at(poff<root>{p.block().engine_offset});
}

template <medium M, class Kind>
class buckets {
 public:
  using key_type = typename Kind::key_type;
  using slot = slot_ref<Kind>;

  buckets(pool<M>& p, const shape& s, const hash_seeds& seeds)
      : p_(p), m_(p.medium()), seeds_(seeds), places_(s, seeds) {}

  const shape& form() const noexcept { return places_.form(); }
  const gphash::places& places() const noexcept { return places_; }

  std::uint64_t hash_of(key_type key) const noexcept {
    if constexpr (Kind::in_slot) return places_.words().mix(key);
    else return fingerprint_of(bytes_hash(key, seeds_));
  }
  candidates candidates_of(std::uint64_t hash) const noexcept {
    return places_.candidates_of(hash, Kind::in_slot);
  }
  /// The key of a word table, the hash of a byte table.
  std::uint64_t key_word_of(std::uint64_t fingerprint) const noexcept {
    return Kind::in_slot ? places_.words().key_of(fingerprint) : fingerprint;
  }

  // ------------------------------------------------------------------------------- where they are

  bucket_ref at(const level_view& l, std::uint64_t index) const noexcept {
    if constexpr (Kind::fixed_key) return l.first + index * form().bucket_words();
    else return l.first + (index << form().words_log2());
  }
  bucket_ref of(const level_view& l, std::uint64_t place) const noexcept {
    return at(l, bucket_number(place, l.log2));
  }

  slot slot_at(bucket_ref b, unsigned index) const noexcept {
    if constexpr (Kind::fixed_key)
      return {{b + index, b + form().slots + index},
              b + 2 * form().slots + index * form().key_words()};
    else return {b + index, b + form().slots + index};
  }

  slot escape_slot(int index) const noexcept {
    gphash::slot& at = root_of(p_).escapes[index];
    if constexpr (Kind::fixed_key) return {{&at.state, &at.value}, nullptr};
    else return {&at.state, &at.value};
  }

  /// Keys are durable before the fingerprint that a reader sees is stored, but for what lies in a
  /// state's line.
  extent words_extent(bucket_ref b) const noexcept { return {b, form().words_bytes()}; }

  // ------------------------------------------------------------------------------ a key's buckets

  /// In the order of precedence. Asked for on the way.
  [[gnu::always_inline]] warp_view warp_over(const levels_view& v,
                                             const candidates& s) const noexcept {
    warp_view w;
    unsigned count = 0;
    for (unsigned l = 0; l < form().levels; ++l)
      for (unsigned which = 0; which < form().hashes; ++which) {
        w.buckets[count] = of(v.at[l], s.place[which])->raw();
        __builtin_prefetch(w.buckets[count++]);
      }
    return w;
  }

  /// The lines that a search of any kind looks at first.
  void ask_for(const levels_view& v, const candidates& s) const noexcept {
    if (v.cache == nullptr) return void(warp_over(v, s));
    for (unsigned l = 0; l < form().levels; ++l)
      for (unsigned which = 0; which < form().hashes; ++which)
        v.cache->ask_for(v.first_bucket[l] + bucket_number(s.place[which], v.at[l].log2));
  }

  slot slot_of(const warp_view& w, unsigned lane) const noexcept {
    return slot_at(reinterpret_cast<bucket_ref>(w.buckets[lane >> form().slots_log2]),
                   lane & (form().slots - 1));
  }
  /// The lanes whose state is this word (§3.1, "one-shot warp access").
  [[gnu::always_inline]] std::uint32_t ballot(const warp_view& w,
                                              std::uint64_t word) const noexcept {
    return ballot(w, word, 0, form().levels * form().hashes,
                  [&](unsigned, const pm<std::uint64_t>& state) { return load(m_, state); });
  }

  /// Of so many buckets from the first-th on. `word_at(lane, word)` reads a word of a lane's
  /// bucket, where they are not read plainly.
  template <class WordAt>
  [[gnu::always_inline]] std::uint32_t ballot(const warp_view& w, std::uint64_t word,
                                              unsigned first, unsigned count,
                                              [[maybe_unused]] WordAt&& word_at) const noexcept {
    const unsigned lane = first << form().slots_log2;
    if constexpr (reads_plainly<M>) {
      const std::uint32_t equal = warp_.ballot(w.buckets + first, count, form().slots, word)
                                  << lane;
      read_before_what_follows();
      return equal;
    } else {
      std::uint32_t equal = 0;
      for (unsigned n = lane; n < lane + (count << form().slots_log2); ++n)
        equal |= std::uint32_t{word_at(n, *slot_of(w, n).state) == word} << n;
      return equal;
    }
  }

  /// Calls on_match(slot) for each slot with the fingerprint, in the order of precedence, until
  /// that says true. Returns whether it did.
  template <class OnMatch>
  [[gnu::always_inline]] bool look_everywhere(const warp_view& w, const candidates& s,
                                              OnMatch&& on_match) const {
    if (s.escape >= 0) [[unlikely]] {
      slot at = escape_slot(s.escape);
      return load(m_, *at.state) == s.fingerprint && on_match(at);
    }
    for (std::uint32_t hits = ballot(w, s.fingerprint); hits != 0;)
      if (on_match(slot_of(w, static_cast<unsigned>(take_lowest(hits))))) return true;
    return false;
  }

  /// The slots of a bucket of eight whose state may be this word, two bits each: half of it is
  /// compared. Who acts on that compares the word.
  [[gnu::always_inline]] std::uint32_t match_eight(bucket_ref b,
                                                   std::uint64_t word) const noexcept {
    if constexpr (reads_plainly<M>) {
      const std::uint32_t bits = same_lower_halves(b->raw(), word);
      read_before_what_follows();
      return bits;
    } else {
      std::uint32_t bits = 0;
      for (unsigned i = 0; i < 8; ++i)
        bits |= std::uint32_t{static_cast<std::uint32_t>(load(m_, b[i])) ==
                              static_cast<std::uint32_t>(word)} *
                    3
                << 2 * i;
      return bits;
    }
  }

  /// The first of these slots.
  [[gnu::always_inline]] static bucket_ref first_of(bucket_ref b, std::uint32_t bits) noexcept {
    return b + static_cast<unsigned>(std::countr_zero(bits)) / 2;
  }

  // --------------------------------------------------------------------------------- what is there

  /// Whether the key of a slot with its fingerprint is this one. A reader looks at state and
  /// version again behind it: the slot may be lent meanwhile.
  bool holds_key([[maybe_unused]] const slot& at, key_type key) const {
    if constexpr (Kind::fixed_key) {
      for (unsigned n = 0; n < form().key_words(); ++n)
        if (load(m_, at.key[n]) != word_of_key(key, n)) return false;
      return true;
    } else {
      return names_key<Kind>(m_, p_, load(m_, *at.value), key);
    }
  }

  /// Calls visit(resident) for each record in the bucket. One that is removed meanwhile is not
  /// there.
  template <class Visit>
  void for_each_resident(bucket_ref b, Visit&& visit) const {
    for (unsigned i = 0; i < form().slots; ++i)
      visit_resident(b, i, first_fingerprint, ~std::uint64_t{0}, visit);
  }

  /// If the slot's fingerprint is in [first, last].
  template <class Visit>
  [[gnu::always_inline]] void visit_resident(bucket_ref b, unsigned index, std::uint64_t first,
                                             std::uint64_t last, Visit&& visit) const {
    const std::uint64_t state = load(m_, b[index]);
    if (state - first > last - first) return;
    resident<Kind> r;
    r.hash = state;
    r.key_word = key_word_of(state);
    r.where = slot_at(b, index);
    r.value_word = load(m_, *r.where.value);
    if constexpr (Kind::fixed_key) {
      m_.will_read(r.where.key, form().key_bytes);
      r.key = {reinterpret_cast<const char*>(r.where.key->raw()), form().key_bytes};
    }
    if (load(m_, *r.where.state) == state) visit(r);
  }

  template <class Visit>
  void for_each_escape(Visit&& visit) const {
    for (int i = 0; Kind::in_slot && i < static_cast<int>(first_fingerprint); ++i) {
      slot at = escape_slot(i);
      if (load(m_, *at.state) != escape_fingerprint) continue;
      resident<Kind> r;
      r.hash = static_cast<std::uint64_t>(i);
      r.key_word = key_word_of(r.hash);
      r.value_word = load(m_, *at.value);
      r.where = at;
      visit(r);
    }
  }

  /// Neither what a record there is, nor what a crash leaves.
  bool is_impossible_escape(int index) const {
    std::uint64_t state = load(m_, *escape_slot(index).state);
    return state != empty_state &&
           !(Kind::in_slot && (state == claimed_state || state == escape_fingerprint));
  }

  /// Whether a search for the hash looks into the bucket.
  bool belongs(const level_view& l, std::uint64_t index, std::uint64_t hash) const noexcept {
    return places_.place_in(hash, l.log2, index) >= 0;
  }

  /// Of the buckets of `to` that lie over one of `from` the one where a record of it goes; nothing
  /// if no place of the record's hash led there.
  std::optional<std::uint64_t> bucket_over(const level_view& from, std::uint64_t index,
                                           const level_view& to,
                                           std::uint64_t hash) const noexcept {
    const int which = places_.place_in(hash, from.log2, index);
    if (which < 0) return std::nullopt;
    return bucket_number(places_.place(hash, static_cast<unsigned>(which)), to.log2);
  }

  /// What is wrong with a record; empty if nothing is.
  std::string fault_of(const record_of<Kind>& r) const {
    return durahash::fault_of<Kind>(
        m_, p_, seeds_, r, [this](key_type key, const hash_seeds&) { return hash_of(key); });
  }

  // -------------------------------------------------------------------------------- what is stored

  void store_key([[maybe_unused]] const slot& at, [[maybe_unused]] key_type key) const {
    if constexpr (Kind::fixed_key)
      for (unsigned n = 0; n < form().key_words(); ++n) store(m_, at.key[n], word_of_key(key, n));
  }

  /// What of it does not lie in the state's line, which ends before it or within it.
  flushed flush_key(const slot& at) const requires(Kind::fixed_key) {
    auto key = reinterpret_cast<std::uintptr_t>(at.key), end = key + form().key_bytes;
    key = std::max(key, align_up(reinterpret_cast<std::uintptr_t>(at.state) + 1, line_bytes));
    return key < end ? flush(m_, extent{reinterpret_cast<const void*>(key), end - key},
                             "gphash.write.key")
                     : flushed();
  }

  /// Into a bucket that is not in the pool yet.
  void write_record(std::uint64_t* bucket_words, unsigned index, const record_of<Kind>& r) const {
    bucket_words[index] = r.hash;
    bucket_words[form().slots + index] = r.value_word;
    if constexpr (Kind::fixed_key)
      std::memcpy(bucket_words + 2 * form().slots + index * form().key_words(), r.key.data(),
                  r.key.size());
  }

 private:
  pool<M>& p_;
  M& m_;
  hash_seeds seeds_;
  gphash::places places_;
  host_warp warp_;
};

}  // namespace durahash::gphash
