// CCEH: recovery walks the directory's buddy tree (paper §4, algorithm 1 and figure 5) and rolls
// forward the one split, merge or move that a crash may have left under way; what it left in
// segments and records that nothing refers to is free space.
#pragma once

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "engine/cceh/build.hpp"
#include "engine/cceh/salvage.hpp"
#include "engine/cceh/table.hpp"
#include "engine/frame/refusals.hpp"

namespace durahash::cceh {

/// What an opening makes of the directory that it finds, once.
template <medium M, class Kind>
class table<M, Kind>::recovery {
  using taking = typename heap<M>::taking;

 public:
  /// `restored`: the heap knows from a clean close what is in use, not by whom.
  recovery(table& t, const std::string& path, bool restored, std::vector<std::string>* dropped)
      : t_(t),
        m_(t.m_),
        p_(t.p_),
        segments_(t.segments_),
        path_(path),
        restored_(restored),
        dropped_(dropped),
        made_{load(m_, segments_.root_of_table().directory)} {}

  error run() {
    if (made_.none() && dropped_ == nullptr) return create();
    if (std::string wrong = fault_of_word(); !wrong.empty()) {
      wrong = "the directory's word at offset " + std::to_string(p_.block().engine_offset) + " " +
              wrong;
      if (dropped_ == nullptr) return damaged(wrong);
      dropped_->push_back(wrong + "; all records are lost");
      return salvager(t_, path_, *dropped_).run({});
    }
    segments_.show(directory_view::of(made_, 0));
    settle_directory();
    nothing_is_named();
    if (dropped_ != nullptr) return read_as_a_tree();
    std::string wrong;
    const bool whole = read_in_a_row(wrong);
    if (!wrong.empty()) return damaged(wrong);
    if (whole) return escapes_are_possible();
    // something was under way: from the beginning, by the tree
    nothing_is_named();
    if (!restored_) {
      t_.heap_.begin_recovery();
      t_.heap_.adopt(made_.offset(), bytes_of_directory());
    }
    return read_as_a_tree();
  }

 private:
  error create() {
    if (std::string lost = t_.lost_root(); !lost.empty()) return damaged(lost);
    if (p_.read_only()) return damaged("it has no directory");
    if (!p_.may_change()) return cannot_use(path_, status::io_error);
    status s = builder(t_, t_.first_depth_).build({}, p_.flush_header());
    return s == status::ok ? error{s, {}} : table::not_created(path_, s, "segments");
  }

  std::string fault_of_word() {
    if (made_.none()) return "names no directory, as in a new pool";
    if (!made_.sound() || made_.exponent() > max_depth) return "is damaged (check bits)";
    const char* fault =
        fault_of_place(p_, t_.heap_, made_.offset(), bytes_of_directory(), restored_);
    return fault == nullptr ? "" : fault;
  }

  /// What a process that died left in the caches, and its successor builds on, is made durable
  /// first: the root, the directory, the escape slots. Of a clean pool the word that says so may be
  /// all that is not durable.
  void settle_directory() {
    directory_view now = segments_.directory();
    flushed started = p_.flush_header();
    if (p_.root().state != pool_state::clean && !opens_durable(m_))
      started +=
          flush(m_, extent{segments_.entries_of(now.offset()), std::size_t{8} << now.exponent()},
                "cceh.inherit.directory");
    segments_.marks().take_over(stripes::of_escapes,
                                fence(m_, std::move(started), "cceh.inherit.escapes"));
  }

  /// Returns false where something was under way.
  bool read_in_a_row(std::string& wrong) {
    taking take(t_.heap_, restored_);
    const auto entry_at = segments_.entry_reader();
    const std::uint64_t count = std::uint64_t{1} << made_.exponent();
    std::uint64_t found = 0, deepest = 0;
    const bool whole =
        for_each_run(made_.exponent(), entry_at,
                     [&](std::uint64_t first, std::uint64_t entries, checked_place entry) {
                       const bool last = first + entries == count;
                       if (const std::uint64_t soon = first + 8 * entries; soon < count)
                         take.ask_for(entry_at(soon).offset());
                       if (M::planted("cceh-recovery-skips-the-last-segment") && last && first > 0)
                         return true;
                       const char* fault = fault_of_segment(take, entry.offset());
                       if (fault != nullptr) wrong = name_of(first, entries) + fault;
                       ++found, deepest += entries == 1;
                       return fault == nullptr;
                     });
    t_.directory_.begin_with(found, deepest);
    return whole;
  }

  error read_as_a_tree() {
    std::vector<leaf> leaves = read_tree(made_.exponent(), segments_.entry_reader());
    for (leaf& l : leaves) {
      if (M::planted("cceh-recovery-skips-the-last-segment") && &l == &leaves.back() &&
          leaves.size() > 1)
        break;
      std::vector<std::uint64_t> taken;
      const std::string wrong = fault_of(l, taken);
      if (wrong.empty()) continue;
      const std::string where = name_of(l.where.begin, l.where.count);
      if (dropped_ == nullptr) return damaged(where + wrong);
      l.state = detail::node_state::damaged;
      for (std::uint64_t offset : taken) t_.heap_.free(offset, segments_.shape().bytes());
      dropped_->push_back(where + wrong + "; their records are lost");
    }
    if (dropped_ != nullptr) return salvager(t_, path_, *dropped_).run(leaves);
    if (error e = escapes_are_possible(); e.code != status::ok) return e;
    std::uint64_t found = 0, deepest = 0;
    for (const leaf& l : leaves) {
      std::uint64_t in_leaf = l.left == l.right ? 1 : 2;
      found += in_leaf;
      if (l.left.exponent() == made_.exponent()) deepest += in_leaf;
    }
    t_.directory_.begin_with(found, deepest);
    if (!p_.read_only() && !t_.directory_.repair(leaves))
      return cannot_use(path_, status::io_error);
    return {status::ok, {}};
  }

  /// `taken`: the segments of a leaf that are its own.
  std::string fault_of(const leaf& l, std::vector<std::uint64_t>& taken) {
    if (l.state == detail::node_state::damaged) return "are damaged";
    for (checked_place half : {l.left, l.right}) {
      taking take(t_.heap_, restored_);
      if (const char* fault = fault_of_segment(take, half.offset()); fault != nullptr) return fault;
      taken.push_back(half.offset());
      if (l.left.offset() == l.right.offset()) break;  // one segment's
    }
    // What stands in front of a torn leaf's new entries is looked at where nobody may write, and
    // named anew where one may.
    const checked_place first = segments_.entry_reader()(l.where.begin);
    if (l.state == detail::node_state::torn &&
        !lies_in_heap(p_, first.offset(), segments_.shape().bytes()))
      return "point outside the pool";
    return {};
  }

  const char* fault_of_segment(taking& take, std::uint64_t offset) {
    const std::uint64_t bytes = segments_.shape().bytes();
    if (!lies_in_heap(p_, offset, bytes)) return "point outside the pool";
    if ((offset & (unit_bytes() - 1)) != 0 || named_[unit_of(offset)] || !take(offset, bytes))
      return "name space that is not their own";
    named_[unit_of(offset)] = true;
    return nullptr;
  }

  error escapes_are_possible() const {
    if (impossible_escapes<Kind>(m_, segments_.root_of_table().escapes) == 0)
      return {status::ok, {}};
    return damaged("its escape slots, behind the directory's word, hold keys that cannot be there");
  }

  error damaged(const std::string& what) const { return cannot_use(path_, what); }

  std::string name_of(std::uint64_t first, std::uint64_t entries) const {
    return "the directory entries " + std::to_string(first) + " to " +
           std::to_string(first + entries - 1) + " at offset " +
           std::to_string(made_.offset() + 8 * first) + " ";
  }

  std::uint64_t bytes_of_directory() const noexcept { return directory_bytes(made_.exponent()); }
  std::uint64_t unit_bytes() const noexcept {
    return std::min<std::uint64_t>(segments_.shape().bytes(), page_bytes);
  }
  std::uint64_t unit_of(std::uint64_t offset) const noexcept {
    return offset >> std::countr_zero(unit_bytes());
  }
  /// But for the directory.
  void nothing_is_named() {
    named_.assign(unit_of(p_.end()) + 1, false);
    named_[unit_of(made_.offset())] = true;
  }

  table& t_;
  M& m_;
  pool<M>& p_;
  segments_type& segments_;
  const std::string& path_;
  const bool restored_;
  std::vector<std::string>* const dropped_;
  const checked_place made_;  // what the root names
  std::vector<bool> named_;   // by unit: whether an array that was named begins there
};

}  // namespace durahash::cceh
