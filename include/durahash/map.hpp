// A persistent hash map of typed keys and values.
#pragma once

#include <cstring>
#include <optional>
#include <span>
#include <type_traits>

#include "durahash/detail/read_modify_write.hpp"
#include "durahash/detail/typed.hpp"
#include "durahash/handle.hpp"
#include "durahash/records.hpp"
#include "durahash/table.hpp"

namespace durahash {

namespace detail {
/// Opens a u64/u64 pool. Defined in the library.
result<std::unique_ptr<word_table>> open_words(const std::string& path, const options& how);
}  // namespace detail

/// A hash map from K to V that is still there after `kill -9`. Keys and values of up to 8 bytes lie
/// in the table itself; others in records, below.
template <class K, class V>
class map {
  static_assert(map_key<K>, "a key is std::string, or nothing but its bytes: no padding, pointers");
  static_assert(map_value<V>, "a value is std::string, or trivially copyable, up to 1 MiB");
};

/// Keys and values of up to 8 bytes. The promises are those of `table`;
/// every key is legal, 0 and 2^64-1 included. Floating-point keys are compared by their bits.
template <word_sized K, word_sized V>
class map<K, V> : public handle {
 public:
  /// As table::open; a new pool is one of words to words.
  static result<map> open(const std::string& path, const options& how = {}) {
    auto words = detail::open_words(path, how);
    if (!words) return words.failure();
    return map(std::move(*words));
  }

  /// As of table: whatever is there; if the key is absent; if it is present.
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
  /// As of table: removes the record and gives its value.    Returns ok, not_found, read_only.
  status take(const K& key, V& value) {
    return impl().take(detail::to_word(key), [&](std::uint64_t word) {
      return value = detail::from_word<V>(word), status::ok;
    });
  }
  /// As table::take_with; `read(V)`.
  template <class Read>
  status take_with(const K& key, Read&& read) {
    auto see = [&](std::uint64_t word) -> status { return read(detail::from_word<V>(word)); };
    return under_lock(impl(), see,
                      [&](auto& called) { return impl().take(detail::to_word(key), called); });
  }

  /// As of table; compared are words.
  status compare_and_set(const K& key, const V& expected, const V& desired) {
    return impl().compare_and_set(detail::to_word(key), detail::to_word(expected),
                                  detail::to_word(desired));
  }

  /// The value of the key, and where it is absent `fallback`, which is inserted. One of several
  /// threads inserts, and all get the same value.
  /// Returns   exists: it was there; ok: it was inserted; else as of insert.
  status find_or_insert(const K& key, const V& fallback, V& value) {
    return detail::find_or_insert(*this, key, fallback, value);
  }

  /// Puts `change(present)` in the place of the present value, as one operation, under the key's
  /// lock: see table::update_with. Returns the value before in `previous`, if given.
  /// Returns   ok, not_found, no_space, read_only.
  template <class Change>
  status update_with(const K& key, Change&& change, V* previous = nullptr) {
    V before{};
    auto make = [&](std::uint64_t present, std::uint64_t& next) {
      before = detail::from_word<V>(present);
      next = detail::to_word<V>(change(static_cast<const V&>(before)));
      return status::ok;
    };
    const status s = under_lock(impl(), make, [&](auto& called) {
      return impl().update_with(detail::to_word(key), called);
    });
    if (s == status::ok && previous != nullptr) *previous = before;
    return s;
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

  /// All records, as a range: see record_range.
  record_range<map, K, V> records(cursor from = {}) const {
    return record_range<map, K, V>(*this, from);
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
      if (status s = scan(at, ~std::size_t{0}, visit); s != status::ok) return s;
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

/// Other keys and values: each a record in the pool. A word-sized key or value is the 8 bytes of
/// its word, a std::string its bytes, any other type the bytes that it has in memory: a program
/// with another layout of that type must not open the pool. What a table knows of a value is its
/// length; one of another length than V's is a `mismatch`.
/// Promises  those of `table`.
template <class K, class V>
  requires(map_key<K>&& map_value<V> && !(word_sized<K> && word_sized<V>))
class map<K, V> : public table {
  using key_argument = detail::typed_argument<K>;
  using value_argument = detail::typed_argument<V>;
  using key_bytes = detail::typed_bytes<K>;
  using value_bytes = detail::typed_bytes<V>;

 public:
  /// A new pool gets u64 keys or values where K or V is word-sized, else bytes.
  static result<map> open(const std::string& path, options how = {}) {
    if (!how.key) how.key = detail::kind_of<K>;
    if (!how.value) how.value = detail::kind_of<V>;
    auto records = table::open(path, how);
    if (!records) return records.failure();
    return map(std::move(*records));
  }

  /// As of table: whatever is there; if the key is absent; if it is present.
  status put(key_argument key, value_argument value) {
    return table::put(key_bytes(key).view(), value_bytes(value).view());
  }
  status insert(key_argument key, value_argument value) {
    return table::insert(key_bytes(key).view(), value_bytes(value).view());
  }
  status update(key_argument key, value_argument value) {
    return table::update(key_bytes(key).view(), value_bytes(value).view());
  }

  /// Returns ok, not_found, damaged, out_of_memory; mismatch for a value of another length.
  status get(key_argument key, V& value) const {
    status fits = status::ok;
    const status found = table::read(key_bytes(key).view(),
                                     [&](std::string_view bytes) { fits = give(bytes, value); });
    return found == status::ok ? fits : found;
  }
  std::optional<V> get(key_argument key) const {
    V value{};
    return get(key, value) == status::ok ? std::optional<V>(std::move(value)) : std::nullopt;
  }
  /// Calls `read(const V&)` with the value where it lies, without a copy; of a string
  /// `read(std::string_view)`. A value whose address V's alignment does not allow is copied first.
  /// Where keys have a multiple of 8 bytes, an alignment of up to 8 is always met. What `read` is
  /// given ends with the call. It must not block, nor write to this map.
  /// Returns   ok, not_found, damaged; mismatch for a value of another length.
  template <class Read>
  status read(key_argument key, Read&& read) const {
    bool fits = true;
    const status found = table::read(key_bytes(key).view(), [&](std::string_view bytes) {
      fits = detail::use_bytes<V>(bytes, read);
    });
    return found == status::ok && !fits ? status::mismatch : found;
  }
  bool contains(key_argument key) const { return table::contains(key_bytes(key).view()); }
  status erase(key_argument key) { return table::erase(key_bytes(key).view()); }
  /// As of table; mismatch for a value of another length, which stays.
  status take(key_argument key, V& value) {
    return table::take_with(key_bytes(key).view(),
                            [&](std::string_view present) { return give(present, value); });
  }
  /// As table::take_with, with what `read` of this map gives its function.
  template <class Read>
  status take_with(key_argument key, Read&& read) {
    return table::take_with(key_bytes(key).view(), [&](std::string_view bytes) {
      status answer = status::mismatch;  // of another length
      detail::use_bytes<V>(bytes, [&](const auto& value) { answer = read(value); });
      return answer;
    });
  }

  /// Compares the bytes: V is nothing but those, or a string.
  status compare_and_set(
      key_argument key, value_argument expected,
      value_argument desired) requires(std::is_same_v<V, std::string> || word_sized<V> ||
                                       std::has_unique_object_representations_v<V>) {
    return table::compare_and_set(key_bytes(key).view(), value_bytes(expected).view(),
                                  value_bytes(desired).view());
  }

  /// See the map of words.
  status find_or_insert(key_argument key, value_argument fallback, V& value) {
    return detail::find_or_insert(*this, key, fallback, value);
  }
  template <class Change>
  status update_with(key_argument key, Change&& change, V* previous = nullptr) {
    V before{}, made{};
    std::optional<value_bytes> bytes_made;
    const status s = table::change_value(
        key_bytes(key).view(), [&](std::string_view present, std::string_view& next) {
          if (const status fits = give(present, before); fits != status::ok) return fits;
          made = change(static_cast<const V&>(before));
          next = bytes_made.emplace(made).view();
          return status::ok;
        });
    if (s == status::ok && previous != nullptr) *previous = std::move(before);
    return s;
  }

  /// Batches: see table::put_many. Arrays of one length, or every answer is invalid_argument.
  void get_many(std::span<const K> keys, std::span<V> values, std::span<status> answers) const {
    if (!same_length(keys.size(), values.size(), answers)) return;
    const views<K> all(keys);
    std::vector<status> fits(keys.size(), status::ok);
    table::read_many(
        all.views_of,
        [&](std::size_t i, std::string_view bytes) { fits[i] = give(bytes, values[i]); }, answers);
    for (std::size_t i = 0; i < keys.size(); ++i)
      if (answers[i] == status::ok) answers[i] = fits[i];
  }
  /// As get_many without copies: `read(std::size_t index, const V&)`, in any order; see `read`.
  template <class Read>
  void read_many(std::span<const K> keys, Read&& read, std::span<status> answers) const {
    if (!same_length(keys.size(), keys.size(), answers)) return;
    const views<K> all(keys);
    std::vector<bool> fits(keys.size(), true);
    table::read_many(
        all.views_of,
        [&](std::size_t i, std::string_view bytes) {
          fits[i] = detail::use_bytes<V>(bytes, [&](const auto& value) { read(i, value); });
        },
        answers);
    for (std::size_t i = 0; i < keys.size(); ++i)
      if (answers[i] == status::ok && !fits[i]) answers[i] = status::mismatch;
  }
  void put_many(std::span<const K> keys, std::span<const V> values, std::span<status> answers) {
    if (!same_length(keys.size(), values.size(), answers)) return;
    const views<K> all(keys);
    const views<V> set(values);
    table::put_many(all.views_of, set.views_of, answers);
  }
  void erase_many(std::span<const K> keys, std::span<status> answers) {
    if (!same_length(keys.size(), keys.size(), answers)) return;
    const views<K> all(keys);
    table::erase_many(all.views_of, answers);
  }

  /// See table::scan. `visit(const K&, const V&)`.
  /// Returns   mismatch where a key or value is of another length, which no visitor is given.
  template <class Visit>
  status scan(cursor& at, std::size_t limit, Visit&& visit) const {
    status fits = status::ok;
    const status s = table::scan(at, limit, [&](std::string_view k, std::string_view v) {
      K key{};
      V value{};
      status given = give(k, key);
      if (given == status::ok) given = give(v, value);
      if (given == status::ok) visit(static_cast<const K&>(key), static_cast<const V&>(value));
      else fits = given;
    });
    return s == status::ok ? fits : s;
  }
  template <class Visit>
  status for_each(Visit&& visit) const {
    cursor at;
    while (!at.done)
      if (status s = scan(at, ~std::size_t{0}, visit); s != status::ok) return s;
    return status::ok;
  }
  record_range<map, K, V> records(cursor from = {}) const {
    return record_range<map, K, V>(*this, from);
  }

 private:
  explicit map(table records) : table(std::move(records)) {}

  /// What a table has as a T, or why not.
  template <class T>
  static status give(std::string_view bytes, T& into) {
    try {
      return detail::from_bytes(bytes, into) ? status::ok : status::mismatch;
    } catch (const std::bad_alloc&) {
      return status::out_of_memory;
    }
  }

  /// An array as a table takes it.
  template <class T>
  struct views {
    explicit views(std::span<const T> all) {
      bytes.reserve(all.size());
      views_of.reserve(all.size());
      for (const T& one : all) views_of.push_back(bytes.emplace_back(one).view());
    }
    std::vector<detail::typed_bytes<T>> bytes;
    std::vector<std::string_view> views_of;
  };

  static bool same_length(std::size_t keys, std::size_t values, std::span<status> answers) {
    if (keys == values && keys == answers.size()) return true;
    std::fill(answers.begin(), answers.end(), status::invalid_argument);
    return false;
  }
};

}  // namespace durahash
