// The out-of-line parts of the public classes.
#include "durahash/table.hpp"

#include "durahash/map.hpp"
#include "store/closed_table.hpp"
#include "store/open.hpp"
#include "store/words_as_bytes.hpp"

namespace durahash {

handle::handle(handle&& other) noexcept : table_(std::exchange(other.table_, closed_like(*other.table_))) {}

handle& handle::operator=(handle&& other) noexcept {
  if (this != &other) table_ = std::exchange(other.table_, closed_like(*other.table_));
  return *this;
}

handle::~handle() = default;

status handle::close() {
  status s = table_->close();
  table_ = closed_like(*table_);
  return s;
}

result<table> table::open(const std::string& path, const options& how) {
  auto pool = open_pool(path, how);
  if (!pool) return pool.failure();
  if (pool->bytes) return table(std::move(pool->bytes));
  return table(std::make_unique<words_as_bytes>(std::move(pool->words)));
}

namespace detail {

result<std::unique_ptr<word_table>> open_words(const std::string& path, options how) {
  if (!how.key) how.key = data_kind::u64;
  if (!how.value) how.value = data_kind::u64;
  if (how.key != data_kind::u64 || how.value != data_kind::u64)
    return error{status::invalid_argument, "a map has u64 keys and u64 values; open other pools as a table"};
  auto pool = open_pool(path, std::move(how));
  if (!pool) return pool.failure();
  return std::move(pool->words);
}

}  // namespace detail

void table::get_many(std::span<const std::string_view> keys, std::span<std::string> values, std::span<status> answers) const {
  if (keys.size() != values.size() || keys.size() != answers.size())
    return void(std::fill(answers.begin(), answers.end(), status::invalid_argument));
  impl().get_many(keys, [&](std::size_t i, std::string_view value) { values[i].assign(value); }, answers.data());
}

void table::put_many(std::span<const std::string_view> keys, std::span<const std::string_view> values,
                     std::span<status> answers) {
  if (keys.size() != values.size() || keys.size() != answers.size())
    return void(std::fill(answers.begin(), answers.end(), status::invalid_argument));
  impl().put_many(keys, values.data(), answers.data());
}

void table::erase_many(std::span<const std::string_view> keys, std::span<status> answers) {
  if (keys.size() != answers.size()) return void(std::fill(answers.begin(), answers.end(), status::invalid_argument));
  impl().erase_many(keys, answers.data());
}

}  // namespace durahash
