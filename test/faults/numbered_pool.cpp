#include "numbered_pool.hpp"

#include "store/random.hpp"
#include "store/subject.hpp"

namespace durahash::test {

record record_of(const setup& with, std::uint64_t n, std::uint64_t version,
                 std::size_t value_bytes) {
  record r;
  r.n = n, r.version = version, r.key = nth_key(with, n);
  std::uint64_t content = mixed(n) + version;
  if (n >= record::first_counter) r.value = word_bytes(version);
  else
    r.value = value_bytes == 0 ? nth_value(with, content) : long_value(with, content, value_bytes);
  if (with.api == api_kind::words)
    r.key_word = bytes_word(r.key), r.value_word = bytes_word(r.value);
  return r;
}

batch::batch(std::vector<record> all) : records(std::move(all)) {
  for (const record& r : records) {
    keys.push_back(r.key), values.push_back(r.value);
    key_words.push_back(r.key_word), value_words.push_back(r.value_word);
  }
  found_words.resize(records.size());
  found.resize(records.size());
  answers.resize(records.size());
}

result<numbered_pool> numbered_pool::open(const setup& with, const std::string& path,
                                          const options& how) {
  if (with.api == api_kind::words) {
    auto opened = word_map::open(path, how);
    if (!opened) return opened.failure();
    return numbered_pool(std::move(*opened));
  }
  auto opened = table::open(path, how);
  if (!opened) return opened.failure();
  return numbered_pool(std::move(*opened));
}

handle& numbered_pool::pool() {
  if (words() != nullptr) return *words();
  return bytes();
}

status numbered_pool::put(const record& r) {
  return words() != nullptr ? words()->put(r.key_word, r.value_word) : bytes().put(r.key, r.value);
}
status numbered_pool::insert(const record& r) {
  return words() != nullptr ? words()->insert(r.key_word, r.value_word)
                            : bytes().insert(r.key, r.value);
}
status numbered_pool::update(const record& r) {
  return words() != nullptr ? words()->update(r.key_word, r.value_word)
                            : bytes().update(r.key, r.value);
}
status numbered_pool::erase(const record& r) {
  if (r.n % 2 != 0) {  // the same, which gives the value
    std::string taken;
    std::uint64_t word;
    return words() != nullptr ? words()->take(r.key_word, word) : bytes().take(r.key, taken);
  }
  return words() != nullptr ? words()->erase(r.key_word) : bytes().erase(r.key);
}
status numbered_pool::compare_and_set(const record& expected, const record& desired) {
  if (words() != nullptr)
    return words()->compare_and_set(expected.key_word, expected.value_word, desired.value_word);
  return bytes().compare_and_set(expected.key, expected.value, desired.value);
}
status numbered_pool::fetch_add(const record& r, std::uint64_t delta, std::uint64_t& previous) {
  return words() != nullptr ? words()->fetch_add(r.key_word, delta, previous)
                            : bytes().fetch_add(r.key, delta, previous);
}

status numbered_pool::get(const record& r, std::string& found, std::uint64_t& found_word) {
  if (words() == nullptr) return bytes().get(r.key, found);
  status answer =
      status::io_error;  // a batch of one says why there is nothing, which map::get cannot
  words()->get_many(std::span(&r.key_word, 1), std::span(&found_word, 1), std::span(&answer, 1));
  return answer;
}
bool numbered_pool::holds(const record& r) {
  std::string found;
  std::uint64_t word = 0;
  if (get(r, found, word) != status::ok) return false;
  return words() != nullptr ? word == r.value_word : found == r.value;
}
bool numbered_pool::lacks(const record& r) {
  std::string found;
  std::uint64_t word = 0;
  return get(r, found, word) == status::not_found;
}

void numbered_pool::put_many(batch& b) {
  if (words() != nullptr) words()->put_many(b.key_words, b.value_words, b.answers);
  else bytes().put_many(b.keys, b.values, b.answers);
}
void numbered_pool::erase_many(batch& b) {
  if (words() != nullptr) words()->erase_many(b.key_words, b.answers);
  else bytes().erase_many(b.keys, b.answers);
}
void numbered_pool::get_many(batch& b) {
  if (words() != nullptr) words()->get_many(b.key_words, b.found_words, b.answers);
  else bytes().get_many(b.keys, b.found, b.answers);
}

status numbered_pool::scan(cursor& at, std::size_t limit, std::uint64_t& visited) {
  auto count = [&](const auto&, const auto&) { ++visited; };
  return words() != nullptr ? words()->scan(at, limit, count) : bytes().scan(at, limit, count);
}
status numbered_pool::for_each(std::uint64_t& visited) {
  auto count = [&](const auto&, const auto&) { ++visited; };
  return words() != nullptr ? words()->for_each(count) : bytes().for_each(count);
}

}  // namespace durahash::test
