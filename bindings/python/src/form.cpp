#include "form.hpp"

namespace durahash::python {

form::form(nb::handle described)
    : kind(static_cast<form_kind>(nb::cast<int>(described.attr("kind")))),
      width(nb::cast<std::size_t>(described.attr("width"))),
      format(nb::borrow<nb::str>(described.attr("format")).c_str()),
      encode(described.attr("encode")),
      decode(described.attr("decode")),
      rows(described.attr("rows")),
      empty(described.attr("empty")),
      target(described.attr("target")) {
  for (nb::handle side : described.attr("shape")) shape.push_back(nb::cast<Py_ssize_t>(side));
}

scalar::scalar(const form& of, PyObject* object) {
  switch (of.kind) {
    case form_kind::u64: {
      unsigned long long word;
      if (PyLong_Check(object)) {
        word = PyLong_AsUnsignedLongLong(object);
      } else {  // a NumPy integer, for example
        nb::object number = nb::steal(PyNumber_Index(object));
        if (!number.is_valid()) nb::raise_python_error();
        word = PyLong_AsUnsignedLongLong(number.ptr());
      }
      if (word == ~0ULL && PyErr_Occurred()) nb::raise_python_error();
      take_word(word);
      return;
    }
    case form_kind::i64: {
      long long word = PyLong_AsLongLong(object);
      if (word == -1 && PyErr_Occurred()) nb::raise_python_error();
      take_word(static_cast<std::uint64_t>(word));
      return;
    }
    case form_kind::f64: {
      double number = PyFloat_AsDouble(object);
      if (number == -1 && PyErr_Occurred()) nb::raise_python_error();
      std::memcpy(&word_, &number, sizeof word_);
      take_word(word_);
      return;
    }
    case form_kind::text: {
      Py_ssize_t length;
      if (!PyUnicode_Check(object)) raise(PyExc_TypeError, "a str is asked for here");
      const char* text = PyUnicode_AsUTF8AndSize(object, &length);
      if (text == nullptr) nb::raise_python_error();
      kept_ = nb::borrow(object);
      bytes_ = {text, static_cast<std::size_t>(length)};
      return;
    }
    case form_kind::bytes: take_bytes(object); return;
    case form_kind::fixed:
    case form_kind::coded: {
      nb::object encoded = of.encode(nb::handle(object));
      take_bytes(encoded.ptr());
      if (of.width != 0 && bytes_.size() != of.width)
        raise(PyExc_ValueError, std::to_string(of.width) + " bytes are asked for, and these are " +
                                    std::to_string(bytes_.size()));
      if (of.is_word()) std::memcpy(&word_, bytes_.data(), sizeof word_);
      return;
    }
  }
  raise(PyExc_TypeError, "durahash: no such form");
}

void scalar::take_bytes(PyObject* object) {
  if (PyBytes_Check(object)) {
    kept_ = nb::borrow(object);
  } else {
    if (!PyObject_CheckBuffer(object)) raise(PyExc_TypeError, "bytes are asked for here");
    // What may change under another thread's hands is copied: a record's checksum must fit.
    kept_ = nb::steal(PyBytes_FromObject(object));
    if (!kept_.is_valid()) nb::raise_python_error();
  }
  char* at;
  Py_ssize_t length;
  if (PyBytes_AsStringAndSize(kept_.ptr(), &at, &length) != 0) nb::raise_python_error();
  bytes_ = {at, static_cast<std::size_t>(length)};
}

namespace {

nb::object made(PyObject* object) {
  if (object == nullptr) nb::raise_python_error();
  return nb::steal(object);
}

std::uint64_t word_in(std::string_view bytes) {
  std::uint64_t word;
  if (bytes.size() != sizeof word)
    raise(status::invalid_argument, "a record has " + std::to_string(bytes.size()) +
                                        " bytes where 8 are a number; open the pool as bytes");
  std::memcpy(&word, bytes.data(), sizeof word);
  return word;
}

}  // namespace

nb::object object_of(const form& of, std::uint64_t word) {
  switch (of.kind) {
    case form_kind::u64: return made(PyLong_FromUnsignedLongLong(word));
    case form_kind::i64: return made(PyLong_FromLongLong(static_cast<long long>(word)));
    case form_kind::f64: {
      double number;
      std::memcpy(&number, &word, sizeof number);
      return made(PyFloat_FromDouble(number));
    }
    default: return object_of(of, {reinterpret_cast<const char*>(&word), sizeof word});
  }
}

nb::object object_of(const form& of, std::string_view bytes) {
  auto size = static_cast<Py_ssize_t>(bytes.size());
  switch (of.kind) {
    case form_kind::u64:
    case form_kind::i64:
    case form_kind::f64: return object_of(of, word_in(bytes));
    case form_kind::bytes: return made(PyBytes_FromStringAndSize(bytes.data(), size));
    case form_kind::text: return made(PyUnicode_DecodeUTF8(bytes.data(), size, nullptr));
    case form_kind::fixed:
    case form_kind::coded: break;
  }
  if (of.width != 0 && bytes.size() != of.width)
    raise(status::invalid_argument, "a record has " + std::to_string(bytes.size()) +
                                        " bytes, and its form " + std::to_string(of.width));
  return of.decode(made(PyBytes_FromStringAndSize(bytes.data(), size)));
}

}  // namespace durahash::python
