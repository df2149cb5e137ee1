// Many keys or values at once, where the caller has them.
#pragma once

#include <vector>

#include "form.hpp"

namespace durahash::python {

/// The bytes of an object, for as long as this lives.
class buffer {
 public:
  buffer() = default;
  buffer(const buffer&) = delete;
  buffer& operator=(const buffer&) = delete;
  ~buffer() { release(); }

  /// Whether the object has one that is C-contiguous, and writable where that is asked for. Leaves
  /// no error behind.
  bool look_at(PyObject* object, bool writable);
  void release() noexcept {
    if (held_) PyBuffer_Release(&view_);
    held_ = false;
  }
  const Py_buffer& view() const noexcept { return view_; }
  char* at() const noexcept { return static_cast<char*>(view_.buf); }
  std::size_t bytes() const noexcept { return static_cast<std::size_t>(view_.len); }

 private:
  Py_buffer view_{};
  bool held_ = false;
};

/// A column of keys or values that go into the pool.
class column {
 public:
  /// Takes arrays as they lie, if they are of that form; copies of all else.
  column(const form& of, nb::handle object);

  std::size_t size() const noexcept { return size_; }
  /// Of an array: where it lies. Null for a list.
  const char* base() const noexcept { return base_; }
  std::size_t width() const noexcept { return width_; }
  std::string_view operator[](std::size_t i) const noexcept {
    if (base_ == nullptr) return views_[i];
    const char* row = base_ + i * width_;
    return {row, length_of(row)};
  }
  /// Of a row of the array, or of its copy. Bytes of NumPy's kind S end where their zeros begin.
  std::size_t length_of(const char* row) const noexcept {
    return strips_ ? std::string_view(row, width_).find_last_not_of('\0') + 1 : width_;
  }

 private:
  bool take_array(const form& of, PyObject* object);
  void take_list(const form& of, nb::handle object);

  std::size_t size_ = 0, width_ = 0;
  const char* base_ = nullptr;
  bool strips_ = false;
  buffer array_;
  nb::object kept_;
  std::vector<std::string_view> views_;
  std::vector<nb::object> made_;
};

/// An array that values go into.
class target {
 public:
  /// `out`, or a new array where that is None.
  target(const form& of, nb::handle out, std::size_t size);
  char* at() const noexcept { return array_.at(); }
  std::size_t row_bytes() const noexcept { return size_ == 0 ? 0 : array_.bytes() / size_; }
  bool is_new() const noexcept { return is_new_; }
  nb::object array() const { return made_; }

 private:
  buffer array_;
  nb::object made_, raw_;
  std::size_t size_;
  bool is_new_;
};

/// A bool for each key.
class flags {
 public:
  flags(nb::handle out, std::size_t size);
  bool* at() const noexcept { return reinterpret_cast<bool*>(array_.at()); }
  nb::object array() const { return made_; }

 private:
  buffer array_;
  nb::object made_;
};

}  // namespace durahash::python
