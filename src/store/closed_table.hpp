// What a handle holds after close: answers `closed` to everything.
#pragma once

#include <algorithm>
#include <memory>

#include "durahash/detail/any_table.hpp"

namespace durahash {

template <class Interface>
class closed_base : public Interface {
 public:
  pool_kinds kinds() const override { return {}; }
  pool_info info() override { return {}; }
  table_stats stats() override { return {}; }
  check_report check() override { return {.ok = false, .records = 0, .violations = {"the table is closed"}}; }
  std::uint64_t size() override { return 0; }
  status reserve(std::uint64_t) override { return status::closed; }
  status compact() override { return status::closed; }
  status sync() override { return status::closed; }
  status close() override { return status::closed; }
  const std::vector<std::string>& salvage_report() const override { return none_; }

 private:
  std::vector<std::string> none_;
};

class closed_words final : public closed_base<detail::word_table> {
  using word = std::uint64_t;
  status get(word, word&) override { return status::closed; }
  status write(detail::write_mode, word, word) override { return status::closed; }
  status erase(word) override { return status::closed; }
  status compare_and_set(word, word, word) override { return status::closed; }
  status fetch_add(word, word, word&) override { return status::closed; }
  void get_many(std::span<const word> keys, word*, status* answers) override { std::fill_n(answers, keys.size(), status::closed); }
  void put_many(std::span<const word> keys, const word*, status* answers) override { std::fill_n(answers, keys.size(), status::closed); }
  void erase_many(std::span<const word> keys, status* answers) override { std::fill_n(answers, keys.size(), status::closed); }
  status scan(cursor& at, std::size_t, visitor) override { return at.done = true, status::closed; }
};

class closed_bytes final : public closed_base<detail::bytes_table> {
  using bytes = std::string_view;
  status get(bytes, value_reader) override { return status::closed; }
  status write(detail::write_mode, bytes, bytes) override { return status::closed; }
  status erase(bytes) override { return status::closed; }
  status compare_and_set(bytes, bytes, bytes) override { return status::closed; }
  status fetch_add(bytes, std::uint64_t, std::uint64_t&) override { return status::closed; }
  void get_many(std::span<const bytes> keys, indexed_reader, status* answers) override { std::fill_n(answers, keys.size(), status::closed); }
  void put_many(std::span<const bytes> keys, const bytes*, status* answers) override { std::fill_n(answers, keys.size(), status::closed); }
  void erase_many(std::span<const bytes> keys, status* answers) override { std::fill_n(answers, keys.size(), status::closed); }
  status scan(cursor& at, std::size_t, visitor) override { return at.done = true, status::closed; }
};

/// The closed counterpart of a table, open or closed.
inline std::unique_ptr<detail::any_table> closed_like(const detail::any_table& open) {
  if (dynamic_cast<const detail::word_table*>(&open) != nullptr) return std::make_unique<closed_words>();
  return std::make_unique<closed_bytes>();
}

}  // namespace durahash
