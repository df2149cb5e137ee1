// CCEH: a segment as it is written anew: for a split, a merge, a move, a whole table.
#pragma once

#include <algorithm>
#include <vector>

#include "engine/cceh/operation.hpp"
#include "engine/frame/live_record.hpp"
#include "persist/heap.hpp"

namespace durahash::cceh {

/// In a cell that nothing refers to yet, and that goes back where the segment is not kept. Each
/// bucket's slots are filled in order; `finish` writes those that are left, and starts the
/// write-back of all.
template <medium M>
class segment_writer {
 public:
  /// Nothing where there is no space.
  static std::optional<segment_writer> on(M& m, pool<M>& p, heap<M>& h,
                                          const segment_shape& shape) {
    auto cell = allocate_loose(h, shape.bytes());
    if (!cell) return std::nullopt;
    return segment_writer(m, p.at(poff<bucket>{cell->offset()}), std::move(*cell), shape);
  }

  bool has_room(std::uint64_t at) const noexcept { return filled_[at] < slots_per_bucket; }

  [[gnu::always_inline]] void add(std::uint64_t at, std::uint64_t key_word,
                                  std::uint64_t value_word) {
    slot& to = first_[at].slots[filled_[at]++];
    store(*m_, to.value, value_word);
    store(*m_, to.key, key_word);
  }

  /// In the first bucket with room of the `probe` from `home` on. Returns false when there is none.
  [[gnu::always_inline]] bool put(std::uint64_t home, unsigned probe, const live_record& r) {
    if (has_room(home)) [[likely]]
      return add(home, r.key_word, r.value_word), true;
    return put_behind(home, probe, r.key_word, r.value_word);
  }

  /// Returns false when some record finds no place.
  template <class Records>
  bool lay_out(const Records& records) {
    return std::all_of(records.begin(), records.end(), [&](const live_record& r) {
      return put(shape_.home_of(r.hash), shape_.probe, r);
    });
  }

  /// Some of the records of one segment, each in the bucket it has there, which is always possible;
  /// what searches pass to get there is not empty.
  void lay_out_as_they_lie(const std::vector<resident>& records) {
    std::fill(filled_.begin(), filled_.end(), count{0});
    std::vector<bool> passed(shape_.buckets());
    for (const resident& r : records) {
      add(r.bucket, r.key_word, r.value_word);
      for (std::uint64_t b = shape_.home_of(r.hash); b != r.bucket; b = (b + 1) & shape_.mask())
        passed[b] = true;
    }
    for (std::uint64_t b = 0; b < shape_.buckets(); ++b)
      while (passed[b] && has_room(b)) add(b, removed_word, 0);
  }

  flushed finish() {
    static_assert(slots_per_bucket == 4);
    bucket* at = first_;
    for (const count filled : filled_) {
      slot* const slots = (at++)->slots;
      switch (filled) {  // those behind are empty
        case 0: store(*m_, slots[0].key, empty_word); [[fallthrough]];
        case 1: store(*m_, slots[1].key, empty_word); [[fallthrough]];
        case 2: store(*m_, slots[2].key, empty_word); [[fallthrough]];
        case 3: store(*m_, slots[3].key, empty_word); [[fallthrough]];
        default: break;
      }
    }
    return flush(*m_, extent{first_, filled_.size() * sizeof(bucket)}, "cceh.segment.words");
  }

  std::uint64_t offset() const noexcept { return cell_.offset(); }
  std::uint64_t keep() noexcept { return cell_.keep(); }

 private:
  using count = std::uint16_t;  // not a byte, whose stores might change anything

  [[gnu::noinline]] bool put_behind(std::uint64_t home, unsigned probe, std::uint64_t key_word,
                                    std::uint64_t value_word) {
    std::uint64_t at = home;
    do {
      if (--probe == 0) return M::planted("cceh-a-split-drops-what-does-not-fit");
      at = (at + 1) & (filled_.size() - 1);
    } while (!has_room(at));
    return add(at, key_word, value_word), true;
  }

  segment_writer(M& m, bucket* first, loose_cell<M> cell, const segment_shape& shape)
      : m_(&m), first_(first), cell_(std::move(cell)), shape_(shape), filled_(shape.buckets()) {}

  M* m_;
  bucket* first_;
  loose_cell<M> cell_;
  segment_shape shape_;
  std::vector<count> filled_;
};

}  // namespace durahash::cceh
