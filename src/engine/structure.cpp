#include "engine/structure.hpp"

#include <cstring>

namespace durahash {

void pool_part::add(std::string what,
                    std::variant<std::uint64_t, bool, std::string, raw_bytes> value) {
  facts.push_back({std::move(what), std::move(value)});
}

std::string hex(std::uint64_t word) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text = "0x";
  for (int shift = 60; shift >= 0; shift -= 4) text += digits[word >> shift & 15];
  return text;
}

std::string power_of_two(unsigned log2) { return "2^" + std::to_string(log2); }

void add_datum(pool_part& into, const std::string& name, data_kind kind, std::string_view bytes) {
  constexpr std::size_t shown = 64;
  std::uint64_t word;
  if (kind == data_kind::u64 && bytes.size() == sizeof word) {
    std::memcpy(&word, bytes.data(), sizeof word);
    return into.add(name, word);
  }
  into.add(name, raw_bytes{std::string(bytes.substr(0, shown))});
  into.add(name + "_bytes", std::uint64_t{bytes.size()});
}

}  // namespace durahash
