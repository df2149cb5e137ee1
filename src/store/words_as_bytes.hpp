// A u64/u64 pool seen as bytes: 8 bytes little-endian for each word. What `table` uses when it
// opens such a pool.
#pragma once

#include <cstring>
#include <memory>

#include "base/process_mark.hpp"
#include "durahash/detail/any_table.hpp"

namespace durahash {

class words_as_bytes final : public detail::bytes_table {
 public:
  using bytes = std::string_view;
  words_as_bytes() { opened_by_ = this_process_mark(); }
  void take(std::unique_ptr<detail::word_table> words) noexcept {
    words_ = std::move(words);
    if (words_->is_of_every_process()) opened_by_ = &detail::every_process;
  }

  pool_kinds kinds() const override { return words_->kinds(); }
  pool_info info() override { return words_->info(); }
  table_stats stats() override { return words_->stats(); }
  check_report check() override { return words_->check(); }
  std::uint64_t size() override { return words_->size(); }
  status reserve(std::uint64_t records) override { return words_->reserve(records); }
  status compact() override { return words_->compact(); }
  status sync() override { return words_->sync(); }
  error backup(const std::string& path) override { return words_->backup(path); }
  status close() override { return words_->close(); }
  std::uint64_t position() override { return words_->position(); }
  std::uint64_t durable() override { return words_->durable(); }
  status when_durable(std::uint64_t position, std::function<void(status)> call) override {
    return words_->when_durable(position, std::move(call));
  }
  const void* log() const override { return words_->log(); }
  status wait_durable(std::uint64_t position) override { return words_->wait_durable(position); }
  const std::vector<std::string>& salvage_report() const override {
    return words_->salvage_report();
  }

  status get(bytes key, value_reader read) override {
    if (key.size() != 8) return status::invalid_argument;
    std::uint64_t value;
    status s = words_->get(word(key), value);
    if (s == status::ok) read(text(value));
    return s;
  }
  status write(detail::write_mode mode, bytes key, bytes value) override {
    if (key.size() != 8 || value.size() != 8) return status::invalid_argument;
    return words_->write(mode, word(key), word(value));
  }
  status erase(bytes key) override {
    return key.size() == 8 ? words_->erase(word(key)) : status::invalid_argument;
  }
  status take(bytes key, detail::value_taker<bytes> read) override {
    if (key.size() != 8) return status::invalid_argument;
    return words_->take(word(key), [&](std::uint64_t present) { return read(text(present)); });
  }
  status compare_and_set(bytes key, bytes expected, bytes desired) override {
    if (key.size() != 8 || expected.size() != 8 || desired.size() != 8)
      return status::invalid_argument;
    return words_->compare_and_set(word(key), word(expected), word(desired));
  }
  status fetch_add(bytes key, std::uint64_t delta, std::uint64_t& previous) override {
    return key.size() == 8 ? words_->fetch_add(word(key), delta, previous)
                           : status::invalid_argument;
  }
  status update_with(bytes key, detail::value_change<bytes> make) override {
    if (key.size() != 8) return status::invalid_argument;
    return words_->update_with(word(key), [&](std::uint64_t present, std::uint64_t& next) {
      bytes made;
      const status answer = make(text(present), made);
      if (answer != status::ok) return answer;
      if (made.size() != 8) return status::invalid_argument;
      return next = word(made), status::ok;
    });
  }
  void get_many(std::span<const bytes> keys, indexed_reader read, status* answers) override;
  void put_many(std::span<const bytes> keys, const bytes* values, status* answers) override;
  void erase_many(std::span<const bytes> keys, status* answers) override;
  status scan(cursor& at, std::size_t limit, visitor visit) override {
    return words_->scan(
        at, limit, [&](std::uint64_t key, std::uint64_t value) { visit(text(key), text(value)); });
  }

 private:
  static std::uint64_t word(bytes b) noexcept {
    std::uint64_t w;
    std::memcpy(&w, b.data(), sizeof w);
    return w;
  }
  static bytes text(const std::uint64_t& w) noexcept {
    return {reinterpret_cast<const char*>(&w), sizeof w};
  }
  static bool all_words(std::span<const bytes> keys, const bytes* values) noexcept {
    for (std::size_t i = 0; i < keys.size(); ++i)
      if (keys[i].size() != 8 || (values != nullptr && values[i].size() != 8)) return false;
    return true;
  }
  static std::vector<std::uint64_t> words(std::span<const bytes> all) {
    std::vector<std::uint64_t> made(all.size());
    for (std::size_t i = 0; i < all.size(); ++i) made[i] = word(all[i]);
    return made;
  }

  std::unique_ptr<detail::word_table> words_;
};

inline void words_as_bytes::get_many(std::span<const bytes> keys, indexed_reader read,
                                     status* answers) {
  if (!all_words(keys, nullptr)) {
    for (std::size_t i = 0; i < keys.size(); ++i)
      answers[i] = get(keys[i], [&](bytes value) { read(i, value); });
    return;
  }
  std::vector<std::uint64_t> values(keys.size());
  words_->get_many(words(keys), values.data(), answers);
  for (std::size_t i = 0; i < keys.size(); ++i)
    if (answers[i] == status::ok) read(i, text(values[i]));
}

inline void words_as_bytes::put_many(std::span<const bytes> keys, const bytes* values,
                                     status* answers) {
  if (all_words(keys, values))
    return words_->put_many(words(keys), words({values, keys.size()}).data(), answers);
  for (std::size_t i = 0; i < keys.size(); ++i)
    answers[i] = write(detail::write_mode::put, keys[i], values[i]);
}

inline void words_as_bytes::erase_many(std::span<const bytes> keys, status* answers) {
  if (all_words(keys, nullptr)) return words_->erase_many(words(keys), answers);
  for (std::size_t i = 0; i < keys.size(); ++i) answers[i] = erase(keys[i]);
}

}  // namespace durahash
