// GPHash: what a crash left in buckets is put in order, and their records are counted (recover.hpp
// says when). A slot that was claimed is emptied; what was visible is made durable (hole X1).
#pragma once

#include "base/check.hpp"
#include "base/spin_lock.hpp"
#include "engine/gphash/buckets.hpp"

namespace durahash::gphash {

template <medium M, class Kind>
class sweep {
 public:
  sweep(pool<M>& p, const buckets<M, Kind>& b) noexcept : p_(p), m_(p.medium()), buckets_(b) {}

  void escapes() {
    for (int i = 0; i < static_cast<int>(first_fingerprint); ++i)
      records_ += slot(buckets_.escape_slot(i));
    // emptied for good: a pool may be clean from now on
    if (writes_back()) end(flush(m_, extent_of(root_of(p_).escapes), "gphash.sweep.escapes"));
  }

  /// Side by side.
  void buckets_of(const level_view& l, std::uint64_t first, std::uint64_t count) {
    std::uint64_t records = 0;
    for (std::uint64_t index = first; index < first + count; ++index)
      for (unsigned i = 0; i < buckets_.form().slots; ++i)
        records += slot(buckets_.slot_at(buckets_.at(l, index), i));
    if (writes_back())
      end(flush(m_, extent{buckets_.at(l, first), buckets_.form().bucket_bytes() * count},
                "gphash.sweep.levels"));
    records_.fetch_add(records, std::memory_order_relaxed);
  }

  /// That were found by now.
  std::uint64_t records() const noexcept { return records_; }
  /// Guards a unit of buckets. Taken behind a stripe's lock; nobody holds two of these.
  spin_lock& lock_of(std::uint64_t unit) noexcept { return locks_[unit % std::size(locks_)]; }

 private:
  bool writes_back() const noexcept { return stripe_mark<M>::marked && !opens_durable(m_); }

  /// Returns whether it holds a record; makes it empty if it was neither that nor empty.
  bool slot(const slot_ref<Kind>& at) {
    std::uint64_t state = load(m_, *at.state);
    if (state >= first_fingerprint) return true;
    if (state != empty_state && !p_.read_only()) {
      durahash::check(p_.changing(), "a pool that a crash left is changing");
      if (!M::planted("gphash-claimed-slots-stay-claimed")) store(m_, *at.state, empty_state);
      if (opens_durable(m_)) [[maybe_unused]]
        flushed with_the_next_commit = flush(m_, extent_of(*at.state), "gphash.sweep.slot");
    }
    return false;
  }

  void end(flushed started) {
    [[maybe_unused]] durable done = fence(m_, std::move(started), "gphash.sweep.all");
  }

  pool<M>& p_;
  M& m_;
  const buckets<M, Kind>& buckets_;
  std::atomic<std::uint64_t> records_{0};
  spin_lock locks_[256];
};

}  // namespace durahash::gphash
