// The out-of-line parts of the public classes.
#include "durahash/table.hpp"

#include <atomic>
#include <cstring>

#include "durahash/map.hpp"
#include "engine/frame/lifecycle.hpp"
#include "store/closed_table.hpp"
#include "store/open.hpp"
#include "store/words_as_bytes.hpp"

namespace durahash {

handle::handle(handle&& other) noexcept
    : table_(std::exchange(other.table_, closed_like(*other.table_))) {}

handle& handle::operator=(handle&& other) noexcept {
  if (this != &other) table_ = std::exchange(other.table_, closed_like(*other.table_));
  return *this;
}

handle::~handle() = default;

void detail::leave_alone(void* opened) noexcept {
  struct left_alone {
    void* opened;
    left_alone* next;
  };
  static std::atomic<left_alone*> all;
  if_memory_allows([&] {
    auto* one = new left_alone{opened, all.load()};
    while (!all.compare_exchange_weak(one->next, one)) {}  // ends: some thread gets on
  });
}

status handle::close() {
  if (!table_->opened_here()) return status::forked;
  status s = table_->close();
  table_ = closed_like(*table_);
  return s;
}

detail::any_table& detail::of_another_process(const any_table& t) {
  return in_place_of(t, status::forked);
}

/// What a program without memory gets in place of a pool.
template <class Open>
auto with_memory(const std::string& path, Open&& open) -> decltype(open()) {
  try {
    return open();
  } catch (const std::bad_alloc&) {
    error none{status::out_of_memory, {}};
    if_memory_allows([&] {
      none.message = "cannot open " + path + ": " + std::string(message(status::out_of_memory));
    });
    return none;
  }
}

result<table> table::open(const std::string& path, const options& how) {
  return with_memory(path, [&]() -> result<table> {
    auto words = std::make_unique<words_as_bytes>();  // what comes behind a creation must not fail
    auto pool = open_pool(path, how);
    if (!pool) return pool.failure();
    if (pool->bytes) return table(std::move(pool->bytes));
    words->take(std::move(pool->words));
    return table(std::move(words));
  });
}

namespace detail {

result<std::unique_ptr<word_table>> open_words(const std::string& path, const options& asked) {
  return with_memory(path, [&]() -> result<std::unique_ptr<word_table>> {
    options how = asked;
    if (!how.key) how.key = data_kind::u64;
    if (!how.value) how.value = data_kind::u64;
    if (how.key != data_kind::u64 || how.value != data_kind::u64)
      return error{status::invalid_argument,
                   "a map has u64 keys and u64 values; open other pools as a table"};
    auto pool = open_pool(path, std::move(how));
    if (!pool) return pool.failure();
    return std::move(pool->words);
  });
}

}  // namespace detail

/// On its own: within a reader's function it would cost each reading the registers that it saves.
[[gnu::cold, gnu::noinline]] static void assign(std::string& value, std::string_view found) {
  value.assign(found);
}
/// Values of one length, mostly: nothing is to be done but to copy.
[[gnu::always_inline]] static inline void copy_into(std::string& value, std::string_view found) {
  if (value.size() != found.size()) [[unlikely]]
    assign(value, found);
  else std::memcpy(value.data(), found.data(), found.size());
}

void table::get_many(std::span<const std::string_view> keys, std::span<std::string> values,
                     std::span<status> answers) const {
  if (keys.size() != values.size() || keys.size() != answers.size())
    return void(std::fill(answers.begin(), answers.end(), status::invalid_argument));
  std::fill(answers.begin(), answers.end(), status::out_of_memory);
  try {
    impl().get_many(
        keys, [&](std::size_t i, std::string_view value) { copy_into(values[i], value); },
        answers.data());
  } catch (const std::bad_alloc&) {  // of a value: those that were answered have theirs
  }
}

status table::get(std::string_view key, std::string& value) const {
  try {
    return impl().get(key, [&](std::string_view found) { copy_into(value, found); });
  } catch (const std::bad_alloc&) {
    return status::out_of_memory;
  }
}

status table::take(std::string_view key, std::string& value) {
  return impl().take(key, [&](std::string_view present) {
    try {
      copy_into(value, present);
    } catch (const std::bad_alloc&) {
      return status::out_of_memory;
    }
    return status::ok;
  });
}

void table::put_many(std::span<const std::string_view> keys,
                     std::span<const std::string_view> values, std::span<status> answers) {
  if (keys.size() != values.size() || keys.size() != answers.size())
    return void(std::fill(answers.begin(), answers.end(), status::invalid_argument));
  impl().put_many(keys, values.data(), answers.data());
}

void table::erase_many(std::span<const std::string_view> keys, std::span<status> answers) {
  if (keys.size() != answers.size())
    return void(std::fill(answers.begin(), answers.end(), status::invalid_argument));
  impl().erase_many(keys, answers.data());
}

}  // namespace durahash
