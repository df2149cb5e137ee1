// CCEH: what DRAM knows of segments, and what finds them: where the directory is, the stripes.
//
//   G1  The view names the directory in use, or has named it a moment ago: it is replaced behind
//       the root's word, and before the old directory is given back.
//   G2  What an entry says is believed only if the view is the same before and behind the look at
//       it: the memory of a directory that was replaced may be another's.
//   G3  A segment that was found is what it was as long as its stripe has the version that it had
//       before; and for who holds the stripe's lock, if it is still named.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "engine/cceh/operation.hpp"
#include "engine/cceh/segment_writer.hpp"
#include "engine/frame/arrays.hpp"
#include "persist/heap.hpp"

namespace durahash::cceh {

template <medium M, class Kind>
class segments {
  struct no_guard {
    explicit no_guard(const epochs&) noexcept {}
  };
  /// Keeps directories and segments from reuse; in tables of words readers notice it.
  using guard = std::conditional_t<Kind::in_slot, no_guard, epochs::guard>;

 public:
  using key_type = typename Kind::key_type;
  using stripe_type = stripe_states<M>;

  segments(pool<M>& p, heap<M>& h)
      : p_(p),
        m_(p.medium()),
        heap_(h),
        base_(reinterpret_cast<char*>(p.at(std::uint64_t{0}))),
        shape_(p.block().settings) {}

  const segment_shape& shape() const noexcept { return shape_; }
  stripe_type& stripes() noexcept { return stripes_; }
  const stripe_type& stripes() const noexcept { return stripes_; }
  auto& marks() noexcept { return stripes_.marks(); }
  const auto& marks() const noexcept { return stripes_.marks(); }

  // the directory
  directory_view directory() const noexcept { return {directory_.load(std::memory_order_acquire)}; }
  void show(directory_view now) noexcept { directory_.store(now.word, std::memory_order_release); }
  pm<std::uint64_t>* entries_of(std::uint64_t offset) const noexcept {
    return p_.at(poff<pm<std::uint64_t>>{offset});
  }

  /// Reads entries, by index, of the directory in use now.
  auto entry_reader() const noexcept {
    return [this, entries = entries_of(directory().offset())](std::uint64_t i) {
      return checked_place{load(m_, entries[i])};
    };
  }

  root& root_of_table() const noexcept { return *p_.at(poff<root>{p_.block().engine_offset}); }

  // a key's home
  /// As look_up_entry, with the home bucket.
  [[gnu::always_inline]] target look_up(std::uint64_t hash) const noexcept {
    target t = look_up_entry(hash);
    t.home = home_in(t.entry, hash);
    return t;
  }

  /// Where the directory says that the hash's segment is. Tables of bytes are under a read_guard.
  /// Those of words under nothing: what it says may have been overwritten.
  [[gnu::always_inline]] target look_up_entry(std::uint64_t hash) const noexcept {
    const directory_view d = directory();
    const void* at = base_ + d.offset() + d.entry_byte(hash);
    const auto* named = static_cast<const pm<std::uint64_t>*>(at);
    const checked_place entry{load(m_, *named)};
    // its first bits, as many as the segment's prefix has
    constexpr unsigned bits = stripe_type::bits;
    const std::uint64_t stripe = hash >> (64 - bits) & ~low_bits(bits) >> entry.exponent();
    return {hash, d, named, entry, &stripes_[stripe]};
  }

  [[gnu::always_inline]] bucket* home_in(checked_place entry, std::uint64_t hash) const noexcept {
    void* first = base_ + entry.offset();
    return static_cast<bucket*>(first) + shape_.home_of(hash);
  }

  /// The next bucket of a segment, in a circle.
  [[gnu::always_inline]] bucket* bucket_behind(const bucket* b,
                                               checked_place entry) const noexcept {
    char* const first = base_ + entry.offset();
    const auto next = static_cast<std::uint64_t>(reinterpret_cast<const char*>(b + 1) - first);
    void* at = first + (next & (shape_.bytes() - 1));
    return static_cast<bucket*>(at);
  }

  /// Whether that directory is the one in use and says so still. Behind a look at the stripe's
  /// version, or at its lock: what was read between is of that segment, if the version is the same
  /// then.
  [[gnu::always_inline]] bool as_named(const target& t) const noexcept {
    return holds(m_, *t.named, t.entry.word) && word_is(directory_, t.directory.word);
  }

  // segments
  /// The segment of a hash, and the version that a read of it begins with. The entry is looked at
  /// again behind the version, and believed only if the directory that it stands in is still the
  /// one in use. Under a read_guard: in byte tables the memory of a directory that was replaced may
  /// become a record's.
  segment under_guard(std::uint64_t hash) const noexcept {
    segment s;
    do {  // ends: each further round means that the segment or the directory was replaced
      s.directory = directory();
      s.named = entries_of(s.directory.offset()) + shifted(hash, s.directory.exponent());
      s.entry = {load(m_, *s.named)};
      s.prefix = prefix_of(hash, s.depth());
      s.stripe = stripe_type::of(s.prefix);
      s.version = stripes_[s.stripe].version.load(std::memory_order_acquire);
    } while (load(m_, *s.named) != s.entry.word || directory() != s.directory);
    return s;
  }

  segment of(std::uint64_t hash) const noexcept {
    [[maybe_unused]] guard reading(heap_.readers());
    return under_guard(hash);
  }

  /// The escape slots as a segment that never moves.
  segment of_escapes() const noexcept {
    segment s;
    s.directory = directory();
    s.named = &root_of_table().directory;
    s.entry = {load(m_, *s.named)};
    s.stripe = stripe_type::of_escapes;
    s.version = stripes_[s.stripe].version.load(std::memory_order_acquire);
    return s;
  }

  segment for_key(key_type key, std::uint64_t hash) const noexcept {
    return escapes<Kind>(key) ? of_escapes() : of(hash);
  }

  /// The segment of a hash, locked: it stays what it is until it is unlocked. Its home bucket is
  /// asked for on the way.
  segment lock(std::uint64_t hash) {
    segment s = of(hash);
    while (true) {  // ends: each further round means that a split or merge got on
      prefetch_for_write(&buckets_of(s)[shape_.home_of(hash)]);
      lock_of(s).lock();
      if (still_named(s)) [[likely]]
        return s;
      segment now = of(hash);
      if (now.stripe == s.stripe) return now;
      lock_of(s).unlock();
      s = now;
    }
  }

  spin_lock& lock_of(const segment& s) const noexcept { return stripes_[s.stripe].lock; }

  /// Whether the segment, whose stripe is locked, is still what it was when it was found. False
  /// also behind a change of the directory: it is to be found again.
  bool still_named(const segment& s) const noexcept {
    // a directory that is in use behind this line is not reused before the next
    [[maybe_unused]] guard reading(heap_.readers());
    return directory() == s.directory && load(m_, *s.named) == s.entry.word &&
           directory() == s.directory;
  }

  bool unchanged(const segment& s) const noexcept {
    return stripes_[s.stripe].version.load(std::memory_order_acquire) == s.version;
  }

  /// Calls visit(segment) for each, from left to right, under a read_guard.
  template <class Visit>
  void for_each(Visit&& visit) const {
    std::uint64_t at = 0;
    do {
      [[maybe_unused]] guard reading(heap_.readers());
      segment s = under_guard(at);
      visit(s);
      at = s.end();
    } while (at != 0);
  }

  /// Those of one stripe, from left to right. Where it is not locked others may split and merge
  /// them.
  template <class Visit>
  void for_each_of(stripe_index stripe, Visit&& visit) const {
    std::uint64_t at = stripe_type::first_hash_of(stripe);
    do {
      const segment s = of(at);
      visit(s);
      at = s.end();
    } while (at != 0 && stripe_type::of(at) == stripe);
  }

  /// Where the hashes of the next stripe that has a segment of its own begin; 0: of none.
  std::uint64_t end_of_stripe(const segment& s) const noexcept {
    return s.depth() <= stripe_type::bits ? s.end() : stripe_type::first_hash_of(s.stripe + 1);
  }

  // their parts
  bucket* buckets_of(const segment& s) const noexcept { return p_.at(poff<bucket>{s.offset()}); }

  window window_for(const segment& s, std::uint64_t hash, key_type key) const noexcept {
    if (s.stripe == stripe_type::of_escapes) return escape_window(key);
    return {buckets_of(s), shape_.home_of(hash), shape_.mask(), shape_.probe,
            Kind::key_word(key, hash)};
  }

  window escape_window([[maybe_unused]] key_type key) const noexcept {
    window w{&root_of_table().escapes, 0, 0, 1, 0};
    if constexpr (Kind::in_slot) w.key_word = escape_word_of(key);
    return w;
  }

  // whether they are durable
  /// What a reader has seen, and a crash could still undo, is made durable before the reader gives
  /// it away (C7). Records need no flush: they were durable before a slot named them; nor do
  /// entries: the segment that an entry named before holds the same records.
  void settle_for_reader(stripe_index stripe, const window& w, unsigned buckets) {
    if constexpr (unsettled<M>::needed) {
      if (marks().settled(stripe)) return;
      if (marks().of(stripe) == settlement::inherited) return settle_inherited(stripe);
      flushed started;
      for (unsigned n = 0; n < buckets; ++n)
        started += flush(m_, extent_of(w[n]), "cceh.settle.buckets");
      [[maybe_unused]] durable done = fence(m_, std::move(started), "cceh.settle.all");
    }
  }

  /// A process that was killed may have left words of these segments in the caches.
  void settle_inherited(stripe_index stripe) {
    if constexpr (unsettled<M>::needed) {
      if (marks().of(stripe) != settlement::inherited) return;
      flushed started;
      for_each_of(stripe, [&](const segment& s) {
        started += flush(m_, extent{buckets_of(s), shape_.bytes()}, "cceh.inherit.segment");
      });
      marks().take_over(stripe, fence(m_, std::move(started), "cceh.inherit.all"));
    }
  }

  // their memory
  std::optional<segment_writer<M>> make() { return segment_writer<M>::on(m_, p_, heap_, shape_); }

  /// Of a segment or directory that readers may still see.
  void give_back(std::uint64_t offset, std::uint64_t bytes) noexcept {
    give_back_array<Kind>(p_, heap_, offset, bytes);
  }

 private:
  pool<M>& p_;
  M& m_;
  heap<M>& heap_;
  char* const base_;  // of the pool
  segment_shape shape_;
  std::atomic<std::uint64_t> directory_{0};  // a directory_view: where entries are read
  stripe_type stripes_;
};

}  // namespace durahash::cceh
