#include "disk/log_format.hpp"

#include <algorithm>
#include <cstring>

#include "base/hash.hpp"

namespace durahash {
namespace {

template <class T>
std::uint64_t checksum_of(const T& structure) noexcept {
  return checksum(&structure, offsetof(T, checksum));
}

std::uint64_t check_of(const log_entry& e, std::uint64_t place, std::uint64_t key) noexcept {
  constexpr std::uint64_t odd = 0x9e3779b97f4a7c15u;
  return checksum(&e.head, sizeof e - offsetof(log_entry, head), key + place * odd) & ~lap_mask;
}

log_record read_record(const std::byte* at) noexcept {
  log_record found;
  std::memcpy(&found, at, sizeof found);
  constexpr std::size_t before = log_record_bytes_before_areas;
  std::uint64_t sum;
  std::memcpy(&sum, at + before, sizeof sum);
  if (is_whole(found) || sum != checksum(at, before)) return found;
  found.areas = log_areas::of(found.slots);
  return sealed(found);
}

}  // namespace

std::uint64_t seal_of(const log_entry& e, std::uint64_t place, std::uint64_t key,
                      std::uint64_t lap) noexcept {
  return check_of(e, place, key) | (lap & lap_mask);
}

bool is_sealed(const log_entry& e, std::uint64_t place, std::uint64_t key) noexcept {
  return (e.seal & ~lap_mask) == check_of(e, place, key);
}

log_record sealed(log_record record) {
  record.checksum = checksum_of(record);
  return record;
}

log_header sealed(log_header header) {
  header.checksum = checksum_of(header);
  return header;
}

bool is_whole(const log_record& record) noexcept {
  if (record.checksum != checksum_of(record) || record.row_count > log_record::max_rows ||
      !record.areas.is_sound() || record.slots != record.areas.slots())
    return false;
  if (record.state == log_state::idle) return true;
  bool used = record.state == log_state::in_use || record.state == log_state::salvaging;
  if (!used || record.row_count == 0) return false;
  std::uint64_t reached = 0;
  for (std::uint64_t i = 0; i < record.row_count; ++i) {
    const log_row& row = record.rows[i];
    bool grows = row.end == log_row::no_end;
    if (row.first < reached || row.end < row.first || grows != (i + 1 == record.row_count))
      return false;
    reached = row.end;
  }
  return true;
}

found_record find_record(const std::byte* page) noexcept {
  found_record found{};
  for (std::uint64_t offset : log_record_offsets) {
    log_record one = read_record(page + (offset - log_record_offset));
    if (is_whole(one) && one.sequence > found.newest.sequence) found.newest = one;
  }
  found.ever_written =
      std::any_of(page, page + page_bytes, [](std::byte byte) { return byte != std::byte{0}; });
  return found;
}

bool is_whole(const log_header& header) noexcept {
  return header.checksum == checksum_of(header) && header.magic == log_magic &&
         header.version == log_version;
}

}  // namespace durahash
