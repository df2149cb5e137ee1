#include "versioned_value.hpp"

#include <cstring>

#include "random.hpp"
#include "subject.hpp"

namespace durahash::test {

namespace {

struct description {
  std::uint64_t n = 0;
  std::uint64_t version = 0;
};

constexpr std::uint64_t low_24 = 0xff'ffff, low_16 = 0xffff;

std::uint64_t checked_word(std::uint64_t n, std::uint64_t version) {
  std::uint64_t body = (n & low_24) << 24 | (version & low_24);
  return body << 16 | (mixed(body) & low_16);
}

std::uint64_t check_of(std::string_view bytes) {
  std::uint64_t sum = bytes.size();
  for (char c : bytes) sum = (sum ^ static_cast<unsigned char>(c)) * 0x9e3779b97f4a7c15;
  return mixed(sum);
}

std::optional<description> read(const setup& with, std::string_view value) {
  if (with.value() == data_kind::u64) {
    std::uint64_t word = bytes_word(value), body = word >> 16;
    if ((mixed(body) & low_16) != (word & low_16)) return std::nullopt;
    return description{body >> 24, body & low_24};
  }
  if (value.size() < 3 * sizeof(std::uint64_t)) return std::nullopt;
  std::string_view checked = value.substr(0, value.size() - sizeof(std::uint64_t));
  if (bytes_word(value.substr(checked.size())) != check_of(checked)) return std::nullopt;
  return description{bytes_word(value.substr(0, 8)), bytes_word(value.substr(8, 8))};
}

}  // namespace

std::string versioned_value(const setup& with, std::uint64_t n, std::uint64_t version) {
  if (with.value() == data_kind::u64) return word_bytes(checked_word(n, version));
  std::string value =
      word_bytes(n) + word_bytes(version) + long_value(with, n + version, mixed(version) % 120);
  return value + word_bytes(check_of(value));
}

std::optional<std::uint64_t> version_in(const setup& with, std::uint64_t n,
                                        std::string_view value) {
  std::optional<description> found = read(with, value);
  if (!found || found->n != (with.value() == data_kind::u64 ? n & low_24 : n)) return std::nullopt;
  return found->version;
}

bool describes_itself(const setup& with, std::string_view key, std::string_view value) {
  std::optional<description> found = read(with, value);
  return found && nth_key(with, found->n) == key;
}

}  // namespace durahash::test
