// One face for `map` and `table`: keys and values are byte strings, and where the pool holds words,
// the 8 bytes of the word.
#pragma once

#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "durahash/map.hpp"
#include "durahash/table.hpp"
#include "setup.hpp"

namespace durahash::test {

using strings = std::vector<std::string>;
using answers = std::vector<status>;
using record_visitor = std::function<void(std::string_view key, std::string_view value)>;

class subject {
 public:
  virtual ~subject() = default;
  virtual handle& pool() = 0;

  virtual status put(std::string_view key, std::string_view value) = 0;
  virtual status insert(std::string_view key, std::string_view value) = 0;
  virtual status update(std::string_view key, std::string_view value) = 0;
  virtual status get(std::string_view key, std::string& value) = 0;
  virtual bool contains(std::string_view key) = 0;
  virtual status erase(std::string_view key) = 0;
  virtual status take(std::string_view key, std::string& value) = 0;
  virtual status compare_and_set(std::string_view key, std::string_view expected,
                                 std::string_view desired) = 0;
  virtual status fetch_add(std::string_view key, std::uint64_t delta, std::uint64_t& previous) = 0;
  /// By `change(present)`, the new value.
  using value_maker = std::function<std::string(std::string_view)>;
  virtual status update_with(std::string_view key, const value_maker& change) = 0;
  virtual answers get_many(const strings& keys, strings& values) = 0;
  virtual answers put_many(const strings& keys, const strings& values) = 0;
  virtual answers erase_many(const strings& keys) = 0;
  virtual status scan(cursor& at, std::size_t limit, const record_visitor& visit) = 0;

  std::optional<std::string> get(std::string_view key) {
    std::string value;
    return get(key, value) == status::ok ? std::optional(std::move(value)) : std::nullopt;
  }
};

/// Opens `path` with the class of the API that the setup names.
result<std::unique_ptr<subject>> open_subject(const setup& with, const std::string& path,
                                              const options& how);

std::string word_bytes(std::uint64_t word);
std::uint64_t bytes_word(std::string_view bytes);  ///< of exactly 8 bytes

/// The n-th key of a setup: distinct for distinct n; bytes keys have lengths from 0 up, unless the
/// setup has one for all.
std::string nth_key(const setup& with, std::uint64_t n);
/// A value made from n: bytes values have lengths from 0 to about 200.
std::string nth_value(const setup& with, std::uint64_t n);
/// A value of that many bytes; of the 8 bytes of n where values are words.
std::string long_value(const setup& with, std::uint64_t n, std::size_t bytes);

}  // namespace durahash::test
