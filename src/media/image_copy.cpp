#include "media/image_copy.hpp"

#include <new>

#include "base/bits.hpp"

namespace durahash {
namespace {

constexpr std::size_t page_words = page_bytes / 8;

/// Others store to `page` meanwhile: some of its words may be newer than others.
__attribute__((no_sanitize("thread"))) bool is_zero(const std::uint64_t* page) noexcept {
  std::uint64_t any = 0;
  for (std::size_t i = 0; i < page_words; ++i) any |= __atomic_load_n(page + i, __ATOMIC_RELAXED);
  return any == 0;
}

__attribute__((no_sanitize("thread"))) bool is_same(const std::uint64_t* page,
                                                    const std::uint64_t* copy) noexcept {
  std::uint64_t differing = 0;
  for (std::size_t i = 0; i < page_words; ++i)
    differing |= __atomic_load_n(page + i, __ATOMIC_RELAXED) ^ copy[i];
  return differing == 0;
}

__attribute__((no_sanitize("thread"))) void copy_page(const std::uint64_t* page,
                                                      std::uint64_t* copy) noexcept {
  for (std::size_t i = 0; i < page_words; ++i)
    copy[i] = __atomic_load_n(page + i, __ATOMIC_RELAXED);
}

}  // namespace

image_copy::image_copy(mapping& from, mapping& to) : from_(from), to_(to) {}

status image_copy::pass(std::uint64_t bytes) try {
  if (status s = to_.grow(bytes); s != status::ok) return s;
  to_.shrink(bytes);
  std::uint64_t pages = bytes / page_bytes;
  has_.resize(pages);
  copied_ = 0;
  for (std::uint64_t i = 0; i < pages; ++i) {
    if (!from_.take_change(i) && has_[i]) continue;
    auto* page = reinterpret_cast<const std::uint64_t*>(from_.base() + i * page_bytes);
    auto* copy = reinterpret_cast<std::uint64_t*>(to_.base() + i * page_bytes);
    if (has_[i] ? is_same(page, copy) : is_zero(page)) continue;
    copy_page(page, copy);
    has_[i] = true;
    ++copied_;
  }
  return status::ok;
} catch (const std::bad_alloc&) {
  return status::out_of_memory;
}

}  // namespace durahash
