// Words to words, many at once.
#include <cstring>

#include "batch.hpp"
#include "scan.hpp"

namespace durahash::c {
namespace {

constexpr std::ptrdiff_t packed = sizeof(std::uint64_t);

/// A column of words in the caller's memory, with any stride and alignment.
class word_column {
 public:
  word_column(const void* first, std::ptrdiff_t stride) noexcept
      : base_(static_cast<char*>(const_cast<void*>(first))), stride_(stride) {}

  /// Whether it can be used as it lies.
  bool is_array() const noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(base_);
    return stride_ == packed && address % alignof(std::uint64_t) == 0;
  }
  std::uint64_t* words() const noexcept { return reinterpret_cast<std::uint64_t*>(base_); }

  /// Whether elements that are written to do not overlap.
  bool may_be_written(std::size_t n) const noexcept {
    return n < 2 || stride_ >= packed || stride_ <= -packed;
  }

  /// The words of a block: where they lie, or gathered.
  std::span<const std::uint64_t> block(std::size_t first, std::size_t count,
                                       block_array<std::uint64_t>& room) const noexcept {
    if (is_array()) return {words() + first, count};
    const std::span<std::uint64_t> into = room.first(count);
    for (std::size_t i = 0; i < count; ++i) std::memcpy(&into[i], at(first + i), sizeof into[i]);
    return into;
  }

  void scatter(std::size_t i, std::uint64_t word) const noexcept {
    std::memcpy(at(i), &word, sizeof word);
  }
  /// Those that were found.
  void scatter(std::size_t first, std::span<const std::uint64_t> all,
               std::span<const status> answers) const noexcept {
    for (std::size_t i = 0; i < all.size(); ++i)
      if (answers[i] == status::ok) scatter(first + i, all[i]);
  }

 private:
  char* at(std::size_t i) const noexcept {
    return base_ + static_cast<std::ptrdiff_t>(i) * stride_;
  }

  char* base_;
  std::ptrdiff_t stride_;
};

[[gnu::cold]] durahash_status refuse_arrays() noexcept {
  return refuse("an array of the batch is a null pointer, or its elements overlap");
}

}  // namespace
}  // namespace durahash::c

using namespace durahash;
using namespace durahash::c;

durahash_status durahash_u64_get_many(const durahash_pool* pool, size_t n, const void* keys,
                                      ptrdiff_t key_stride, void* values, ptrdiff_t value_stride,
                                      uint8_t* answers) {
  const word_column from(keys, key_stride), to(values, value_stride);
  if (n != 0 && (keys == nullptr || (values != nullptr && !to.may_be_written(n))))
    return refuse_arrays();
  return on_words(pool, [&](word_map& all) {
    const bool lies = from.is_array() && values != nullptr && to.is_array();
    const blocks in(all, n, lies && answers != nullptr);
    answer_array told(answers, in);
    block_array<std::uint64_t> key_room(in, !from.is_array()), value_room(in, !lies);
    in.each([&](std::size_t first, std::size_t count) {
      const std::span<status> some = told.of_block(first, count);
      const std::span<std::uint64_t> found =
          lies ? std::span(to.words() + first, count) : value_room.first(count);
      all.get_many(from.block(first, count, key_room), found, some);
      if (!lies && values != nullptr) to.scatter(first, found, some);
      told.note(some);
    });
    return told.summary();
  });
}

durahash_status durahash_u64_put_many(durahash_pool* pool, size_t n, const void* keys,
                                      ptrdiff_t key_stride, const void* values,
                                      ptrdiff_t value_stride, uint8_t* answers) {
  const word_column from(keys, key_stride), set(values, value_stride);
  if (n != 0 && (keys == nullptr || values == nullptr)) return refuse_arrays();
  return on_words(pool, [&](word_map& all) {
    const blocks in(all, n, from.is_array() && set.is_array() && answers != nullptr);
    answer_array told(answers, in);
    block_array<std::uint64_t> key_room(in, !from.is_array()), value_room(in, !set.is_array());
    in.each([&](std::size_t first, std::size_t count) {
      const std::span<status> some = told.of_block(first, count);
      all.put_many(from.block(first, count, key_room), set.block(first, count, value_room), some);
      told.note(some);
    });
    return told.summary();
  });
}

durahash_status durahash_u64_erase_many(durahash_pool* pool, size_t n, const void* keys,
                                        ptrdiff_t key_stride, uint8_t* answers) {
  const word_column from(keys, key_stride);
  if (n != 0 && keys == nullptr) return refuse_arrays();
  return on_words(pool, [&](word_map& all) {
    const blocks in(all, n, from.is_array() && answers != nullptr);
    answer_array told(answers, in);
    block_array<std::uint64_t> key_room(in, !from.is_array());
    in.each([&](std::size_t first, std::size_t count) {
      const std::span<status> some = told.of_block(first, count);
      all.erase_many(from.block(first, count, key_room), some);
      told.note(some);
    });
    return told.summary();
  });
}

durahash_status durahash_u64_fill(const durahash_pool* pool, durahash_cursor* at, size_t capacity,
                                  void* keys, ptrdiff_t key_stride, void* values,
                                  ptrdiff_t value_stride, size_t* count) {
  const word_column key_column(keys, key_stride), value_column(values, value_stride);
  if (at == nullptr || count == nullptr || keys == nullptr || capacity == 0 ||
      !key_column.may_be_written(capacity) ||
      (values != nullptr && !value_column.may_be_written(capacity)))
    return refuse_arrays();
  *count = 0;
  return on_words(pool, [&](word_map& all) {
    return fill(*at, capacity, *count, [&](cursor& from, std::size_t limit, std::size_t& n) {
      return all.scan(from, limit, [&](std::uint64_t key, std::uint64_t value) {
        if (n++ >= capacity) return;
        key_column.scatter(n - 1, key);
        if (values != nullptr) value_column.scatter(n - 1, value);
      });
    });
  });
}
