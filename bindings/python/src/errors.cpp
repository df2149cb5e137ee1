#include "errors.hpp"

namespace durahash::python {
namespace {

const char* maker = "error_of";

}  // namespace

void raise_by(const char* function) { maker = function; }

void raise(status code, const std::string& why) {
  std::string sentence = why.empty() ? std::string(message(code)) : why;
  nb::object made = nb::module_::import_("durahash._errors")
                        .attr(maker)(static_cast<int>(code), sentence.c_str());
  PyErr_SetObject(made.type().ptr(), made.ptr());
  throw nb::python_error();
}

void raise(PyObject* type, const std::string& why) {
  PyErr_SetString(type, why.c_str());
  throw nb::python_error();
}

}  // namespace durahash::python
