// What a durahash_pool is: one of the two public classes.
#pragma once

#include <optional>

#include "durahash/map.hpp"
#include "durahash/table.hpp"
#include "failure.hpp"

namespace durahash::c {
using word_map = map<std::uint64_t, std::uint64_t>;
}

struct durahash_pool {
  std::optional<durahash::c::word_map> words;
  std::optional<durahash::table> bytes;

  durahash::handle& any() noexcept {
    return words ? static_cast<durahash::handle&>(*words) : *bytes;
  }
};

namespace durahash::c {

/// The handle behind a const pool: what looks at a table only need not be const in C++.
inline durahash_pool& opened(const durahash_pool* pool) noexcept {
  return const_cast<durahash_pool&>(*pool);
}

[[gnu::cold]] durahash_status refuse_as_words(const durahash_pool* pool) noexcept;
[[gnu::cold]] durahash_status refuse_as_bytes(const durahash_pool* pool) noexcept;

/// Runs `run(word_map&)`, unless the pool is none of words.
template <class Run>
[[gnu::always_inline]] inline durahash_status on_words(const durahash_pool* pool,
                                                       Run&& run) noexcept {
  if (pool == nullptr || !pool->words) [[unlikely]]
    return refuse_as_words(pool);
  return guarded([&]() __attribute__((always_inline)) { return run(*opened(pool).words); });
}
/// Runs `run(table&)`, unless the pool was not opened as one of bytes.
template <class Run>
[[gnu::always_inline]] inline durahash_status on_bytes(const durahash_pool* pool,
                                                       Run&& run) noexcept {
  if (pool == nullptr || !pool->bytes) [[unlikely]]
    return refuse_as_bytes(pool);
  return guarded([&]() __attribute__((always_inline)) { return run(*opened(pool).bytes); });
}
/// Runs `run(handle&)` on any pool.
template <class Run>
durahash_status on_any(const durahash_pool* pool, Run&& run) noexcept {
  if (pool == nullptr) return refuse("there is no pool: a null pointer");
  return guarded([&] { return run(opened(pool).any()); });
}

/// What stops everything on this pool: forked in a child. Else ok.
inline status usable(handle& of) {
  return of.kinds().engine == engine_kind{} ? of.wait_durable(0) : status::ok;
}

inline std::string_view view(const void* bytes, std::size_t length) noexcept {
  if (bytes == nullptr) return {"", 0};
  return {static_cast<const char*>(bytes), length};
}
/// A null pointer stands for no bytes, and for no others.
inline bool is_no_string(const void* bytes, std::size_t length) noexcept {
  return bytes == nullptr && length != 0;
}

}  // namespace durahash::c
