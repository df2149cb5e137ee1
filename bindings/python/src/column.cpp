#include "column.hpp"

#include <algorithm>

namespace durahash::python {
namespace {

/// Whether a buffer's items are what a number of that form is, bit for bit.
bool is_native(form_kind kind, const Py_buffer& view) {
  if (view.itemsize != 8 || view.format == nullptr) return false;
  std::string_view format = view.format;
  if (format.starts_with('@') || format.starts_with('=') || format.starts_with('<'))
    format.remove_prefix(1);
  switch (kind) {
    case form_kind::u64: return format == "L" || format == "Q";
    case form_kind::i64: return format == "l" || format == "q";
    default: return format == "d";
  }
}

bool fits(const form& of, const Py_buffer& view) {
  if (of.is_number()) return view.ndim == 1 && is_native(of.kind, view);
  if (of.format.empty() || view.format == nullptr || of.format != view.format) return false;
  return static_cast<std::size_t>(view.ndim) == of.shape.size() + 1 &&
         std::equal(of.shape.begin(), of.shape.end(), view.shape + 1) &&
         (view.shape[0] == 0 || static_cast<std::size_t>(view.len / view.shape[0]) == of.width);
}

/// Rows of plain bytes, as durahash/_forms.py makes them of what has another form.
bool is_raw(const Py_buffer& view, std::size_t width) {
  return view.ndim == 2 && view.itemsize == 1 &&
         (width == 0 || view.len == 0 || static_cast<std::size_t>(view.shape[1]) == width);
}

}  // namespace

bool buffer::look_at(PyObject* object, bool writable) {
  release();
  if (!PyObject_CheckBuffer(object)) return false;
  int flags = PyBUF_FORMAT | PyBUF_C_CONTIGUOUS | (writable ? PyBUF_WRITABLE : 0);
  if (PyObject_GetBuffer(object, &view_, flags) != 0) {
    PyErr_Clear();
    return false;
  }
  return held_ = true;
}

column::column(const form& of, nb::handle object) {
  if (PyUnicode_Check(object.ptr()) || PyBytes_Check(object.ptr()) ||
      PyByteArray_Check(object.ptr()))
    raise(PyExc_TypeError, "a batch is an array or a list, and not one str or bytes");
  if (of.is_array() && array_.look_at(object.ptr(), false) && fits(of, array_.view())) {
    kept_ = nb::borrow(object);
    size_ = static_cast<std::size_t>(array_.view().shape[0]);
    width_ = of.width;
    base_ = array_.at();
    return;
  }
  array_.release();
  bool is_list = PyList_Check(object.ptr()) || PyTuple_Check(object.ptr());
  nb::object rows = is_list && !of.is_array() ? nb::borrow(object) : of.rows(object);
  if (PyList_Check(rows.ptr()) || PyTuple_Check(rows.ptr())) take_list(of, rows);
  else if (!take_array(of, rows.ptr()))
    raise(PyExc_TypeError, "durahash: this array cannot be read as rows of the table's form");
}

bool column::take_array(const form& of, PyObject* object) {
  if (!array_.look_at(object, false)) return false;
  const Py_buffer& view = array_.view();
  if (of.is_number() ? !fits(of, view) : !is_raw(view, of.width)) {
    // Bytes of any length come as they are: each row is one of them.
    bool ends_by_zeros = of.kind == form_kind::bytes && view.ndim == 1 && view.format != nullptr &&
                         std::string_view(view.format).ends_with('s');
    if (!ends_by_zeros) return false;
    strips_ = true;
  }
  kept_ = nb::borrow(object);
  size_ = static_cast<std::size_t>(view.shape[0]);
  width_ = view.ndim == 1 ? static_cast<std::size_t>(view.itemsize)
                          : static_cast<std::size_t>(view.shape[1]);
  base_ = array_.at() != nullptr ? array_.at() : "";
  return true;
}

void column::take_list(const form& of, nb::handle object) {
  kept_ = nb::steal(PySequence_Tuple(object.ptr()));  // nobody else can change it meanwhile
  if (!kept_.is_valid()) nb::raise_python_error();
  size_ = static_cast<std::size_t>(PyTuple_Size(kept_.ptr()));
  views_.reserve(size_);
  for (std::size_t i = 0; i < size_; ++i) {
    PyObject* item = PyTuple_GetItem(kept_.ptr(), static_cast<Py_ssize_t>(i));
    if (of.kind == form_kind::bytes && PyBytes_Check(item)) {
      char* at;
      Py_ssize_t length;
      if (PyBytes_AsStringAndSize(item, &at, &length) != 0) nb::raise_python_error();
      views_.emplace_back(at, static_cast<std::size_t>(length));
    } else if (of.kind == form_kind::text && PyUnicode_Check(item)) {
      Py_ssize_t length;
      const char* at = PyUnicode_AsUTF8AndSize(item, &length);
      if (at == nullptr) nb::raise_python_error();
      views_.emplace_back(at, static_cast<std::size_t>(length));
    } else {
      scalar one(of, item);
      nb::object bytes = nb::steal(PyBytes_FromStringAndSize(
          one.bytes().data(), static_cast<Py_ssize_t>(one.bytes().size())));
      if (!bytes.is_valid()) nb::raise_python_error();
      char* at;
      Py_ssize_t length;
      PyBytes_AsStringAndSize(bytes.ptr(), &at, &length);
      views_.emplace_back(at, static_cast<std::size_t>(length));
      made_.push_back(std::move(bytes));
    }
  }
}

target::target(const form& of, nb::handle out, std::size_t size)
    : size_(size), is_new_(out.is_none()) {
  if (is_new_) {
    nb::object both = of.empty(size);
    made_ = both[0];
    raw_ = both[1];
    if (!array_.look_at(raw_.ptr(), true)) raise(PyExc_RuntimeError, "durahash: no room for rows");
    return;
  }
  made_ = nb::borrow(out);
  if (array_.look_at(out.ptr(), true) && of.is_array() && fits(of, array_.view()) &&
      static_cast<std::size_t>(array_.view().shape[0]) == size)
    return;
  raw_ = of.target(out, size);
  if (!array_.look_at(raw_.ptr(), true))
    raise(PyExc_ValueError, "out= must be a writable, C-contiguous array");
}

flags::flags(nb::handle out, std::size_t size) {
  if (out.is_none()) {
    made_ = nb::module_::import_("durahash._forms").attr("flags")(size);
    if (!array_.look_at(made_.ptr(), true)) raise(PyExc_RuntimeError, "durahash: no flags");
    return;
  }
  made_ = nb::borrow(out);
  if (!array_.look_at(out.ptr(), true) || array_.view().ndim != 1 || array_.view().itemsize != 1 ||
      array_.view().format == nullptr || std::string_view(array_.view().format) != "?" ||
      array_.bytes() != size)
    raise(PyExc_ValueError,
          "found= must be a writable array of " + std::to_string(size) + " bools");
}

}  // namespace durahash::python
