// A persistent hash map of small values: keys and values of up to 8 bytes each, stored in the table
// itself.
#pragma once

#include <cstring>
#include <optional>
#include <span>
#include <type_traits>

#include "durahash/handle.hpp"

namespace durahash {

/// A type that fits a 64-bit word and is nothing but its bytes. Types with padding are refused:
/// equal values could differ in it.
template <class T>
concept word_sized = std::is_trivially_copyable_v<T> && sizeof(T) <= 8 && !std::is_pointer_v<T> &&
                     (std::has_unique_object_representations_v<T> || std::is_floating_point_v<T>);

namespace detail {
/// Opens a u64/u64 pool. Defined in the library.
result<std::unique_ptr<word_table>> open_words(const std::string& path, const options& how);

template <word_sized T>
std::uint64_t to_word(const T& value) noexcept {
  std::uint64_t word = 0;
  std::memcpy(&word, &value, sizeof value);
  return word;
}
template <word_sized T>
T from_word(std::uint64_t word) noexcept {
  T value;
  std::memcpy(&value, &word, sizeof value);
  return value;
}
}  // namespace detail

/// A hash map from K to V that is still there after `kill -9`. The promises are those of `table`;
/// every key is legal, 0 and 2^64-1 included. Floating-point keys are compared by their bits.
template <word_sized K, word_sized V>
class map : public handle {
 public:
  static result<map> open(const std::string& path, const options& how = {}) {
    auto words = detail::open_words(path, how);
    if (!words) return words.failure();
    return map(std::move(*words));
  }

  status put(const K& key, const V& value) { return write(detail::write_mode::put, key, value); }
  status insert(const K& key, const V& value) {
    return write(detail::write_mode::insert, key, value);
  }
  status update(const K& key, const V& value) {
    return write(detail::write_mode::update, key, value);
  }

  /// The value, into `value`.                                Returns ok, not_found.
  status get(const K& key, V& value) const {
    if constexpr (std::is_same_v<V, std::uint64_t>) return impl().get(detail::to_word(key), value);
    std::uint64_t word;
    const status found = impl().get(detail::to_word(key), word);
    if (found == status::ok) value = detail::from_word<V>(word);
    return found;
  }
  std::optional<V> get(const K& key) const {
    std::uint64_t word;
    if (impl().get(detail::to_word(key), word) != status::ok) return std::nullopt;
    return detail::from_word<V>(word);
  }
  bool contains(const K& key) const { return get(key).has_value(); }
  status erase(const K& key) { return impl().erase(detail::to_word(key)); }

  status compare_and_set(const K& key, const V& expected, const V& desired) {
    return impl().compare_and_set(detail::to_word(key), detail::to_word(expected),
                                  detail::to_word(desired));
  }

  /// Adds to a value, modulo 2^64; an absent key counts as 0. Returns ok or no_space; `previous`
  /// receives the value before.
  status fetch_add(const K& key, V delta,
                   V& previous) requires(std::is_integral_v<V> && sizeof(V) == 8) {
    std::uint64_t word = 0;
    status s = impl().fetch_add(detail::to_word(key), detail::to_word(delta), word);
    previous = detail::from_word<V>(word);
    return s;
  }

  /// Batches: see table::put_many. Available where K and V are 8 bytes, so that spans are read
  /// where they lie.
  void get_many(std::span<const K> keys, std::span<V> values, std::span<status> answers) const
      requires(sizeof(K) == 8 && sizeof(V) == 8) {
    if (!same_length(keys, values, answers)) return;
    impl().get_many(words(keys), reinterpret_cast<std::uint64_t*>(values.data()), answers.data());
  }
  void put_many(std::span<const K> keys, std::span<const V> values,
                std::span<status> answers) requires(sizeof(K) == 8 && sizeof(V) == 8) {
    if (!same_length(keys, values, answers)) return;
    impl().put_many(words(keys), reinterpret_cast<const std::uint64_t*>(values.data()),
                    answers.data());
  }
  void erase_many(std::span<const K> keys, std::span<status> answers) requires(sizeof(K) == 8) {
    if (!same_length(keys, keys, answers)) return;
    impl().erase_many(words(keys), answers.data());
  }

  /// See table::scan. `visit(const K&, const V&)`.
  template <class Visit>
  status scan(cursor& at, std::size_t limit, Visit&& visit) const {
    detail::word_table& all = impl();
    return ending_in_a_child(at, [&] {
      return all.scan(at, limit, [&](std::uint64_t key, std::uint64_t value) {
        visit(detail::from_word<K>(key), detail::from_word<V>(value));
        detail::end_in_a_child(all);
      });
    });
  }
  template <class Visit>
  status for_each(Visit&& visit) const {
    cursor at;
    while (!at.done)
      if (status s = scan(at, 1024, visit); s != status::ok) return s;
    return status::ok;
  }

 private:
  explicit map(std::unique_ptr<detail::word_table> table) : handle(std::move(table)) {}
  detail::word_table& impl() const { return static_cast<detail::word_table&>(handle::table()); }

  status write(detail::write_mode mode, const K& key, const V& value) {
    return impl().write(mode, detail::to_word(key), detail::to_word(value));
  }
  template <class Keys, class Values>
  static bool same_length(const Keys& keys, const Values& values, std::span<status> answers) {
    if (keys.size() == values.size() && keys.size() == answers.size()) return true;
    for (status& answer : answers) answer = status::invalid_argument;
    return false;
  }
  static std::span<const std::uint64_t> words(std::span<const K> keys) {
    return {reinterpret_cast<const std::uint64_t*>(keys.data()), keys.size()};
  }
};

}  // namespace durahash
