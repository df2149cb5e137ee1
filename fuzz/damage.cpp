#include "damage.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include "base/hash.hpp"
#include "engine/place.hpp"
#include "persist/format.hpp"

namespace durahash::fuzz {
namespace {

enum class edit : std::uint8_t {
  set_word,
  flip_bit,
  add,
  copy_word,
  set_byte,
  clear,
  copy_block,
  truncate,
  extend,
  entry,
  notable_word,
  count_of_edits,
};

constexpr std::size_t max_file_bytes = 64u << 20;

/// Numbers at which arithmetic goes wrong.
constexpr std::uint64_t notable_words[] = {0,
                                           1,
                                           7,
                                           8,
                                           16,
                                           255,
                                           4096,
                                           16384,
                                           1u << 21,
                                           0x7fffffff,
                                           0x80000000,
                                           0xffffffff,
                                           0x100000000,
                                           std::uint64_t{1} << 40,
                                           0x7fffffffffffffff,
                                           0x8000000000000000,
                                           0xfffffffffffff000,
                                           0xffffffffffffffff};

template <class T>
T read_at(const std::string& bytes, std::size_t at) {
  T value{};
  if (at + sizeof value <= bytes.size()) std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

template <class T>
void write_at(std::string& bytes, std::size_t at, const T& value) {
  if (at + sizeof value <= bytes.size()) std::memcpy(bytes.data() + at, &value, sizeof value);
}

/// Mostly one of the words that mean something.
std::size_t place(const sound_pool& pool, std::uint32_t choice) {
  if (choice % 16 == 15) return choice / 16 * std::size_t{8} % pool.bytes.size();
  return pool.words[choice / 16 % pool.words.size()];
}

/// A directory entry whose own check bits hold, with an exponent that is mostly small.
std::uint64_t plausible_entry(std::uint64_t value) {
  return checked_place::of((value & 0xffff) * block_bytes, value >> 16 & (value >> 32 & 3 ? 7 : 31))
      .word;
}

void apply(edit kind, std::string& bytes, std::size_t at, std::size_t other, std::uint64_t value) {
  auto word = read_at<std::uint64_t>(bytes, at);
  switch (kind) {
    case edit::set_word: return write_at(bytes, at, value);
    case edit::flip_bit: return write_at(bytes, at, word ^ std::uint64_t{1} << value % 64);
    case edit::add:
      return write_at(bytes, at,
                      word + static_cast<std::uint64_t>(static_cast<std::int8_t>(value)));
    case edit::copy_word: return write_at(bytes, at, read_at<std::uint64_t>(bytes, other));
    case edit::set_byte:
      return write_at(bytes, at + value % 8, static_cast<std::uint8_t>(value >> 8));
    case edit::clear: {
      std::size_t count =
          std::min<std::size_t>(value % 8192, bytes.size() - std::min(at, bytes.size()));
      std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(std::min(at, bytes.size())), count,
                  '\0');
      return;
    }
    case edit::copy_block:
      return write_at(bytes, at & ~std::size_t{255},
                      read_at<std::array<char, 256>>(bytes, other & ~std::size_t{255}));
    case edit::truncate:
      return bytes.resize(value % 2 == 0 ? at : (value >> 1) % (bytes.size() + 1));
    case edit::extend:
      return bytes.resize(std::min(max_file_bytes, bytes.size() + value % (1u << 22)));
    case edit::entry: return write_at(bytes, at, plausible_entry(value));
    case edit::notable_word:
      return write_at(bytes, at, notable_words[value % std::size(notable_words)]);
    case edit::count_of_edits: return;
  }
}

template <class Structure>
void reseal_structure(std::string& bytes, std::size_t at) {
  write_at(bytes, at, sealed(read_at<Structure>(bytes, at)));
}

void reseal_heap_state(std::string& bytes, std::size_t root_at) {
  auto root = read_at<root_record>(bytes, root_at);
  if (root.heap_state_offset > bytes.size() ||
      root.heap_state_bytes > bytes.size() - root.heap_state_offset)
    return;
  root.heap_state_checksum = checksum(bytes.data() + root.heap_state_offset, root.heap_state_bytes);
  write_at(bytes, root_at, root);
}

}  // namespace

std::string damaged(const sound_pool& pool, byte_source source) {
  std::string bytes = pool.bytes;
  for (int i = 0; i < 64 && !source.empty(); ++i) {
    auto kind = static_cast<edit>(source.take<std::uint8_t>() %
                                  static_cast<std::uint8_t>(edit::count_of_edits));
    std::size_t at = place(pool, source.take<std::uint32_t>());
    auto value = source.take<std::uint64_t>();
    apply(kind, bytes, at, place(pool, static_cast<std::uint32_t>(value)), value);
  }
  return bytes;
}

void reseal(std::string& bytes) {
  for (std::uint64_t at : superblock_offsets) reseal_structure<superblock>(bytes, at);
  for (std::uint64_t at : root_offsets) {
    reseal_heap_state(bytes, at);
    reseal_structure<root_record>(bytes, at);
  }
}

}  // namespace durahash::fuzz
