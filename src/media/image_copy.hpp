// A copy of a mapping that others write to meanwhile: pass after pass it takes what has changed,
// until so little is left that the last pass, with writers kept out, takes next to no time.
#pragma once

#include <cstdint>
#include <vector>

#include "media/mapping.hpp"

namespace durahash {

class image_copy {
 public:
  /// `to` is new: all zeros. Throws std::bad_alloc.
  image_copy(mapping& from, mapping& to);

  /// Copies, while writers go on, until what changes meanwhile gets no less. `end` tells how much
  /// of the mapping there is. Returns ok, no_space, out_of_memory, io_error.
  template <class End>
  status catch_up(End&& end) {
    std::uint64_t before = ~std::uint64_t{0};
    for (int passes = 0; passes < max_passes; ++passes) {
      if (status s = pass(end()); s != status::ok) return s;
      // What is written to the disk here need not be written while writers are kept out.
      if (status s = to_.write_to_disk(0, to_.backed_bytes()); s != status::ok) return s;
      if (copied_ <= few_pages || copied_ > before / 2) break;
      before = copied_;
    }
    return status::ok;
  }

  /// Brings the first `bytes` of the copy to what they are now, and makes it as long.
  status pass(std::uint64_t bytes);

 private:
  static constexpr int max_passes = 8;
  static constexpr std::uint64_t few_pages = 64;

  mapping& from_;
  mapping& to_;
  std::vector<bool> has_;     // pages that are not zeros
  std::uint64_t copied_ = 0;  // pages, in the last pass
};

}  // namespace durahash
