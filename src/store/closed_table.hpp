// What stands in the place of a table that cannot be used: it gives one answer to everything. That
// of a handle that was closed is `closed`, in a child of the process that opened the table
// `forked`.
#pragma once

#include <algorithm>
#include <memory>

#include "durahash/detail/any_table.hpp"

namespace durahash {

template <class Interface>
class closed_base : public Interface {
 public:
  explicit closed_base(status answer) : answer_(answer) {}
  pool_kinds kinds() const override { return {}; }
  pool_info info() override { return {}; }
  table_stats stats() override { return {}; }
  check_report check() override {
    return {.ok = false, .records = 0, .violations = {std::string(message(answer_))}};
  }
  std::uint64_t size() override { return 0; }
  status reserve(std::uint64_t) override { return answer_; }
  status compact() override { return answer_; }
  status sync() override { return answer_; }
  error backup(const std::string&) override { return {answer_, std::string(message(answer_))}; }
  status close() override { return answer_; }
  status wait_durable(std::uint64_t) override { return answer_; }
  status when_durable(std::uint64_t, std::function<void(status)>) override { return answer_; }
  const std::vector<std::string>& salvage_report() const override { return none_; }

 protected:
  status answer_;

 private:
  std::vector<std::string> none_;
};

class closed_words final : public closed_base<detail::word_table> {
 public:
  using closed_base::closed_base;

 private:
  using word = std::uint64_t;
  status get(word, word&) override { return answer_; }
  status write(detail::write_mode, word, word) override { return answer_; }
  status erase(word) override { return answer_; }
  status take(word, detail::value_taker<word>) override { return answer_; }
  status compare_and_set(word, word, word) override { return answer_; }
  status fetch_add(word, word, word&) override { return answer_; }
  status update_with(word, detail::value_change<word>) override { return answer_; }
  void get_many(std::span<const word> keys, word*, status* answers) override {
    std::fill_n(answers, keys.size(), answer_);
  }
  void put_many(std::span<const word> keys, const word*, status* answers) override {
    std::fill_n(answers, keys.size(), answer_);
  }
  void erase_many(std::span<const word> keys, status* answers) override {
    std::fill_n(answers, keys.size(), answer_);
  }
  status scan(cursor& at, std::size_t, visitor) override { return at.done = true, answer_; }
};

class closed_bytes final : public closed_base<detail::bytes_table> {
 public:
  using closed_base::closed_base;

 private:
  using bytes = std::string_view;
  status get(bytes, value_reader) override { return answer_; }
  status write(detail::write_mode, bytes, bytes) override { return answer_; }
  status erase(bytes) override { return answer_; }
  status take(bytes, detail::value_taker<bytes>) override { return answer_; }
  status compare_and_set(bytes, bytes, bytes) override { return answer_; }
  status fetch_add(bytes, std::uint64_t, std::uint64_t&) override { return answer_; }
  status update_with(bytes, detail::value_change<bytes>) override { return answer_; }
  void get_many(std::span<const bytes> keys, indexed_reader, status* answers) override {
    std::fill_n(answers, keys.size(), answer_);
  }
  void put_many(std::span<const bytes> keys, const bytes*, status* answers) override {
    std::fill_n(answers, keys.size(), answer_);
  }
  void erase_many(std::span<const bytes> keys, status* answers) override {
    std::fill_n(answers, keys.size(), answer_);
  }
  status scan(cursor& at, std::size_t, visitor) override { return at.done = true, answer_; }
};

inline bool is_of_words(const detail::any_table& t) {
  return dynamic_cast<const detail::word_table*>(&t) != nullptr;
}

/// What stands in the place of such a table, for ever.
inline detail::any_table& in_place_of(const detail::any_table& t, status answer) {
  static closed_words closed(status::closed), forked(status::forked);
  static closed_bytes closed_b(status::closed), forked_b(status::forked);
  bool is_closed = answer == status::closed;
  if (is_of_words(t)) return detail::lasting(is_closed ? closed : forked);
  return detail::lasting(is_closed ? closed_b : forked_b);
}

/// The closed counterpart of a table, open or closed. Needs no memory.
inline detail::table_owner closed_like(const detail::any_table& open) {
  return detail::table_owner(&in_place_of(open, status::closed));
}

}  // namespace durahash
