// Answers of the library as Python exceptions.
#pragma once

#include <Python.h>
#include <nanobind/nanobind.h>

#include <durahash/status.hpp>
#include <exception>
#include <string>

namespace durahash::python {

namespace nb = nanobind;

/// Which function of durahash/_errors.py makes the exceptions of this extension: `error_of`, if
/// nothing is said.
void raise_by(const char* function);

/// Throws the exception of durahash/_errors.py that stands for the code. An empty `why` is the
/// library's own sentence.
[[noreturn]] void raise(status code, const std::string& why = {});
/// Throws a Python exception of that type.
[[noreturn]] void raise(PyObject* type, const std::string& why);

/// Runs what may throw, from a function that Python calls by itself: the exception becomes Python's
/// error, and the result `failed`.
template <class Result, class Run>
Result guarded(Result failed, Run&& run) noexcept {
  try {
    return run();
  } catch (nb::python_error& e) {
    e.restore();
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& e) {
    PyErr_SetString(PyExc_RuntimeError, e.what());
  }
  return failed;
}

}  // namespace durahash::python
