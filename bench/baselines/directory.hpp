// A directory by most significant bits of the hash: how deep it is, and behind that its entries.
// The root's first word names it.
#pragma once

#include <set>

#include "bench/baselines/space.hpp"

namespace durahash::baselines {

inline std::uint64_t prefix(std::uint64_t hash, unsigned bits) {
  return bits == 0 ? 0 : hash >> (64 - bits);
}

/// Of the first `count` entries each value once.
template <class Entry, class Visit>
void for_each_named(std::uint64_t count, const Entry& entry, const Visit& visit) {
  std::set<std::uint64_t> seen;
  for (std::uint64_t x = 0; x < count; ++x)
    if (const std::uint64_t named = entry(x); seen.insert(named).second) visit(named);
}

/// Of a block's records those that a search finds there: what a split left behind is none.
template <class M, class Records, class Search, class Visit>
void for_each_found(M& m, Records& records, const Search& search, const Visit& visit) {
  for (record& r : records)
    if (const std::uint64_t key = load(m, r.key); search(key) == &r) visit(key, load(m, r.value));
}

template <class M>
class prefix_directory {
 public:
  explicit prefix_directory(space<M>& memory) : memory_(memory), m_(memory.medium()) {}

  struct words {
    pm<std::uint64_t> depth;
    pm<std::uint64_t> entries[1];
  };

  pm<std::uint64_t>& name() const { return memory_.template root<pm<std::uint64_t>>(); }
  std::uint64_t place() const { return load(m_, name()); }
  words& at(std::uint64_t offset) const { return *memory_.template at<words>(offset); }
  unsigned depth() const { return static_cast<unsigned>(load(m_, at(place()).depth)); }
  std::uint64_t count() const { return std::uint64_t{1} << depth(); }
  pm<std::uint64_t>& entry(std::uint64_t x) const { return at(place()).entries[x]; }

  static std::uint64_t bytes(unsigned depth) {
    return align_up(8 + (std::uint64_t{8} << depth), line_bytes);
  }
  /// All of one that is so deep.
  extent whole(std::uint64_t offset, unsigned depth) const { return {&at(offset), bytes(depth)}; }

  /// Its entries are unknown. Returns 0 where there is no room.
  std::uint64_t make(unsigned depth) {
    const std::uint64_t made = memory_.allocate(bytes(depth));
    if (made != 0) store(m_, at(made).depth, depth);
    return made;
  }
  void release(std::uint64_t offset, unsigned depth) { memory_.release(offset, bytes(depth)); }

  /// Recovery. Returns false of one outside of the memory.
  bool reach() {
    if (!memory_.reach(place(), line_bytes) || depth() >= 32) return false;
    const std::uint64_t more = bytes(depth()) - line_bytes;
    return more == 0 || memory_.reach(place() + line_bytes, more);
  }
  template <class Visit>
  void for_each_named(const Visit& visit) const {
    baselines::for_each_named(
        count(), [this](std::uint64_t x) { return load(m_, entry(x)); }, visit);
  }

 private:
  space<M>& memory_;
  M& m_;
};

}  // namespace durahash::baselines
