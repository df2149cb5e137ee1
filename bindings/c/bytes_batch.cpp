// Bytes to bytes, many at once.
#include <cstring>

#include "batch.hpp"

namespace durahash::c {
namespace {

[[gnu::cold]] durahash_status refuse_strings() noexcept {
  return refuse("the strings of the batch have no form, or a null pointer where they lie");
}

/// Whether string i can be looked at, for all i below n.
bool is_whole(const durahash_strings* all, std::size_t n) noexcept {
  if (n == 0) return true;
  if (all == nullptr) return false;
  if (all->offsets != nullptr) {
    for (std::size_t i = 0; i < n; ++i)
      if (all->offsets[i] > all->offsets[i + 1]) return false;
    return all->pointers == nullptr && (all->data != nullptr || all->offsets[0] == all->offsets[n]);
  }
  if (all->pointers == nullptr)
    return all->data != nullptr || (all->lengths == nullptr && all->length == 0);
  for (std::size_t i = 0; i < n; ++i)
    if (is_no_string(all->pointers[i], all->lengths != nullptr ? all->lengths[i] : all->length))
      return false;
  return true;
}

std::string_view string_at(const durahash_strings& all, std::size_t i) noexcept {
  const char* data = static_cast<const char*>(all.data);
  if (all.offsets != nullptr)
    return view(data == nullptr ? nullptr : data + all.offsets[i],
                all.offsets[i + 1] - all.offsets[i]);
  const std::size_t length = all.lengths != nullptr ? all.lengths[i] : all.length;
  if (all.pointers != nullptr) return view(all.pointers[i], length);
  if (data == nullptr) return view(nullptr, 0);
  return view(data + static_cast<std::ptrdiff_t>(i) * all.stride, length);
}

/// The views of one block of strings.
class string_block {
 public:
  string_block(const durahash_strings* all, const blocks& in) : all_(all), views_(in, true) {}
  std::span<const std::string_view> of(std::size_t first, std::size_t count) noexcept {
    const std::span<std::string_view> made = views_.first(count);
    for (std::size_t i = 0; i < count; ++i) made[i] = string_at(*all_, first + i);
    return made;
  }

 private:
  const durahash_strings* all_;
  block_array<std::string_view> views_;
};

/// Runs operate(keys, first, answers) for block after block.
template <class Operate>
durahash_status in_blocks(const durahash_pool* pool, std::size_t n, const durahash_strings* keys,
                          std::uint8_t* answers, Operate&& operate) noexcept {
  if (!is_whole(keys, n)) return refuse_strings();
  return on_bytes(pool, [&](table& all) {
    const blocks in(all, n, false);
    answer_array told(answers, in);
    string_block key_block(keys, in);
    auto one_block = operate(all, in);
    in.each([&](std::size_t first, std::size_t count) {
      const std::span<status> some = told.of_block(first, count);
      one_block(key_block.of(first, count), first, some);
      told.note(some);
    });
    return told.summary();
  });
}

/// Whether rows can be written to that belong to n keys.
bool is_whole(const durahash_rows& to, std::size_t n) noexcept {
  if (is_no_string(to.data, to.capacity)) return false;
  const auto most = static_cast<std::ptrdiff_t>(to.capacity);
  return n < 2 || most == 0 || to.stride >= most || to.stride <= -most;
}

void copy_to_row(const durahash_rows& to, std::size_t i, std::string_view value) noexcept {
  if (const std::size_t bytes = std::min(value.size(), to.capacity); bytes != 0)
    std::memcpy(static_cast<char*>(to.data) + static_cast<std::ptrdiff_t>(i) * to.stride,
                value.data(), bytes);
}

}  // namespace
}  // namespace durahash::c

using namespace durahash;
using namespace durahash::c;

durahash_status durahash_bytes_get_many(const durahash_pool* pool, size_t n,
                                        const durahash_strings* keys, const durahash_rows* values,
                                        uint8_t* answers) {
  if (values != nullptr && !is_whole(*values, n))
    return refuse("the rows of the batch are a null pointer, or overlap");
  return in_blocks(pool, n, keys, answers, [&](table& all, const blocks& in) {
    const bool same_length = values != nullptr && values->lengths == nullptr;
    return [&, same_length, wrong = block_array<bool>(in, same_length)](
               std::span<const std::string_view> some_keys, std::size_t first,
               std::span<status> some) mutable {
      if (same_length) std::fill_n(wrong.data(), some.size(), false);
      all.read_many(
          some_keys,
          [&](std::size_t i, std::string_view value) {
            if (values == nullptr) return;
            copy_to_row(*values, first + i, value);
            if (same_length) wrong.data()[i] = value.size() != values->capacity;
            else values->lengths[first + i] = value.size();
          },
          some);
      if (!same_length) return;
      for (std::size_t i = 0; i < some.size(); ++i)
        if (some[i] == status::ok && wrong.data()[i]) some[i] = status::mismatch;
    };
  });
}

durahash_status durahash_bytes_read_many(const durahash_pool* pool, size_t n,
                                         const durahash_strings* keys, durahash_indexed_reader read,
                                         void* context, uint8_t* answers) {
  if (read == nullptr) return refuse("there is no reader: a null pointer");
  return in_blocks(pool, n, keys, answers, [&](table& all, const blocks&) {
    return [&](std::span<const std::string_view> some_keys, std::size_t first,
               std::span<status> some) {
      all.read_many(
          some_keys,
          [&](std::size_t i, std::string_view value) {
            read(context, first + i, value.data(), value.size());
          },
          some);
    };
  });
}

durahash_status durahash_bytes_put_many(durahash_pool* pool, size_t n, const durahash_strings* keys,
                                        const durahash_strings* values, uint8_t* answers) {
  if (!is_whole(values, n)) return refuse_strings();
  return in_blocks(pool, n, keys, answers, [&](table& all, const blocks& in) {
    return [&, value_block = string_block(values, in)](std::span<const std::string_view> some_keys,
                                                       std::size_t first,
                                                       std::span<status> some) mutable {
      all.put_many(some_keys, value_block.of(first, some.size()), some);
    };
  });
}

durahash_status durahash_bytes_erase_many(durahash_pool* pool, size_t n,
                                          const durahash_strings* keys, uint8_t* answers) {
  return in_blocks(pool, n, keys, answers, [&](table& all, const blocks&) {
    return [&](std::span<const std::string_view> some_keys, std::size_t, std::span<status> some) {
      all.erase_many(some_keys, some);
    };
  });
}
