// What a log says of lines that the pool's file may not have yet, for who follows it as it grows:
// of each line the entry of the latest place, once the log is known to reach its end.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "disk/log_format.hpp"
#include "disk/planted.hpp"

namespace durahash {

class log_tail {
 public:
  static constexpr std::uint64_t lines_per_page = page_bytes / line_bytes;
  using line = std::array<std::uint64_t, line_bytes / 8>;

  void clear() noexcept;

  /// Notes an entry, in any order of places. Calls put(number, line) for each that counts from now
  /// on; those whose end the log does not reach yet wait. Throws std::bad_alloc.
  template <class Put>
  void take(std::uint64_t place, const log_entry& e, std::uint64_t reached, Put&& put) {
    if (e.end(place) > reached) waiting_.push_back({place, e});
    else count(place, e, put);
  }
  /// An entry of that line is about to be taken: far ahead, then nearer.
  void ask_for_index(std::uint64_t number) const noexcept {
    if (!index_.empty()) __builtin_prefetch(&index_[hash_of(number)]);
  }
  void ask_for_line(std::uint64_t number) const noexcept {
    if (index_.empty()) return;
    const std::uint32_t found = index_[hash_of(number)];
    if (found == 0) return;
    const auto* at = reinterpret_cast<const std::byte*>(&lines_[found - 1]);
    __builtin_prefetch(at, 1), __builtin_prefetch(at + line_bytes, 1);
  }
  /// The log reaches up to there now.
  template <class Put>
  void reaches(std::uint64_t end, Put&& put) {
    std::erase_if(waiting_, [&](const placed& p) {
      const bool counts = p.entry.end(p.place) <= end;
      if (counts) count(p.place, p.entry, put);
      return counts;
    });
  }
  /// What waits says what nobody was told.
  void forget_waiting() noexcept { waiting_.clear(); }

  /// The pool's file has what entries before that place say; never an earlier place than before.
  /// Cost: none until twice as many lines
  /// are known as were kept the last time.
  void forget_before(std::uint64_t place);

  /// Puts what is known of the page's lines over what the file has of it.
  void put_onto(std::uint64_t page, std::byte* at) const noexcept;

  /// Whether an entry that waits is about a line of one of those pages of which nothing is known
  /// yet.
  template <class Among>
  bool awaits(Among&& pages) const noexcept {
    return std::any_of(waiting_.begin(), waiting_.end(), [&](const placed& p) {
      return pages(p.entry.number() / lines_per_page) && find(p.entry.number()) == nullptr;
    });
  }

 private:
  struct placed {
    std::uint64_t place;
    log_entry entry;
  };
  struct known {
    std::uint64_t number, place;
    line words;
  };

  template <class Put>
  void count(std::uint64_t place, const log_entry& e, Put&& put) {
    if (e.number() == log_entry::no_line) return;
    known& k = known_of(e.number());
    // a later one came before it
    if (place < k.place && !disk_bug("a-late-seal-counts")) return;
    k.place = place, k.words = e.line;
    put(e.number(), k.words);
  }

  /// Null where nothing is known of it that the file may lack.
  const known* find(std::uint64_t number) const noexcept;
  /// Throws std::bad_alloc.
  known& known_of(std::uint64_t number);
  std::size_t hash_of(std::uint64_t number) const noexcept {
    constexpr std::uint64_t golden = 0x9e3779b97f4a7c15;
    return (number * golden >> 32) & (index_.size() - 1);
  }
  std::size_t slot_of(std::uint64_t number) const noexcept;
  void index_all(std::size_t slots);

  // A busy writer's entries are some million a second. So the lines stand one behind the other, and
  // an index finds them: by linear probing, at most half full, each slot one more than a line's
  // place in the array, or 0.
  std::vector<known> lines_;
  std::vector<std::uint32_t> index_;
  std::size_t kept_ = 0;  // lines, when some were forgotten last
  std::vector<placed> waiting_;
  std::uint64_t forgotten_ = 0;  // entries before it
};

}  // namespace durahash
