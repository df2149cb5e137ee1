// What an operation answers. Expected failures are values, never exceptions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace durahash {

/// The answer of one operation. Anything but `ok` left the table as it was.
enum class status : std::uint8_t {
  ok = 0,
  not_found,         ///< the key is absent
  exists,            ///< insert: the key is present already, its record is untouched
  mismatch,          ///< compare_and_set: the present value is another one
  no_space,          ///< neither the pool nor its file system has room; reads and erases still work
  invalid_argument,  ///< a key or value that this pool does not take (wrong length, too long)
  read_only,         ///< the pool was opened for reading only
  closed,            ///< the handle was closed or moved from
  unusable,          ///< the pool cannot be opened: the error's message says what and where
  io_error,          ///< the operating system refused; the error's message has its words
  damaged,           ///< bytes of the pool contradict its format; `check` lists them
  out_of_memory,     ///< the process has no memory for it
  /// the handle belongs to the process that opened it, and this is a child of that one
  forked,
  /// of a handle that reads beside a writer: the pool has been opened, salvaged or lent to a device
  /// for a second; or writes never paused where it reads. Try again
  busy,
  /// another process, or this one, has the pool open: an opening, a removal or a conversion finds
  /// it so. It may be free in a moment
  locked,
};

/// One sentence for people. Never empty, never freed.
std::string_view message(status code) noexcept;

/// A failure that has a story: which file, which byte, what to do.
struct error {
  status code = status::unusable;
  std::string message;
};

/// Either a T or an error.
template <class T>
class [[nodiscard]] result {
 public:
  /// One of them.
  result(T value) : value_(std::move(value)) {}
  result(error why) : error_(std::move(why)) {}

  /// Whether there is a value.
  explicit operator bool() const noexcept { return value_.has_value(); }
  /// The value, if there is one.
  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

  /// Only when there is no value.
  const error& failure() const { return error_; }

 private:
  std::optional<T> value_;
  error error_;
};

}  // namespace durahash
