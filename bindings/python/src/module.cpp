// The module durahash._core: what durahash/_table.py makes a mapping of.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <durahash/inspect.hpp>
#include <durahash/processes.hpp>
#include <durahash/remove.hpp>

#include "pool.hpp"

namespace durahash::python {
namespace {

/// The pool of an object of Python's, or null with an error: __init__ may not have run.
pool* pool_of(PyObject* self) noexcept {
  if (nb::inst_ready(self)) return nb::inst_ptr<pool>(self);
  PyErr_SetString(PyExc_ValueError, "this table was never opened: use durahash.open");
  return nullptr;
}

// Python calls these without looking for an attribute first.
PyObject* subscript(PyObject* self, PyObject* key) {
  call now;
  pool* p = pool_of(self);
  return p == nullptr ? nullptr : p->subscript(key);
}
int assign(PyObject* self, PyObject* key, PyObject* value) {
  call now;
  pool* p = pool_of(self);
  return p == nullptr ? -1 : p->assign(key, value);
}
int contains(PyObject* self, PyObject* key) {
  call now;
  pool* p = pool_of(self);
  return p == nullptr ? -1 : p->contains(key);
}
Py_ssize_t length(PyObject* self) {
  call now;
  pool* p = pool_of(self);
  return p == nullptr ? -1 : p->length();
}

// A codec's functions may lead back to the table, as all of one script do: Python's collector frees
// both, or neither.
int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(self)) return 0;
  for (form* f : nb::inst_ptr<pool>(self)->forms())
    for (nb::object* held : f->objects()) Py_VISIT(held->ptr());
  return 0;
}
int clear(PyObject* self) {
  if (!nb::inst_ready(self)) return 0;
  for (form* f : nb::inst_ptr<pool>(self)->forms())
    for (nb::object* held : f->objects()) *held = nb::none();
  return 0;
}

template <class Function>
void* slot(Function* f) {
  return reinterpret_cast<void*>(f);
}

PyType_Slot slots[] = {{Py_mp_subscript, slot(subscript)},
                       {Py_mp_ass_subscript, slot(assign)},
                       {Py_mp_length, slot(length)},
                       {Py_sq_contains, slot(contains)},
                       {Py_tp_traverse, slot(traverse)},
                       {Py_tp_clear, slot(clear)},
                       {0, nullptr}};

}  // namespace
}  // namespace durahash::python

NB_MODULE(_core, m) {
  using namespace durahash::python;
  using namespace nb::literals;
  count_generations();
  m.doc() = "The library behind durahash; use the package.";

  class_of_calls<pool>(m, "Pool", nb::type_slots(slots), nb::is_weak_referenceable())
      .def(nb::init<nb::handle, nb::dict, nb::handle, nb::handle>(), "path"_a.none(), "options"_a,
           "key"_a, "value"_a)
      .def("get", &pool::get, "key"_a, "default"_a = nb::none())
      .def(
          "put",
          [](pool& p, nb::handle key, nb::handle value, bool wait) {
            bool done;
            return p.write(write_kind::put, key, value, wait, done);
          },
          "key"_a.none(), "value"_a.none(), "wait"_a = true)
      .def(
          "insert",
          [](pool& p, nb::handle key, nb::handle value) {
            bool done;
            p.write(write_kind::insert, key, value, true, done);
            return done;
          },
          "key"_a.none(), "value"_a.none())
      .def(
          "replace",
          [](pool& p, nb::handle key, nb::handle value) {
            bool done;
            p.write(write_kind::update, key, value, true, done);
            return done;
          },
          "key"_a.none(), "value"_a.none())
      .def("erase", &pool::erase, "key"_a.none())
      .def("_take", &pool::take, "key"_a.none(), "default"_a.none())
      .def("compare_and_set", &pool::compare_and_set, "key"_a.none(), "expected"_a.none(),
           "desired"_a.none())
      .def("update_with", &pool::update_with, "key"_a.none(), "change"_a)
      .def("fetch_add", &pool::fetch_add, "key"_a.none(), "delta"_a = 1)
      .def("get_many", &pool::get_many, "keys"_a, "out"_a = nb::none(), "found"_a = nb::none())
      .def("contains_many", &pool::contains_many, "keys"_a, "found"_a = nb::none())
      .def("put_many", &pool::put_many, "keys"_a, "values"_a, "wait"_a = true)
      .def("erase_many", &pool::erase_many, "keys"_a, "erased"_a = nb::none())
      .def("_scan", &pool::scan, "position"_a, "limit"_a, "arrays"_a)
      .def("close", &pool::close)
      .def_prop_ro("closed", &pool::is_closed)
      .def_prop_ro("_forked", &pool::is_forked)
      .def("_info", &pool::info)
      .def("_check", &pool::check)
      .def("_kinds", &pool::kinds)
      .def("stats", &pool::stats)
      .def("size", &pool::size)
      .def("reserve", &pool::reserve, "records"_a)
      .def("compact", &pool::compact)
      .def("sync", &pool::sync)
      .def("_backup", &pool::backup, "path"_a)
      .def("position", &pool::position)
      .def("durable_position", &pool::durable_position)
      .def("_wait_durable", &pool::wait_durable, "position"_a)
      .def("_when_durable", &pool::when_durable, "position"_a, "call"_a)
      .def("salvage_report", &pool::salvage_report);

  m.def(
      "kinds_of",
      [](const std::string& path) -> std::optional<std::pair<std::string, std::string>> {
        without_gil others;
        auto looked = durahash::inspection::open(path);
        durahash::pool_kinds is{};
        if (looked) {
          is = looked->kinds();
        } else {  // a process has it to write to
          auto beside = durahash::table::open(path, {.mode = durahash::open_mode::read_beside});
          if (beside) is = beside->kinds();
        }
        if (is.engine == durahash::engine_kind{}) return std::nullopt;
        return std::pair(std::string(name_of(is.key)), std::string(name_of(is.value)));
      },
      "path"_a, nb::call_guard<call>());
  m.def(
      "processes_with",
      [](const std::string& path) {
        const auto found = [&] {
          without_gil others;
          return durahash::processes_with(path);
        }();
        if (!found) raise(found.failure().code, found.failure().message);
        nb::list all;
        for (const durahash::pool_process& one : *found)
          all.append(nb::make_tuple(one.id, one.writes, one.started_unix_seconds,
                                    nb::bytes(one.command.data(), one.command.size())));
        return all;
      },
      "path"_a, nb::call_guard<call>());
  m.def(
      "remove",
      [](const std::string& path) {
        const durahash::error e = [&] {
          without_gil others;
          return durahash::remove_pool(path);
        }();
        if (e.code != durahash::status::ok) raise(e.code, e.message);
      },
      "path"_a, nb::call_guard<call>());
  m.def("interpreter_ends", &interpreter_ends, "tables_are_closed"_a);
  m.def("ignore_leaks", [] { nb::set_leak_warnings(false); });
  m.def("message", [](int code) {
    return std::string(durahash::message(static_cast<durahash::status>(code)));
  });
  m.def("engines", [] {
    nb::list names;
    for (durahash::engine_kind each : durahash::all_engines())
      names.append(std::string(durahash::name_of(each)));
    return names;
  });
}
