// What keys or values are on the side of Python, and how one of them gets into the pool and out.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "errors.hpp"

namespace durahash::python {

enum class form_kind : int {
  u64 = 0,    ///< int, 0 to 2^64-1
  i64 = 1,    ///< int, -2^63 to 2^63-1
  f64 = 2,    ///< float
  fixed = 3,  ///< rows of one NumPy dtype and shape
  bytes = 4,
  text = 5,   ///< str, as UTF-8
  coded = 6,  ///< any object, through functions of the caller's
};

/// A form as durahash/_forms.py describes it. The functions are that module's.
struct form {
  explicit form(nb::handle described);

  bool is_number() const noexcept { return kind <= form_kind::f64; }
  /// Whether each takes the 8 bytes of a word.
  bool is_word() const noexcept { return is_number() || (kind == form_kind::fixed && width == 8); }
  /// Whether a batch of them is one array.
  bool is_array() const noexcept { return kind <= form_kind::fixed; }

  /// All that it holds of Python's.
  std::array<nb::object*, 5> objects() noexcept {
    return {&encode, &decode, &rows, &empty, &target};
  }

  form_kind kind;
  std::size_t width;              ///< bytes of each; 0: they differ
  std::string format;             ///< of a buffer that is taken as it lies; empty: none is
  std::vector<Py_ssize_t> shape;  ///< of one row
  nb::object encode, decode;      ///< object to bytes, and back: fixed and coded
  nb::object rows;    ///< anything to a contiguous array of the right type, or to a list
  nb::object empty;   ///< n -> (array, its bytes)
  nb::object target;  ///< (out, n) -> its bytes, writable and contiguous
};

/// A key or value on its way into the pool. Holds what it looks at.
class scalar {
 public:
  /// Throws where the object is not of that form.
  scalar(const form& of, PyObject* object);
  scalar(const scalar&) = delete;
  scalar& operator=(const scalar&) = delete;

  std::uint64_t word() const noexcept { return word_; }
  std::string_view bytes() const noexcept { return bytes_; }

 private:
  void take_bytes(PyObject* object);
  void take_word(std::uint64_t word) noexcept {
    word_ = word;
    bytes_ = {reinterpret_cast<const char*>(&word_), sizeof word_};
  }

  std::uint64_t word_ = 0;
  std::string_view bytes_;
  nb::object kept_;
};

/// What lies in the pool, as an object. Throws where it cannot be one of that form.
nb::object object_of(const form& of, std::string_view bytes);
nb::object object_of(const form& of, std::uint64_t word);

}  // namespace durahash::python
