// One thread's client on the table under test. Every answer is checked: each call returns how many
// operations went as expected.
#pragma once

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/keys.hpp"
#include "bench/request.hpp"
#include "durahash/map.hpp"
#include "durahash/table.hpp"

namespace durahash::bench {

using word_map = map<std::uint64_t, std::uint64_t>;

/// Counts the answers that were expected and remembers the first that was not.
class expectations {
 public:
  std::uint64_t meet(status answer, status expected) noexcept {
    if (answer == expected) [[likely]]
      return 1;
    if (!surprise_) surprise_ = answer;
    return 0;
  }
  std::uint64_t meet(std::span<const status> answers, status expected) noexcept {
    std::uint64_t met = 0;
    for (status answer : answers) met += meet(answer, expected);
    return met;
  }
  /// A record was found; `right` says whether its value is one that was written to it.
  std::uint64_t meet_value(bool right) noexcept {
    return meet(right ? status::ok : status::mismatch, status::ok);
  }

  std::optional<status> surprise() const noexcept { return surprise_; }

 private:
  std::optional<status> surprise_;
};

/// Words in, words out.
class word_client : public expectations {
 public:
  word_client(word_map& table, const record_shape&, std::uint64_t batch)
      : table_(table), values_(batch), answers_(batch) {}

  std::uint64_t get(std::uint64_t key) {
    auto value = table_.get(key);
    return value ? meet_value(value_belongs(key, *value)) : meet(status::not_found, status::ok);
  }
  std::uint64_t get_absent(std::uint64_t key) {
    return meet(table_.get(key) ? status::ok : status::not_found, status::not_found);
  }
  std::uint64_t put(std::uint64_t key, generation g) {
    return meet(table_.put(key, value_of(key, g)), status::ok);
  }
  std::uint64_t insert(std::uint64_t key, generation g) {
    return meet(table_.insert(key, value_of(key, g)), status::ok);
  }
  std::uint64_t update(std::uint64_t key, generation g) {
    return meet(table_.update(key, value_of(key, g)), status::ok);
  }
  std::uint64_t erase(std::uint64_t key) { return meet(table_.erase(key), status::ok); }

  std::uint64_t get_many(std::span<const std::uint64_t> keys) {
    look_up(keys);
    std::uint64_t right = 0;
    for (std::size_t i = 0; i < keys.size(); ++i)
      right += answers_[i] == status::ok ? meet_value(value_belongs(keys[i], values_[i]))
                                         : meet(answers_[i], status::ok);
    return right;
  }
  std::uint64_t get_absent_many(std::span<const std::uint64_t> keys) {
    look_up(keys);
    return meet(answers(keys), status::not_found);
  }
  std::uint64_t put_many(std::span<const std::uint64_t> keys, generation g) {
    for (std::size_t i = 0; i < keys.size(); ++i) values_[i] = value_of(keys[i], g);
    table_.put_many(keys, {values_.data(), keys.size()}, answers(keys));
    return meet(answers(keys), status::ok);
  }
  std::uint64_t erase_many(std::span<const std::uint64_t> keys) {
    table_.erase_many(keys, answers(keys));
    return meet(answers(keys), status::ok);
  }

 private:
  std::span<status> answers(std::span<const std::uint64_t> keys) {
    return {answers_.data(), keys.size()};
  }
  void look_up(std::span<const std::uint64_t> keys) {
    table_.get_many(keys, {values_.data(), keys.size()}, answers(keys));
  }

  word_map& table_;
  std::vector<std::uint64_t> values_;
  std::vector<status> answers_;
};

/// Words in, byte strings of the asked lengths out: the word, then a filling that is the same in
/// all of them.
class bytes_client : public expectations {
 public:
  bytes_client(table& table, const record_shape& shape, std::uint64_t batch)
      : table_(table),
        keys_(batch, std::string(shape.key_bytes, 'k')),
        values_(batch, std::string(shape.value_bytes, 'v')),
        found_(batch),
        answers_(batch) {
    for (const std::string& key : keys_) key_views_.emplace_back(key);
    for (const std::string& value : values_) value_views_.emplace_back(value);
  }

  std::uint64_t get(std::uint64_t key) {
    status answer = table_.get(set_key(0, key), found_[0]);
    return answer == status::ok ? meet_value(belongs(key, found_[0])) : meet(answer, status::ok);
  }
  std::uint64_t get_absent(std::uint64_t key) {
    return meet(table_.get(set_key(0, key), found_[0]), status::not_found);
  }
  std::uint64_t put(std::uint64_t key, generation g) {
    return meet(table_.put(set_key(0, key), set_value(0, key, g)), status::ok);
  }
  std::uint64_t insert(std::uint64_t key, generation g) {
    return meet(table_.insert(set_key(0, key), set_value(0, key, g)), status::ok);
  }
  std::uint64_t update(std::uint64_t key, generation g) {
    return meet(table_.update(set_key(0, key), set_value(0, key, g)), status::ok);
  }
  std::uint64_t erase(std::uint64_t key) { return meet(table_.erase(set_key(0, key)), status::ok); }

  std::uint64_t get_many(std::span<const std::uint64_t> keys) {
    look_up(keys);
    std::uint64_t right = 0;
    for (std::size_t i = 0; i < keys.size(); ++i)
      right += answers_[i] == status::ok ? meet_value(belongs(keys[i], found_[i]))
                                         : meet(answers_[i], status::ok);
    return right;
  }
  std::uint64_t get_absent_many(std::span<const std::uint64_t> keys) {
    look_up(keys);
    return meet(answers(keys), status::not_found);
  }
  std::uint64_t put_many(std::span<const std::uint64_t> keys, generation g) {
    for (std::size_t i = 0; i < keys.size(); ++i) set_key(i, keys[i]), set_value(i, keys[i], g);
    table_.put_many({key_views_.data(), keys.size()}, {value_views_.data(), keys.size()},
                    answers(keys));
    return meet(answers(keys), status::ok);
  }
  std::uint64_t erase_many(std::span<const std::uint64_t> keys) {
    for (std::size_t i = 0; i < keys.size(); ++i) set_key(i, keys[i]);
    table_.erase_many({key_views_.data(), keys.size()}, answers(keys));
    return meet(answers(keys), status::ok);
  }

 private:
  std::span<status> answers(std::span<const std::uint64_t> keys) {
    return {answers_.data(), keys.size()};
  }
  std::string_view set_key(std::size_t i, std::uint64_t key) {
    std::memcpy(keys_[i].data(), &key, sizeof key);  // key_bytes >= 8
    return key_views_[i];
  }
  std::string_view set_value(std::size_t i, std::uint64_t key, generation g) {
    std::uint64_t word = value_of(key, g);
    std::memcpy(values_[i].data(), &word, std::min(values_[i].size(), sizeof word));
    return value_views_[i];
  }
  bool belongs(std::uint64_t key, std::string_view found) const {
    if (found.size() != values_[0].size()) return false;
    std::uint64_t word = 0;
    if (found.size() < sizeof word) return true;  // too short to tell
    std::memcpy(&word, found.data(), sizeof word);
    return value_belongs(key, word);
  }
  void look_up(std::span<const std::uint64_t> keys) {
    for (std::size_t i = 0; i < keys.size(); ++i) set_key(i, keys[i]);
    table_.get_many({key_views_.data(), keys.size()}, {found_.data(), keys.size()}, answers(keys));
  }

  table& table_;
  std::vector<std::string> keys_, values_, found_;
  std::vector<std::string_view> key_views_, value_views_;
  std::vector<status> answers_;
};

}  // namespace durahash::bench
