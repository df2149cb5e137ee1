// CCEH: changes of the directory: entries that are published, doubling and halving.
//
//   D1  Entries, the root's word and the counts change under its lock, which is taken after
//       stripes' locks.
//   D2  The counts are those of the tree: all segments, and those of the global depth.
//
// Within one cache line of the directory the order needs no fence: a line becomes durable as a
// prefix of its stores.
//
// Doubling and halving: the new directory written, flushed, fenced; COMMIT: the root's word. One
// word switches all readers.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "base/check.hpp"
#include "base/turns.hpp"
#include "engine/cceh/segments.hpp"
#include "engine/cceh/tree.hpp"

namespace durahash::cceh {

/// Entries of the directory.
struct entry_range {
  std::uint64_t begin, end;
  std::uint64_t count() const noexcept { return end - begin; }
  std::uint64_t middle() const noexcept { return begin + count() / 2; }
};
enum class direction : std::uint8_t { rightward, leftward };

template <medium M, class Kind>
class directory {
 public:
  directory(pool<M>& p, heap<M>& h, segments<M, Kind>& all) noexcept
      : p_(p), m_(p.medium()), heap_(h), segments_(all) {}

  void lock() { lock_.lock(); }
  void unlock() { lock_.unlock(); }

  /// Where a prefix stands; under its lock.
  entry_range range_of(std::uint64_t prefix, unsigned depth) const noexcept {
    unsigned global_depth = segments_.directory().exponent();
    std::uint64_t begin = shifted(prefix, global_depth);
    return {begin, begin + (std::uint64_t{1} << (global_depth - depth))};
  }

  /// Each entry becomes entry_of(index), one after another; each is durable before the next one in
  /// another line is stored. Under its lock.
  template <class EntryOf>
  void publish_entries(entry_range where, direction way, EntryOf&& entry_of, ordered) {
    const directory_view now = segments_.directory();
    durahash::check(where.begin < where.end && (where.end - 1) >> now.exponent() == 0,
                    "entries that are published are the directory's");
    pm<std::uint64_t>* entries = segments_.entries_of(now.offset());
    constexpr std::uint64_t per_line = line_bytes / 8;
    for (std::uint64_t n = 0; n < where.count(); ++n) {
      std::uint64_t i = way == direction::rightward ? where.begin + n : where.end - 1 - n;
      std::uint64_t next = way == direction::rightward ? i + 1 : i - 1;
      store(m_, entries[i], entry_of(i).word);
      if (n + 1 < where.count() && next / per_line == i / per_line) continue;
      // all of the line
      [[maybe_unused]] durable done = persist(m_, extent_of(entries[i]), "cceh.directory.entries");
    }
  }

  /// A new directory of that depth takes the old one's place, durable together with what was
  /// `started`. Returns false when there is no space.
  template <class EntryAt>
  bool switch_to(unsigned depth, EntryAt&& entry_at, flushed started = {}) {
    auto cell = allocate_loose(heap_, directory_bytes(depth));
    if (!cell) return false;
    pm<std::uint64_t>* entries = segments_.entries_of(cell->offset());
    for (std::uint64_t i = 0; i < std::uint64_t{1} << depth; ++i)
      store(m_, entries[i], entry_at(i));
    started += flush(m_, extent{entries, std::size_t{8} << depth}, "cceh.directory.copy");
    durable written = fence(m_, std::move(started), "cceh.directory.all");
    checked_place made = checked_place::of(cell->keep(), depth);
    // COMMIT: the directory changes
    [[maybe_unused]] durable done = publish(m_, segments_.root_of_table().directory, made.word,
                                            after(std::move(written)), "cceh.directory.commit");
    directory_view old = segments_.directory();
    segments_.show(directory_view::of(made, old.generation() + 1));
    if (!old.none()) segments_.give_back(old.offset(), directory_bytes(old.exponent()));
    return true;
  }

  /// By one bit. Under its lock. Returns false when there is no space.
  bool make_deeper() {
    const directory_view now = segments_.directory();
    pm<std::uint64_t>* old = segments_.entries_of(now.offset());
    if (!switch_to(now.exponent() + 1, [&](std::uint64_t i) { return load(m_, old[i / 2]); }))
      return false;
    deepest_ = 0;
    ++doublings_;
    return true;
  }

  /// While no segment is as deep as the directory. Under its lock.
  void halve() {
    while (deepest_ == 0 && segments_.directory().exponent() > 0) {
      const directory_view now = segments_.directory();
      pm<std::uint64_t>* old = segments_.entries_of(now.offset());
      if (!switch_to(now.exponent() - 1, [&](std::uint64_t i) { return load(m_, old[i * 2]); }))
        return;
      count_segments();
      ++halvings_;
    }
  }

  /// Rolls forward, in the order of a split: a crash on the way is one that recovery knows. Returns
  /// false when the pool may not be changed.
  bool repair(const std::vector<leaf>& leaves) {
    std::scoped_lock lock(*this);
    for (const leaf& l : leaves) {
      if (l.state != detail::node_state::torn) continue;
      if (!p_.may_change()) return false;
      entry_range all{l.where.begin, l.where.begin + l.where.count};
      bool mends_half = M::planted("cceh-recovery-mends-one-half");
      if (mends_half && l.left == l.right) continue;
      publish_entries(
          mends_half ? entry_range{all.middle(), all.end} : all, direction::leftward,
          [&](std::uint64_t i) { return i < all.middle() ? l.left : l.right; },
          after_nothing("segments that entries name are durable"));
    }
    return true;
  }

  void count_segments() {
    count_ = deepest_ = 0;
    segments_.for_each([&](const segment& s) {
      ++count_;
      deepest_ += s.depth() == segments_.directory().exponent();
    });
  }

  void begin_with(std::uint64_t all, std::uint64_t deepest) noexcept {
    count_ = all, deepest_ = deepest;
  }
  /// Two halves of that depth are where one segment was.
  void note_split(unsigned depth) noexcept {
    if (depth == segments_.directory().exponent()) deepest_ += 2;
    ++count_;
  }

  /// And the other way round.
  void note_merge(unsigned depth) noexcept {
    --count_;
    if (depth != segments_.directory().exponent()) return;
    durahash::check(deepest_ >= 2, "buddies of the global depth were counted");
    deepest_ -= 2;
  }

  bool would_be_in_proportion(unsigned depth) const noexcept {
    return in_proportion(depth, count_);
  }
  std::uint64_t deepest() const noexcept { return deepest_; }

  std::uint64_t doublings() const noexcept { return doublings_; }
  std::uint64_t halvings() const noexcept { return halvings_; }

 private:
  pool<M>& p_;
  M& m_;
  heap<M>& heap_;
  segments<M, Kind>& segments_;
  turn_mutex lock_;  // guards what follows, and the directory
  std::uint64_t count_ = 0, deepest_ = 0;
  std::atomic<std::uint64_t> doublings_{0}, halvings_{0};
};

}  // namespace durahash::cceh
