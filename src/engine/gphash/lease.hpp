// GPHash: the table lent to a device. The borrower keeps the rules of write.hpp in his own way
// (gpu/operations.hpp).
#pragma once

#include "engine/gphash/grow.hpp"
#include "engine/gphash/leased.hpp"
#include "engine/gphash/table.hpp"

namespace durahash::gphash {

/// Where a table is, for somebody else.
inline leased_table show(const places& where, const levels_view& v, root& named) noexcept {
  leased_table shown{where, {}, {}, named.escapes};
  for (unsigned l = 0; l < v.count; ++l) {
    shown.levels[l] = v.at[l].first;
    shown.log2[l] = v.at[l].log2;
  }
  return shown;
}

/// A table of words. Between lend and take_back the borrower alone reads and writes: other threads'
/// writes wait, their reads must not be made, and the caller calls nothing else. A crash meanwhile
/// is one that recovery knows.
template <class Table>
class lender {
  using M = typename Table::medium_type;

 public:
  explicit lender(Table& t) noexcept : t_(t), m_(t.m_), levels_(t.levels_) {}

  /// Nothing, if the disk does not take the root.
  std::optional<leased_table> lend() {
    t_.lock_all();
    typename Table::growth(t_).drop();
    if (t_.p_.read_only() || t_.p_.may_change()) return shown();
    t_.unlock_all();
    return std::nullopt;
  }

  /// Growth by the borrower, who does nothing else meanwhile: a level for him to write, with the
  /// records of the bottom level (grow.hpp, step 1); nothing if there is no space. `added`: as in
  /// take_back, by now. A crash, or a borrower who gives up, leaves it unreachable.
  std::optional<leased_level> lease_top(std::int64_t added) {
    const levels_view& v = levels_.now();
    auto made =
        typename Table::growth(t_).allocate_top(v, t_.size() + static_cast<std::uint64_t>(added));
    if (!made) return std::nullopt;
    top_ = t_.cells_.view_of(made->keep(), v.at[0].log2 + 1);
    return leased_level{top_.first, top_.log2};
  }
  /// In his place: words of it, from the first-th on.
  void write_top(std::uint64_t first, std::span<const std::uint64_t> words) {
    for (std::size_t i = 0; i < words.size(); ++i) store(m_, top_.first[first + i], words[i]);
  }
  /// It is written: it is made durable, and the levels begin with it. `moved`: the records it has;
  /// `misplaced`: those of the bottom that no place led to. Returns the table as it is lent from
  /// now on.
  leased_table put_on_top(std::uint64_t moved, std::uint64_t misplaced) {
    const levels_view& v = levels_.now();
    const levels_view& planned = levels_.plan_top(v, top_);
    t_.rehashed_.fetch_add(moved, std::memory_order_relaxed);
    if (misplaced != 0) t_.damage_found_ = true;
    levels_.lock_more(planned);  // the loan goes on
    typename Table::growth(t_).adopt_top(
        v, planned,
        flush(m_, extent{top_.first, t_.shape().bucket_bytes() << top_.log2}, "gphash.lend.level"));
    return shown();
  }
  /// He could not write it.
  void give_top_back() { t_.cells_.free(top_); }

  /// `added`: records, less those removed. All that the borrower did is durable.
  void take_back(std::int64_t added) {
    t_.records_at_open_ += static_cast<std::uint64_t>(added);
    levels_.outdate();
    if (levels_.now().cache != nullptr) levels_.now().cache->forget();
    t_.unlock_all();
  }
  /// In place of take_back when the borrower failed, and nobody knows what it did: the pool stays
  /// as a crash leaves it, and no close calls it clean.
  void give_up() {
    t_.damage_found_ = true;
    take_back(0);
  }

 private:
  leased_table shown() const { return show(t_.buckets_.places(), levels_.now(), root_of(t_.p_)); }

  Table& t_;
  M& m_;
  decltype(Table::levels_)& levels_;
  level_view top_;  // that is leased
};

/// A table of bytes, whose records the borrower reads; and writes, while they are lent.
template <class Table>
class row_lender {
  using M = typename Table::medium_type;
  using Kind = typename Table::kind;
  using key_type = typename Kind::key_type;

 public:
  explicit row_lender(Table& t) noexcept : t_(t) {}

  /// Where the table is: good until a write.
  leased_table shown() const {
    return show(t_.buckets_.places(), t_.levels_.now(), root_of(t_.p_));
  }
  /// Calls visit(extent) for all of the pool that a search for the key reads, and that a write of
  /// it has changed: but for new levels.
  template <class Visit>
  void for_each_extent_of(key_type key, Visit&& visit) const {
    const auto& b = t_.buckets_;
    const candidates s = b.candidates_of(b.hash_of(key));
    const levels_view& v = t_.levels_.now();
    for (const level_view& level : v.all())
      for (unsigned which = 0; which < b.form().hashes; ++which)
        visit(extent{b.of(level, s.place[which]), b.form().bucket_bytes()});
    b.look_everywhere(b.warp_over(v, s), s, [&](const slot_ref<Kind>& at) {
      if (std::uint64_t offset = load(t_.m_, *at.value);
          auto record = record_at(t_.m_, t_.p_, offset))
        visit(extent{t_.p_.at(offset), record->bytes()});
      return false;
    });
  }

  /// For one batch, by who alone has the table in this process: nobody is to be kept out but growth
  /// in the background. False, if the disk does not take the root.
  bool lend() {
    t_.await_count();
    t_.levels_.changing().lock();
    typename Table::growth(t_).drop();
    if (t_.p_.may_change()) return true;
    t_.levels_.changing().unlock();
    return false;
  }
  /// `added`: records, less those removed. All that was done is durable.
  void take_back(std::int64_t added) {
    t_.records_at_open_ += static_cast<std::uint64_t>(added);
    t_.levels_.changing().unlock();
  }
  /// In place of that when nobody knows what was done.
  void give_up() {
    t_.damage_found_ = true;
    t_.levels_.changing().unlock();
  }
  /// A level more, from the processor, for a borrower who found no room and has given the table
  /// back.
  status grow() { return typename Table::growth(t_).grow(t_.levels_.now()); }

  /// A cell for a record that the borrower writes; nothing if there is no space.
  std::optional<std::uint64_t> lease_cell(std::uint64_t bytes) { return t_.heap_.allocate(bytes); }
  /// Nothing leads to it.
  void give_cell_back(std::uint64_t offset, std::uint64_t bytes) noexcept {
    t_.heap_.free(offset, bytes);
  }
  /// Nothing leads to it any more, durably.
  void retire_cell(std::uint64_t offset, std::uint64_t bytes) noexcept {
    t_.heap_.retire(offset, bytes);
  }

 private:
  Table& t_;
};

}  // namespace durahash::gphash
