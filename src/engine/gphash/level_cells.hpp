// GPHash: where levels lie in the pool: cells of the heap, and the root's words that name them.
#pragma once

#include <optional>
#include <span>

#include "engine/frame/arrays.hpp"
#include "engine/gphash/buckets.hpp"
#include "engine/place.hpp"
#include "persist/heap.hpp"

namespace durahash::gphash {

namespace detail {

/// A cell's offset is a multiple of its bytes, or of a page's: place words name blocks.
constexpr bool every_level_begins_at_a_block() {
  for (unsigned slots_log2 = 1; slots_log2 <= 4; ++slots_log2)
    for (unsigned key_bytes = 0; key_bytes <= max_key_bytes; key_bytes += 8)
      for (unsigned log2 = min_bottom; log2 < level_sizes; ++log2)
        if (cell_bytes_for(shape{1, 1, 1u << slots_log2, slots_log2, key_bytes}.level_bytes(log2)) %
                block_bytes !=
            0)
          return false;
  return true;
}
static_assert(every_level_begins_at_a_block());

}  // namespace detail

template <medium M, class Kind>
class level_cells {
 public:
  level_cells(pool<M>& p, heap<M>& h, const shape& s) noexcept
      : p_(p), m_(p.medium()), heap_(h), shape_(s) {}

  level_view view_of(std::uint64_t offset, unsigned log2) const noexcept {
    return {p_.at(poff<pm<std::uint64_t>>{offset}), offset, log2};
  }
  std::uint64_t bytes_of(unsigned log2) const noexcept { return shape_.level_bytes(log2); }

  /// For a level of 2^log2 buckets.
  std::optional<loose_cell<M>> allocate(unsigned log2) {
    return allocate_loose(heap_, bytes_of(log2));
  }
  /// Of a level that nobody has seen.
  void free(const level_view& l) noexcept { heap_.free(l.offset, bytes_of(l.log2)); }
  /// Of a level that readers may still see.
  void give_back(const level_view& l) noexcept {
    give_back_array<Kind>(p_, heap_, l.offset, bytes_of(l.log2));
  }
  flushed write(pm<std::uint64_t>* at, std::span<const std::uint64_t> words) {
    for (std::size_t i = 0; i < words.size(); ++i) store(m_, at[i], words[i]);
    return flush(m_, extent{at, words.size() * 8}, "gphash.level.words");
  }

  /// Of a new pool.
  unsigned first_top() const noexcept {
    return static_cast<unsigned>(p_.block().settings[setting::first_top]);
  }
  geometry named() const noexcept { return {load(m_, root_of(p_).geometry)}; }
  unsigned bank() const noexcept { return named().bank(); }
  pm<std::uint64_t>& word_of(unsigned bank, unsigned log2) const noexcept {
    return root_of(p_).levels[bank][log2];
  }
  /// Of a level in use.
  pm<std::uint64_t>& word_of(const level_view& l) const noexcept { return word_of(bank(), l.log2); }

 private:
  pool<M>& p_;
  M& m_;
  heap<M>& heap_;
  shape shape_;
};

}  // namespace durahash::gphash
