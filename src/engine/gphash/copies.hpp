// GPHash: a search with copies of buckets (bucket_cache.hpp): one look at the key's buckets, each
// in its copy where it has one. Of words alone.
#pragma once

#include "engine/gphash/table.hpp"

namespace durahash::gphash {

template <medium M, class Kind>
class table<M, Kind>::copies_search {
 public:
  copies_search(table& t, const levels_view& v, const candidates& s)
      : t_(t), m_(t.m_), b_(t.buckets_), v_(v), s_(s) {
    aim();
  }

  /// The stripe's version, then the slots with the fingerprint; and all of it again. What is not
  /// durable is torn, too.
  template <class Read>
  [[gnu::always_inline]] probed look(Read& read) const {
    const stripe_mark<M>& mark = t_.levels_.state_of(v_, s_.hash).mark;
    const std::uint32_t version = mark.version(), seen = hits();
    std::uint64_t value = 0;
    bool same = true;
    if (seen != 0 && s_.escape >= 0) {
      const auto at = b_.escape_slot(s_.escape);
      value = load(m_, *at.value);
      same = load(m_, *at.state) == s_.fingerprint;
    } else if (seen != 0) {
      const auto lane = static_cast<unsigned>(lowest_bit(seen));
      const auto at = b_.slot_of(w_, lane);
      value = word_at(lane, *at.value);
      same = word_at(lane, *at.state) == s_.fingerprint;
    }
    if (copies_ != 0 && !copies_unchanged()) return probed::torn;
    if (!same || !mark.is_settled_at(version) || &t_.levels_.now() != &v_) return probed::torn;
    if (seen == 0) return probed::miss;
    read(value);
    return probed::hit;
  }

 private:
  [[gnu::noinline]] void aim() {
    bool counts = v_.cache->samples(s_.hash);
    unsigned count = 0;
    for (unsigned l = 0; l < b_.form().levels; ++l)
      for (unsigned which = 0; which < b_.form().hashes; ++which, ++count) {
        std::uint64_t index = bucket_number(s_.place[which], v_.at[l].log2),
                      in_cache = v_.first_bucket[l] + index;
        std::uint64_t* words = v_.cache->find(in_cache, tickets_[count]);
        if (counts) v_.cache->count_look(in_cache, words != nullptr);
        copies_ |= std::uint32_t{words != nullptr} << count;
        w_.buckets[count] = words != nullptr ? words : b_.at(v_.at[l], index)->raw();
        __builtin_prefetch(w_.buckets[count]);
      }
    if (!counts || !v_.cache->is_time()) return;
    auto load_copies = [&t = t_, &v = v_](const background&) {
      t.levels_.load_copies(v, [&](const level_view& l, std::uint64_t index, std::uint64_t* words) {
        const bucket_ref b = t.buckets_.at(l, index);
        for (unsigned n = 0; n < 2 * t.buckets_.form().slots; ++n)
          __atomic_store_n(&words[n], load(t.m_, b[n]), __ATOMIC_RELAXED);
      });
    };
    if (!t_.background_.submit(load_copies)) v_.cache->put_off_load();
  }

  bool is_copy(unsigned bucket) const noexcept { return (copies_ >> bucket & 1) != 0; }

  bool copies_unchanged() const noexcept {
    bool all = true;
    for (std::uint32_t copies = copies_; copies != 0;)
      all = v_.cache->unchanged(tickets_[take_lowest(copies)]) && all;
    return all;
  }

  /// A word of a lane's bucket, in the pool or in a copy.
  [[gnu::always_inline]] std::uint64_t word_at(unsigned lane,
                                               const pm<std::uint64_t>& word) const noexcept {
    if (is_copy(lane >> b_.form().slots_log2)) return __atomic_load_n(word.raw(), __ATOMIC_RELAXED);
    return load(m_, word);
  }

  /// The lanes with the fingerprint; bit 0, if the escape slot has it. What lies behind the key is
  /// not read: it may have no copy.
  [[gnu::always_inline]] std::uint32_t hits() const noexcept {
    if (s_.escape >= 0) [[unlikely]]
      return std::uint32_t{load(m_, *b_.escape_slot(s_.escape).state) == s_.fingerprint};
    std::uint32_t hits = 0;
    for (unsigned n = 0; hits == 0 && n < b_.form().levels * b_.form().hashes; ++n)
      hits = b_.ballot(
          w_, s_.fingerprint, n, 1,
          [this](unsigned lane, const pm<std::uint64_t>& word) { return word_at(lane, word); });
    return hits;
  }

  table& t_;
  M& m_;
  const decltype(table::buckets_)& b_;
  const levels_view& v_;
  const candidates& s_;
  warp_view w_;
  std::uint32_t copies_ = 0;  // bit n: the n-th is a copy, to be believed while its ticket is good
  bucket_cache::ticket tickets_[max_levels * max_hashes];
};

}  // namespace durahash::gphash
