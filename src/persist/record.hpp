// Records: key and value bytes behind a small header, in a cell of the heap. Written once, whole,
// before anything refers to them; never changed after.
#pragma once

#include <cstring>
#include <optional>
#include <string_view>

#include "base/hash.hpp"
#include "durahash/info.hpp"
#include "persist/heap.hpp"

namespace durahash {

/// On the medium: 16 bytes, 16-aligned, then the key's bytes, then the value's.
struct record_header {
  std::uint32_t key_bytes;
  std::uint32_t value_bytes;
  // XXH3-64, seeded with both lengths, of the key's and value's bytes; the key's also where it lies
  // elsewhere
  std::uint64_t checksum;
};
static_assert(sizeof(record_header) == 16);

struct record_view {
  std::string_view key, value;
  std::uint64_t bytes() const { return sizeof(record_header) + key.size() + value.size(); }
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

inline std::uint64_t record_checksum(std::string_view key, std::string_view value) {
  std::uint64_t seed = static_cast<std::uint64_t>(key.size()) << 32 | value.size();
  return checksum(value.data(), value.size(), xxh3(key.data(), key.size(), seed));
}

/// Writes a record and starts its write-back. `key` is what of the key is to lie in it, all or
/// nothing; `sum` is of all of the key either way, so that a value is not taken for another key's.
/// Returns its offset, or nothing when there is no space.
template <medium M>
std::optional<std::uint64_t> write_record(M& m, heap<M>& h, pool<M>& p, std::string_view key,
                                          std::string_view value, std::uint64_t sum,
                                          flushed& started) {
  std::uint64_t bytes = sizeof(record_header) + key.size() + value.size();
  auto offset = h.allocate(bytes);
  if (!offset) return std::nullopt;
  std::byte* at = p.at(*offset);
  record_header header{static_cast<std::uint32_t>(key.size()),
                       static_cast<std::uint32_t>(value.size()), sum};
  store_bytes(m, at, &header, sizeof header);
  store_bytes(m, at + sizeof header, key.data(), key.size());
  store_bytes(m, at + sizeof header + key.size(), value.data(), value.size());
  started += flush(m, extent{at, bytes}, "record.bytes");
  return offset;
}

template <medium M>
std::optional<std::uint64_t> write_record(M& m, heap<M>& h, pool<M>& p, std::string_view key,
                                          std::string_view value, flushed& started) {
  return write_record(m, h, p, key, value, record_checksum(key, value), started);
}

/// The record at `offset`, or nothing when no record can be there: no byte of a pool leads outside
/// the pool.
template <medium M>
[[gnu::always_inline]] inline std::optional<record_view> record_at(M& m, const pool<M>& p,
                                                                   std::uint64_t offset) {
  std::uint64_t end = p.end();
  if (offset % 16 != 0 || offset < p.block().heap_offset || offset > end - sizeof(record_header))
    return std::nullopt;
  const std::byte* at = p.at(offset);
  m.will_read(at, sizeof(record_header));
  record_header header;
  std::memcpy(&header, at, sizeof header);
  std::uint64_t payload = std::uint64_t{header.key_bytes} + header.value_bytes;
  if (header.key_bytes > max_key_bytes || payload > end - offset - sizeof header)
    return std::nullopt;
  auto text = reinterpret_cast<const char*>(at + sizeof header);
  m.will_read(text, payload);
  return record_view{{text, header.key_bytes}, {text + header.key_bytes, header.value_bytes}};
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
template <medium M>
bool record_is_whole(const pool<M>& p, std::uint64_t offset, const record_view& record) {
  record_header header;
  std::memcpy(&header, p.at(offset), sizeof header);
  return header.checksum == record_checksum(record.key, record.value);
}

}  // namespace durahash
