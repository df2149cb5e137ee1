// The pools that readers are tried beside: engine, kinds of records, level. And what their records
// are, which tell their key and version in each byte.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "durahash/table.hpp"

namespace durahash::test {

enum class record_kind : std::uint8_t { words, bytes, fixed_keys };

struct reader_subject {
  engine_kind engine{};
  record_kind kind{};
  durability_level durability = durability_level::process;

  /// Of a pool with a log on a disk.
  bool logs() const noexcept { return durability >= durability_level::power; }
  bool of_words() const noexcept { return kind == record_kind::words; }
  std::string name() const {
    const std::string kinds[] = {"words", "bytes", "fixed_keys"};
    const std::string made = std::string(name_of(engine)) + "_" + kinds[static_cast<int>(kind)];
    return logs() ? made + "_" + std::string(name_of(durability)) : made;
  }
  options creating() const {
    options how;
    how.mode = open_mode::create_new;
    how.engine = engine;
    how.key = how.value = of_words() ? data_kind::u64 : data_kind::bytes;
    how.durability = durability;
    how.medium = logs() ? medium_kind::disk : medium_kind::file;
    if (logs()) how.log_bytes = 512 << 10;  // a small one goes round
    if (kind == record_kind::fixed_keys) how.settings["key_bytes"] = 16;
    if (engine == engine_kind::turbo) how.settings.insert({{"shards", 16}, {"shard_buckets", 2}});
    return how;
  }

  /// Words: 0 and all ones are keys, too.
  std::string key(std::uint32_t n) const {
    if (of_words()) {
      const std::uint64_t word = n == 0 ? 0 : n == 1 ? ~std::uint64_t{0} : n;
      return {reinterpret_cast<const char*>(&word), sizeof word};
    }
    std::string text = "key-" + std::to_string(n);
    text.resize(kind == record_kind::fixed_keys ? 16 : 12 + n % 40, '.');
    return text;
  }
  std::string value(std::uint32_t n, std::uint32_t version) const {
    const std::uint64_t word = std::uint64_t{version} << 32 | n;
    std::string text(reinterpret_cast<const char*>(&word), sizeof word);
    if (of_words()) return text;
    std::uint64_t x = word * 0x9e3779b97f4a7c15u;
    const std::size_t bytes = version % 64 == 63 ? 70'000 : 8 + x % 200;
    while (text.size() < bytes) {
      x = (x ^ x >> 29) * 0xd6e8feb86659fd93u;
      text.append(reinterpret_cast<const char*>(&x), sizeof x);
    }
    return text;
  }
  /// The version that a value is, if it is one of that key's, whole.
  std::optional<std::uint32_t> version_of(std::uint32_t n, std::string_view text) const {
    std::uint64_t word = 0;
    if (text.size() < sizeof word) return std::nullopt;
    std::memcpy(&word, text.data(), sizeof word);
    const auto version = static_cast<std::uint32_t>(word >> 32);
    if (static_cast<std::uint32_t>(word) != n || text != value(n, version)) return std::nullopt;
    return version;
  }
  std::optional<std::uint32_t> number_of(std::string_view key_text) const {
    std::uint32_t n = 0;
    if (of_words()) {
      std::uint64_t word = 0;
      std::memcpy(&word, key_text.data(), sizeof word);
      n = word == ~std::uint64_t{0} ? 1 : static_cast<std::uint32_t>(word);
    } else {
      if (key_text.size() < 5) return std::nullopt;
      n = static_cast<std::uint32_t>(
          std::strtoul(std::string(key_text.substr(4)).c_str(), nullptr, 10));
    }
    return key(n) == key_text ? std::optional(n) : std::nullopt;
  }
};

/// Engines and kinds at the level process; then those of pools with a log, at the one level and the
/// other in turn, or with DURAHASH_LONG=1 at both.
inline std::vector<reader_subject> reader_subjects() {
  std::vector<reader_subject> all;
  for (engine_kind engine : all_engines()) {
    if (engine > engine_kind::gphash) continue;  // of the tests alone
    all.push_back({engine, record_kind::words});
    all.push_back({engine, record_kind::bytes});
    if (engine == engine_kind::gphash) all.push_back({engine, record_kind::fixed_keys});
  }
  const char* const says = std::getenv("DURAHASH_LONG");
  const bool both = says != nullptr && *says == '1';
  for (std::size_t n = 0, count = all.size(); n < count; ++n)
    for (durability_level level : {durability_level::power, durability_level::power_buffered}) {
      const bool its_turn = (n % 2 == 0) == (level == durability_level::power);
      if (both || its_turn) all.push_back({all[n].engine, all[n].kind, level});
    }
  return all;
}

/// Where its pools are: on a disk, if they have a log.
inline std::string disk_folder() {
  const char* const named = std::getenv("DURAHASH_DISK_DIR");
  return named != nullptr && *named != 0 ? named : "/var/tmp";
}
inline std::string folder_for(const reader_subject& s) {
  return s.logs() ? disk_folder() : "/dev/shm";
}

/// Keys [first, last), many at once: one wait of a disk serves them.
inline void put_all(table& pool, const reader_subject& s, std::uint32_t first, std::uint32_t last,
                    std::uint32_t version) {
  constexpr std::uint32_t at_once = 500;
  for (; first < last; first += at_once) {
    std::vector<std::string> keys, values;
    for (std::uint32_t n = first; n < std::min(last, first + at_once); ++n)
      keys.push_back(s.key(n)), values.push_back(s.value(n, version));
    const std::vector<std::string_view> k(keys.begin(), keys.end()),
        v(values.begin(), values.end());
    std::vector<status> answers(k.size());
    pool.put_many(k, v, answers);
    for (status answer : answers) ASSERT_EQ(answer, status::ok);
  }
}

class ReaderSubjects : public testing::TestWithParam<reader_subject> {};

inline table opened(const std::string& path, const options& how) {
  auto made = table::open(path, how);
  if (!made) throw std::runtime_error(made.failure().message);
  return std::move(*made);
}

}  // namespace durahash::test
