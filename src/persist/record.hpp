// Records: key and value bytes behind a small header, in a cell of the heap. Written once, whole,
// before anything refers to them; never changed after.
#pragma once

#include <cstring>
#include <optional>
#include <string_view>

#include "base/crc32c.hpp"
#include "base/hash.hpp"
#include "durahash/info.hpp"
#include "persist/heap.hpp"
#include "persist/record_shape.hpp"

namespace durahash {

struct record_view {
  std::string_view key, value;
  const std::byte* at = nullptr;  // its header

  /// Those of its cell that it takes: the value's are the last ones.
  std::uint64_t bytes() const noexcept {
    return static_cast<std::uint64_t>(value.data() + value.size() -
                                      reinterpret_cast<const char*>(at));
  }
};

/// Whether they are equal; most keys have 8 to 16 bytes.
[[gnu::always_inline]] inline bool same_bytes(std::string_view a, std::string_view b) noexcept {
  const std::size_t n = a.size();
  if (n != b.size()) return false;
  if (n < 8 || n > 16) return n == 0 || std::memcmp(a.data(), b.data(), n) == 0;
  std::uint64_t first[2], last[2];
  std::memcpy(&first[0], a.data(), 8), std::memcpy(&first[1], b.data(), 8);
  std::memcpy(&last[0], a.data() + n - 8, 8), std::memcpy(&last[1], b.data() + n - 8, 8);
  return ((first[0] ^ first[1]) | (last[0] ^ last[1])) == 0;
}

/// A record's header (record_shape.hpp says what it is made of), without its sum.
struct record_header {
  std::uint64_t words[2];

  static bool may_be_short(std::size_t key_bytes, std::size_t value_bytes) noexcept {
    return key_bytes <= record_shape::longest_short_key &&
           value_bytes <= record_shape::longest_short_value;
  }
  static std::uint32_t short_lengths(std::size_t key_bytes, std::size_t value_bytes) noexcept {
    return static_cast<std::uint32_t>(record_shape::is_short | key_bytes << 24 | value_bytes);
  }
  /// Of all of the key, also where it lies elsewhere, so that a value is not taken for another
  /// key's.
  [[gnu::always_inline]] static std::uint64_t short_word(std::uint32_t lengths,
                                                         std::string_view key,
                                                         std::string_view value) noexcept {
    crc32c sum;
    sum.add(reinterpret_cast<const char*>(&lengths), sizeof lengths);
    sum.add(key.data(), key.size()).add(value.data(), value.size());
    return std::uint64_t{sum.value()} << 32 | lengths;
  }
  static std::uint64_t long_sum(std::string_view key, std::string_view value) noexcept {
    const std::uint64_t seed = static_cast<std::uint64_t>(key.size()) << 32 | value.size();
    return checksum(value.data(), value.size(), xxh3(key.data(), key.size(), seed));
  }

  record_shape shape() const noexcept { return record_shape::of(words[0]); }
  /// Whether key and value are those that it was made for.
  bool vouches_for(std::string_view key, std::string_view value) const noexcept {
    const auto low = static_cast<std::uint32_t>(words[0]);
    if ((low & record_shape::is_short) != 0) return words[0] == short_word(low, key, value);
    return words[1] == long_sum(key, value);
  }
};
static_assert(sizeof(record_header) == record_shape::least_bytes);

/// Writes a record and starts its write-back. KeyElsewhere: the key does not lie in it.
/// Returns its offset; 0 when there is no space.
template <bool KeyElsewhere, medium M>
std::uint64_t write_record(M& m, heap<M>& h, pool<M>& p, std::string_view key,
                           std::string_view value, flushed& started) {
  const std::size_t key_bytes = KeyElsewhere ? 0 : key.size();
  std::uint64_t header_bytes = sizeof(record_header);
  if ((p.block().incompat & has_short_records) != 0) [[likely]]
    if (record_header::may_be_short(key_bytes, value.size())) [[likely]]
      header_bytes = record_shape::short_bytes;
  const std::uint64_t bytes = header_bytes + key_bytes + value.size();
  const std::uint64_t offset = h.allocate(bytes).value_or(0);
  if (offset == 0) [[unlikely]]
    return 0;
  std::byte* const at = p.at(offset);
  if (header_bytes == record_shape::short_bytes) [[likely]] {
    const std::uint64_t word = record_header::short_word(
        record_header::short_lengths(key_bytes, value.size()), key, value);
    store_bytes(m, at, &word, sizeof word);
  } else {
    const record_header header{
        {std::uint64_t{value.size()} << 32 | key_bytes, record_header::long_sum(key, value)}};
    store_bytes(m, at, &header, sizeof header);
  }
  store_bytes(m, at + header_bytes, key.data(), key_bytes);
  store_bytes(m, at + header_bytes + key_bytes, value.data(), value.size());
  started += flush(m, extent{at, bytes}, "record.bytes");
  return offset;
}

/// The record at `offset`, or nothing when no record can be there: no byte of a pool leads outside
/// the pool.
template <medium M>
[[gnu::always_inline]] inline std::optional<record_view> record_at(M& m, const pool<M>& p,
                                                                   std::uint64_t offset) {
  const std::uint64_t end = p.end();
  if (offset % 16 != 0 || offset < p.block().heap_offset ||
      offset > end - record_shape::least_bytes)
    return std::nullopt;
  const std::byte* at = p.at(offset);
  std::uint64_t first;
  m.will_read(at, sizeof first);
  std::memcpy(&first, at, sizeof first);
  const record_shape shape = record_shape::of(first);
  if (shape.key_bytes > max_key_bytes || shape.bytes() > end - offset) return std::nullopt;
  const auto text = reinterpret_cast<const char*>(at + shape.header_bytes);
  m.will_read(text, std::uint64_t{shape.key_bytes} + shape.value_bytes);
  return record_view{{text, shape.key_bytes}, {text + shape.key_bytes, shape.value_bytes}, at};
}

/// Asks for the header and the first bytes of what may be a record.
template <medium M>
[[gnu::always_inline]] inline void prefetch_record(const pool<M>& p, std::uint64_t offset) {
  const auto at = reinterpret_cast<std::uintptr_t>(p.at(std::uint64_t{0})) + offset;
  __builtin_prefetch(reinterpret_cast<const void*>(at));
  __builtin_prefetch(reinterpret_cast<const void*>(at + line_bytes));
}

/// Whether the record's bytes are those that were written. `record` has its key, wherever that
/// lies.
inline bool is_whole(const record_view& record) noexcept {
  record_header header;
  std::memcpy(&header, record.at, sizeof header);
  return header.vouches_for(record.key, record.value);
}

}  // namespace durahash
