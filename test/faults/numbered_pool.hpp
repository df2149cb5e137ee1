// A pool whose records have numbers. Between its caller and the library nothing is allocated and no
// call is made: what fails there fails in the library.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "durahash/map.hpp"
#include "durahash/table.hpp"
#include "store/setup.hpp"

namespace durahash::test {

/// Key n with its value of that version, in both forms. Keys from `first_counter` on have values of
/// 8 bytes, which count: their version is the count.
struct record {
  static constexpr std::uint64_t first_counter = 40'000;

  std::uint64_t n = 0;
  std::uint64_t version = 0;
  std::string key, value;
  std::uint64_t key_word = 0, value_word = 0;
};

/// With a value of that many bytes; 0: of its own length.
record record_of(const setup& with, std::uint64_t n, std::uint64_t version,
                 std::size_t value_bytes = 0);

/// Several records, laid out as the API takes them, and room for the answers.
struct batch {
  explicit batch(std::vector<record> all);
  batch(batch&&) = default;  // the buffers stay where they are
  batch& operator=(batch&&) = default;

  std::vector<record> records;
  std::vector<std::string_view> keys, values;
  std::vector<std::uint64_t> key_words, value_words, found_words;
  std::vector<std::string> found;
  std::vector<status> answers;
};

class numbered_pool {
 public:
  static result<numbered_pool> open(const setup& with, const std::string& path, const options& how);

  handle& pool();
  status put(const record& r);
  status insert(const record& r);
  status update(const record& r);
  status erase(const record& r);
  status compare_and_set(const record& expected, const record& desired);
  status fetch_add(const record& r, std::uint64_t delta, std::uint64_t& previous);
  /// Of a table the room of `found` is reused; of a map it is the word's.
  status get(const record& r, std::string& found, std::uint64_t& found_word);
  bool holds(const record& r);  ///< that key with that value
  bool lacks(const record& r);  ///< that key
  void put_many(batch& b);
  void erase_many(batch& b);
  void get_many(batch& b);
  /// Counts what it visits.
  status scan(cursor& at, std::size_t limit, std::uint64_t& visited);
  status for_each(std::uint64_t& visited);

 private:
  using word_map = map<std::uint64_t, std::uint64_t>;
  explicit numbered_pool(word_map m) : pool_(std::move(m)) {}
  explicit numbered_pool(table t) : pool_(std::move(t)) {}
  word_map* words() { return std::get_if<word_map>(&pool_); }
  table& bytes() { return *std::get_if<table>(&pool_); }

  std::variant<word_map, table> pool_;
};

}  // namespace durahash::test
