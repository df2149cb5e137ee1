// The table behind other people's harnesses: keys and values as bytes of fixed sizes, and the
// options that the harness has no words for from the environment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "durahash/map.hpp"
#include "durahash/table.hpp"

namespace durahash::harness {

struct harness_options {
  std::size_t key_bytes = 8, value_bytes = 8;
  std::string path;             ///< of the pool; empty: in memory, gone with the process
  std::uint64_t max_bytes = 0;  ///< 0: as far as the file system goes
  std::uint64_t capacity = 0;   ///< records expected
};

/// Those of `options` that a harness cannot say: DURAHASH_ENGINE, DURAHASH_DURABILITY and
/// DURAHASH_CAPACITY from the environment. A name that there is not ends the program with a
/// sentence.
options options_of(const harness_options& from);

/// Ends the program: a figure of a run in which an operation failed is none.
[[noreturn]] void give_up(const std::string& why);

/// Keys and values of 8 bytes lie in the table; others are records.
///
/// Threads and durability as of `table`. What no harness has an answer for, such as a full disk,
/// ends the program with a sentence.
class harness_table {
 public:
  explicit harness_table(const harness_options& how);

  /// Copies the value to `value`, where there is room for value_bytes.
  /// Returns   whether the key is there.
  bool find(std::string_view key, char* value) const;
  bool insert(std::string_view key, std::string_view value);  ///< whether it was absent
  bool update(std::string_view key, std::string_view value);  ///< whether it was there
  bool remove(std::string_view key);                          ///< whether it was there

  handle& pool();
  const handle& pool() const { return const_cast<harness_table*>(this)->pool(); }

 private:
  using words = map<std::uint64_t, std::uint64_t>;
  static std::variant<words, table> opened(const harness_options& how);

  std::size_t value_bytes_;
  std::variant<words, table> table_;
};

}  // namespace durahash::harness
