#include "subject.hpp"

#include <algorithm>
#include <stdexcept>

#include "random.hpp"

namespace durahash::test {

namespace {

using word_map = map<std::uint64_t, std::uint64_t>;

std::vector<std::uint64_t> words_of(const strings& all) {
  std::vector<std::uint64_t> words;
  for (const std::string& bytes : all) words.push_back(bytes_word(bytes));
  return words;
}

std::vector<std::string_view> views_of(const strings& all) { return {all.begin(), all.end()}; }

class word_subject final : public subject {
 public:
  explicit word_subject(word_map map) : map_(std::move(map)) {}
  handle& pool() override { return map_; }

  status put(std::string_view key, std::string_view value) override {
    return map_.put(bytes_word(key), bytes_word(value));
  }
  status insert(std::string_view key, std::string_view value) override {
    return map_.insert(bytes_word(key), bytes_word(value));
  }
  status update(std::string_view key, std::string_view value) override {
    return map_.update(bytes_word(key), bytes_word(value));
  }
  status get(std::string_view key, std::string& value) override {
    std::uint64_t word = bytes_word(key);
    if (std::optional<std::uint64_t> found = map_.get(word)) {
      value = word_bytes(*found);
      return status::ok;
    }
    return why_absent(word);
  }
  bool contains(std::string_view key) override { return map_.contains(bytes_word(key)); }
  status erase(std::string_view key) override { return map_.erase(bytes_word(key)); }
  status take(std::string_view key, std::string& value) override {
    std::uint64_t word = 0;
    const status taken = map_.take(bytes_word(key), word);
    if (taken == status::ok) value = word_bytes(word);
    return taken;
  }
  status compare_and_set(std::string_view key, std::string_view expected,
                         std::string_view desired) override {
    return map_.compare_and_set(bytes_word(key), bytes_word(expected), bytes_word(desired));
  }
  status fetch_add(std::string_view key, std::uint64_t delta, std::uint64_t& previous) override {
    return map_.fetch_add(bytes_word(key), delta, previous);
  }
  status update_with(std::string_view key, const value_maker& change) override {
    return map_.update_with(bytes_word(key), [&](std::uint64_t present) {
      return bytes_word(change(word_bytes(present)));
    });
  }

  answers get_many(const strings& keys, strings& values) override {
    std::vector<std::uint64_t> found(values.size());
    answers all(keys.size(), status::io_error);
    map_.get_many(words_of(keys), found, all);
    for (std::size_t i = 0; i < values.size(); ++i)
      if (i < all.size() && all[i] == status::ok) values[i] = word_bytes(found[i]);
    return all;
  }
  answers put_many(const strings& keys, const strings& values) override {
    answers all(keys.size(), status::io_error);
    map_.put_many(words_of(keys), words_of(values), all);
    return all;
  }
  answers erase_many(const strings& keys) override {
    answers all(keys.size(), status::io_error);
    map_.erase_many(words_of(keys), all);
    return all;
  }
  status scan(cursor& at, std::size_t limit, const record_visitor& visit) override {
    return map_.scan(at, limit, [&](std::uint64_t key, std::uint64_t value) {
      visit(word_bytes(key), word_bytes(value));
    });
  }

 private:
  /// map::get answers with an optional, which cannot say why there is nothing; a batch of one can.
  status why_absent(std::uint64_t word) {
    std::uint64_t ignored = 0;
    status answer = status::io_error;
    map_.get_many(std::span(&word, 1), std::span(&ignored, 1), std::span(&answer, 1));
    return answer == status::ok ? status::not_found : answer;
  }

  word_map map_;
};

class table_subject final : public subject {
 public:
  explicit table_subject(table pool) : table_(std::move(pool)) {}
  handle& pool() override { return table_; }

  status put(std::string_view key, std::string_view value) override {
    return table_.put(key, value);
  }
  status insert(std::string_view key, std::string_view value) override {
    return table_.insert(key, value);
  }
  status update(std::string_view key, std::string_view value) override {
    return table_.update(key, value);
  }
  status get(std::string_view key, std::string& value) override { return table_.get(key, value); }
  bool contains(std::string_view key) override { return table_.contains(key); }
  status erase(std::string_view key) override { return table_.erase(key); }
  status take(std::string_view key, std::string& value) override { return table_.take(key, value); }
  status compare_and_set(std::string_view key, std::string_view expected,
                         std::string_view desired) override {
    return table_.compare_and_set(key, expected, desired);
  }
  status fetch_add(std::string_view key, std::uint64_t delta, std::uint64_t& previous) override {
    return table_.fetch_add(key, delta, previous);
  }
  status update_with(std::string_view key, const value_maker& change) override {
    return table_.update_with(key, change);
  }
  answers get_many(const strings& keys, strings& values) override {
    answers all(keys.size(), status::io_error);
    table_.get_many(views_of(keys), values, all);
    return all;
  }
  answers put_many(const strings& keys, const strings& values) override {
    answers all(keys.size(), status::io_error);
    table_.put_many(views_of(keys), views_of(values), all);
    return all;
  }
  answers erase_many(const strings& keys) override {
    answers all(keys.size(), status::io_error);
    table_.erase_many(views_of(keys), all);
    return all;
  }
  status scan(cursor& at, std::size_t limit, const record_visitor& visit) override {
    return table_.scan(at, limit, visit);
  }

 private:
  table table_;
};

template <class Subject, class Pool>
result<std::unique_ptr<subject>> subject_over(result<Pool> opened) {
  if (!opened) return opened.failure();
  return std::unique_ptr<subject>(std::make_unique<Subject>(std::move(*opened)));
}

}  // namespace

result<std::unique_ptr<subject>> open_subject(const setup& with, const std::string& path,
                                              const options& how) {
  if (with.api == api_kind::words) return subject_over<word_subject>(word_map::open(path, how));
  return subject_over<table_subject>(table::open(path, how));
}

std::string word_bytes(std::uint64_t word) {
  // little-endian, as the pool
  return std::string(reinterpret_cast<const char*>(&word), sizeof word);
}

std::uint64_t bytes_word(std::string_view bytes) {
  std::uint64_t word = 0;
  if (bytes.size() != sizeof word) throw std::invalid_argument("a word has 8 bytes");
  std::memcpy(&word, bytes.data(), sizeof word);
  return word;
}

std::string nth_key(const setup& with, std::uint64_t n) {
  // Words: neighbours of 0 and of 2^64-1 by turns, so that both ends of the domain are always in
  // play.
  if (with.key() == data_kind::u64) return word_bytes(n % 2 == 0 ? n / 2 : ~(n / 2));
  if (with.key_bytes != 0) {  // the last word alone, or all of them, tell two keys apart
    std::string key;
    for (std::uint64_t at = 8; at < with.key_bytes; at += 8)
      key += word_bytes(n % 2 == 0 ? 0 : mixed(n));
    return key + word_bytes(n);
  }
  if (n == 0) return {};
  std::string key = "key/" + std::to_string(n);
  if (n % 3 == 0)
    key.insert(4, "a/longer/folder/that/fills/more/than/one/cache/line/of/the/record/");
  if (n % 5 == 0) key.insert(key.begin(), '\0');
  return key;
}

std::string nth_value(const setup& with, std::uint64_t n) {
  return long_value(with, n, mixed(n) % 200);
}

std::string long_value(const setup& with, std::uint64_t n, std::size_t bytes) {
  if (with.value() == data_kind::u64) return word_bytes(mixed(n));
  std::string value(bytes, '\0');
  random_stream content(n);
  for (std::size_t at = 0; at < bytes; at += sizeof(std::uint64_t)) {
    std::uint64_t word = content.next();
    std::memcpy(value.data() + at, &word, std::min(sizeof word, bytes - at));
  }
  return value;
}

}  // namespace durahash::test
