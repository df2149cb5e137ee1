#include "pool.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <durahash/deferred_wait.hpp>

#include "options.hpp"

namespace durahash::python {
namespace {

/// The size from which a copy is long enough for other threads to run.
constexpr std::size_t long_bytes = 256 * 1024;

}  // namespace

pool::pool(nb::handle path, nb::dict how, nb::handle key, nb::handle value)
    : key_(key), value_(value) {
  options asked = options_of(how);
  std::string where = path.is_none() ? std::string() : text_of(path, "path");
  error failure{status::ok, {}};
  {
    without_gil others;
    auto open = [&]<class Kind>() {
      auto opened = Kind::open(where, asked);
      if (!opened) return failure = opened.failure(), false;
      it_.emplace<Kind>(std::move(*opened));
      return true;
    };
    key_.is_word() && value_.is_word() ? open.template operator()<word_map>()
                                       : open.template operator()<table>();
  }
  if (failure.code != status::ok) raise(failure.code, failure.message);
  durability_level level = any().kinds().durability;
  may_wait_ = level == durability_level::power || level == durability_level::power_buffered;
}

pool::~pool() {
  if (std::holds_alternative<std::monostate>(it_)) return;
  // Who waits for the log is called back by a thread that needs the GIL.
  without_gil others(!is_forked());
  it_.emplace<std::monostate>();
}

void pool::close() {
  const status s = close_by([&] { return any().close(); });
  if (s != status::ok && s != status::closed) raise(s);
}

// -------------------------------------------------------------------------------- one record

status pool::find(const scalar& key, std::uint64_t& word, std::string& bytes) {
  use open(*this);
  without_gil others(may_wait_);
  if (holds_words()) return words().get(key.word(), word);
  return records().get(key.bytes(), bytes);
}

nb::object pool::found(std::uint64_t word, const std::string& bytes) {
  return holds_words() ? object_of(value_, word) : object_of(value_, bytes);
}

nb::object pool::get(nb::handle key, nb::handle otherwise) {
  scalar wanted(key_, key.ptr());
  std::uint64_t word = 0;
  std::string bytes;
  status s = find(wanted, word, bytes);
  if (s == status::not_found) return nb::borrow(otherwise);
  if (s != status::ok) raise(s);
  return found(word, bytes);
}

PyObject* pool::subscript(PyObject* key) noexcept {
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    scalar wanted(key_, key);
    std::uint64_t word = 0;
    std::string bytes;
    status s = find(wanted, word, bytes);
    if (s == status::not_found) return PyErr_SetObject(PyExc_KeyError, key), nullptr;
    if (s != status::ok) raise(s);
    return found(word, bytes).release().ptr();
  });
}

int pool::contains(PyObject* key) noexcept {
  return guarded(-1, [&] {
    scalar wanted(key_, key);
    use open(*this);
    without_gil others(may_wait_);
    return static_cast<int>(holds_words() ? words().contains(wanted.word())
                                          : records().contains(wanted.bytes()));
  });
}

int pool::assign(PyObject* key, PyObject* value) noexcept {
  return guarded(-1, [&] {
    if (value == nullptr) {
      if (erase(key)) return 0;
      PyErr_SetObject(PyExc_KeyError, key);
      return -1;
    }
    bool done;
    write(write_kind::put, key, value, true, done);
    return 0;
  });
}

Py_ssize_t pool::length() noexcept {
  return guarded<Py_ssize_t>(-1, [&] { return static_cast<Py_ssize_t>(size()); });
}

std::optional<std::uint64_t> pool::write(write_kind kind, nb::handle key, nb::handle value,
                                         bool wait, bool& done) {
  scalar at(key_, key.ptr()), desired(value_, value.ptr());
  std::optional<std::uint64_t> position;
  status s;
  {
    use open(*this);
    without_gil others(may_wait_ || desired.bytes().size() >= long_bytes);
    auto run = [&](auto& to, auto k, auto v) {
      switch (kind) {
        case write_kind::insert: return to.insert(k, v);
        case write_kind::update: return to.update(k, v);
        default: return to.put(k, v);
      }
    };
    auto write_it = [&] {
      return holds_words() ? run(words(), at.word(), desired.word())
                           : run(records(), at.bytes(), desired.bytes());
    };
    if (wait) {
      s = write_it();
    } else {
      deferred_wait later(any());
      s = write_it();
      position = later.position();
    }
  }
  done = s == status::ok;
  bool is_answer = (kind == write_kind::insert && s == status::exists) ||
                   (kind == write_kind::update && s == status::not_found);
  if (!done && !is_answer) raise(s);
  return position;
}

bool pool::erase(nb::handle key) {
  scalar at(key_, key.ptr());
  status s;
  {
    use open(*this);
    without_gil others(may_wait_);
    s = holds_words() ? words().erase(at.word()) : records().erase(at.bytes());
  }
  if (s != status::ok && s != status::not_found) raise(s);
  return s == status::ok;
}

/// The object is made before the record goes: a codec may fail, and must not run under a lock.
nb::object pool::take(nb::handle key, nb::handle otherwise) {
  scalar at(key_, key.ptr());
  std::uint64_t word = 0;
  std::string bytes;
  for (;;) {  // ends: another round means that another write has got on
    status s = find(at, word, bytes);
    if (s == status::not_found) return nb::borrow(otherwise);
    if (s != status::ok) raise(s);
    nb::object value = found(word, bytes);
    auto is_still = [](const auto& seen) {
      return
          [&seen](const auto& present) { return present == seen ? status::ok : status::mismatch; };
    };
    {
      use open(*this);
      without_gil others(may_wait_);
      s = holds_words() ? words().take_with(at.word(), is_still(word))
                        : records().take_with(at.bytes(), is_still(bytes));
    }
    if (s == status::ok) return value;
    if (s != status::mismatch && s != status::not_found) raise(s);
  }
}

/// `word` or `bytes`: what is to be there.
bool pool::exchange(const scalar& key, std::uint64_t word, std::string_view bytes,
                    const scalar& desired) {
  status s;
  {
    use open(*this);
    without_gil others(may_wait_);
    s = holds_words() ? words().compare_and_set(key.word(), word, desired.word())
                      : records().compare_and_set(key.bytes(), bytes, desired.bytes());
  }
  if (s != status::ok && s != status::mismatch && s != status::not_found) raise(s);
  return s == status::ok;
}

bool pool::compare_and_set(nb::handle key, nb::handle expected, nb::handle desired) {
  scalar at(key_, key.ptr()), before(value_, expected.ptr()), after(value_, desired.ptr());
  return exchange(at, before.word(), before.bytes(), after);
}

/// Under the key's lock nothing of Python's may run: who has the GIL may wait for that lock.
nb::object pool::update_with(nb::handle key, nb::handle change) {
  scalar at(key_, key.ptr());
  std::uint64_t word = 0;
  std::string bytes;
  for (;;) {  // ends: another round means that another write has got on
    status s = find(at, word, bytes);
    if (s == status::not_found) {
      PyErr_SetObject(PyExc_KeyError, key.ptr());
      nb::raise_python_error();
    }
    if (s != status::ok) raise(s);
    nb::object made = change(found(word, bytes));
    if (exchange(at, word, bytes, scalar(value_, made.ptr()))) return made;
  }
}

nb::object pool::fetch_add(nb::handle key, nb::handle delta) {
  if (value_.kind != form_kind::u64 && value_.kind != form_kind::i64)
    raise(PyExc_TypeError, "fetch_add is for tables whose values are integers");
  scalar at(key_, key.ptr());
  // Either sign: numbers are added modulo 2^64.
  nb::object number = nb::steal(PyNumber_Index(delta.ptr()));
  if (!number.is_valid()) nb::raise_python_error();
  std::uint64_t added = PyLong_AsUnsignedLongLongMask(number.ptr()), previous = 0;
  status s;
  {
    use open(*this);
    without_gil others(may_wait_);
    s = holds_words() ? words().fetch_add(at.word(), added, previous)
                      : records().fetch_add(at.bytes(), added, previous);
  }
  if (s != status::ok) raise(s);
  return object_of(value_, previous);
}

// ---------------------------------------------------------------------------------- the pool

nb::tuple pool::kinds() {
  use open(*this);
  pool_kinds is = any().kinds();
  return nb::make_tuple(std::string(name_of(is.engine)), std::string(name_of(is.key)),
                        std::string(name_of(is.value)), std::string(name_of(is.durability)));
}

nb::dict pool::info() {
  return dict_of(using_pool([&] { return any().info(); }));
}
nb::dict pool::stats() {
  return dict_of(using_pool([&] { return any().stats(); }));
}

nb::object pool::check() {
  check_report report = using_pool([&] { return any().check(); });
  return nb::make_tuple(report.ok, report.records, report.violations);
}

std::uint64_t pool::size() {
  return using_pool([&] { return any().size(); });
}
void pool::reserve(std::uint64_t records) {
  require([&] { return any().reserve(records); });
}
void pool::compact() {
  require([&] { return any().compact(); });
}
void pool::sync() {
  require([&] { return any().sync(); });
}
void pool::backup(const std::string& path) {
  error e = using_pool([&] { return any().backup(path); });
  if (e.code != status::ok) raise(e.code, e.message);
}
std::uint64_t pool::position() {
  use open(*this);
  return any().position();
}
std::uint64_t pool::durable_position() {
  use open(*this);
  return any().durable_position();
}
void pool::wait_durable(std::uint64_t position) {
  require([&] { return any().wait_durable(position); });
}

void pool::when_durable(std::uint64_t position, nb::object call) {
  PyObject* kept = call.release().ptr();
  auto call_back = [kept](status s) {
    PyGILState_STATE state = PyGILState_Ensure();
    {
      nb::object function = nb::steal(kept);
      nb::object answer = nb::steal(PyObject_CallFunction(kept, "i", static_cast<int>(s)));
      if (!answer.is_valid()) PyErr_WriteUnraisable(kept);
    }
    PyGILState_Release(state);
  };
  status s;
  try {
    s = using_pool([&] { return any().when_durable(position, call_back); });
  } catch (...) {
    Py_DECREF(kept);
    throw;
  }
  if (s == status::ok) return;
  Py_DECREF(kept);
  raise(s);
}

std::vector<std::string> pool::salvage_report() {
  use open(*this);
  return any().salvage_report();
}

}  // namespace durahash::python
