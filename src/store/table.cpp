// The out-of-line parts of the public classes.
#include "durahash/table.hpp"

#include "durahash/map.hpp"
#include "store/closed_table.hpp"
#include "store/open.hpp"
#include "store/words_as_bytes.hpp"

namespace durahash {

handle::handle(handle&& other) noexcept : table_(std::exchange(other.table_, closed_like(*other.table_))) {}

handle& handle::operator=(handle&& other) noexcept {
  if (this == &other) return *this;
  drop();
  table_ = std::exchange(other.table_, closed_like(*other.table_));
  return *this;
}

handle::~handle() { drop(); }

/// In a child the table stays what it is for ever: its threads, locks and file are its parent's.
void handle::drop() noexcept {
  [[maybe_unused]] static detail::any_table* volatile left_alone;  // so that no leak is seen where none can be mended
  if (table_ != nullptr && !table_->opened_here()) left_alone = table_.release();
  table_.reset();
}

status handle::close() {
  if (!table_->opened_here()) return status::forked;
  status s = table_->close();
  table_ = closed_like(*table_);
  return s;
}

detail::any_table& detail::of_another_process(const any_table& t) {
  static closed_words words(status::forked);
  static closed_bytes bytes(status::forked);
  if (is_of_words(t)) return words;
  return bytes;
}

/// What a program without memory gets in place of a pool.
template <class Open>
auto with_memory(const std::string& path, Open&& open) -> decltype(open()) {
  try {
    return open();
  } catch (const std::bad_alloc&) {
    return error{status::out_of_memory, "cannot open " + path + ": " + std::string(message(status::out_of_memory))};
  }
}

result<table> table::open(const std::string& path, const options& how) {
  return with_memory(path, [&]() -> result<table> {
    auto pool = open_pool(path, how);
    if (!pool) return pool.failure();
    if (pool->bytes) return table(std::move(pool->bytes));
    return table(std::make_unique<words_as_bytes>(std::move(pool->words)));
  });
}

namespace detail {

result<std::unique_ptr<word_table>> open_words(const std::string& path, options how) {
  if (!how.key) how.key = data_kind::u64;
  if (!how.value) how.value = data_kind::u64;
  if (how.key != data_kind::u64 || how.value != data_kind::u64)
    return error{status::invalid_argument, "a map has u64 keys and u64 values; open other pools as a table"};
  return with_memory(path, [&]() -> result<std::unique_ptr<word_table>> {
    auto pool = open_pool(path, std::move(how));
    if (!pool) return pool.failure();
    return std::move(pool->words);
  });
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
