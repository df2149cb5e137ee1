// How typed keys and values become bytes of a table, and which may.
#pragma once

#include <cstdint>
#include <cstring>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>

#include "durahash/info.hpp"
#include "durahash/options.hpp"

namespace durahash {

/// A type that fits a 64-bit word and is nothing but its bytes. Types with padding are refused:
/// equal values could differ in it.
template <class T>
concept word_sized = std::is_trivially_copyable_v<T> && sizeof(T) <= 8 && !std::is_pointer_v<T> &&
                     (std::has_unique_object_representations_v<T> || std::is_floating_point_v<T>);

/// What a map's values may be: any trivially copyable type of up to 1 MiB, or std::string.
inline constexpr std::size_t max_plain_bytes = 1024 * 1024;
template <class T>
concept plain_value = std::is_trivially_copyable_v<T> && !std::is_pointer_v<T> &&
                      std::is_default_constructible_v<T> && sizeof(T) <= max_plain_bytes;
template <class T>
concept map_value = plain_value<T> || std::is_same_v<T, std::string>;

/// What a map's keys may be: what is nothing but its bytes, up to 64 KiB, or std::string.
template <class T>
concept map_key = word_sized<T> || std::is_same_v<T, std::string> ||
    (plain_value<T>&& std::has_unique_object_representations_v<T> && sizeof(T) <= max_key_bytes);

namespace detail {

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

/// What a function takes for one: a view, or a reference.
template <class T>
using typed_argument =
    std::conditional_t<std::is_same_v<T, std::string>, std::string_view, const T&>;

/// The bytes of one in a table: those of a string, the 8 of a word, or its own.
template <class T>
class typed_bytes {
 public:
  explicit typed_bytes(const T& one) noexcept : one_(one) {}
  std::string_view view() const noexcept {
    return {reinterpret_cast<const char*>(&one_), sizeof one_};
  }

 private:
  const T& one_;
};
template <>
class typed_bytes<std::string> {
 public:
  explicit typed_bytes(std::string_view one) noexcept : one_(one) {}
  std::string_view view() const noexcept { return one_; }

 private:
  std::string_view one_;
};
template <word_sized T>
class typed_bytes<T> {
 public:
  explicit typed_bytes(const T& one) noexcept : word_(to_word(one)) {}
  std::string_view view() const noexcept {
    return {reinterpret_cast<const char*>(&word_), sizeof word_};
  }

 private:
  std::uint64_t word_;
};

/// The other way. Returns false for bytes that are of no such type: of another length.
template <class T>
bool from_bytes(std::string_view bytes, T& into) {
  if constexpr (std::is_same_v<T, std::string>) {
    into.assign(bytes);
  } else if constexpr (word_sized<T>) {
    std::uint64_t word;
    if (bytes.size() != sizeof word) return false;
    std::memcpy(&word, bytes.data(), sizeof word);
    into = from_word<T>(word);
  } else {
    if (bytes.size() != sizeof into) return false;
    std::memcpy(&into, bytes.data(), sizeof into);
  }
  return true;
}

/// Calls use(T) with them where they lie: of a string a std::string_view. What does not lie as a T
/// must, and a word, is copied first. Returns false, and calls nothing, as from_bytes.
template <class T, class Use>
bool use_bytes(std::string_view bytes, Use&& use) {
  if constexpr (std::is_same_v<T, std::string>) {
    use(bytes);
    return true;
  } else {
    if constexpr (!word_sized<T>)
      if (bytes.size() == sizeof(T) &&
          reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(T) == 0) {
        use(*std::launder(reinterpret_cast<const T*>(bytes.data())));
        return true;
      }
    T copy{};
    if (!from_bytes(bytes, copy)) return false;
    use(static_cast<const T&>(copy));
    return true;
  }
}

template <class T>
inline constexpr data_kind kind_of = word_sized<T> ? data_kind::u64 : data_kind::bytes;

}  // namespace detail
}  // namespace durahash
