// An open pool as Python holds it.
#pragma once

#include <array>
#include <durahash/map.hpp>
#include <durahash/table.hpp>
#include <optional>
#include <variant>

#include "column.hpp"
#include "openable.hpp"

namespace durahash::python {

using word_map = map<std::uint64_t, std::uint64_t>;

/// Which operations a write may be: as map and table have them.
enum class write_kind { put, insert, update };

class pool : public openable {
 public:
  pool(nb::handle path, nb::dict how, nb::handle key, nb::handle value);
  ~pool();

  // ---- one record; what sets Python's error and returns null or -1 is called by Python itself
  PyObject* subscript(PyObject* key) noexcept;
  int assign(PyObject* key, PyObject* value) noexcept;  // a null value erases
  int contains(PyObject* key) noexcept;
  Py_ssize_t length() noexcept;
  nb::object get(nb::handle key, nb::handle otherwise);
  std::optional<std::uint64_t> write(write_kind kind, nb::handle key, nb::handle value, bool wait,
                                     bool& done);
  bool erase(nb::handle key);
  nb::object take(nb::handle key, nb::handle otherwise);
  bool compare_and_set(nb::handle key, nb::handle expected, nb::handle desired);
  nb::object update_with(nb::handle key, nb::handle change);
  nb::object fetch_add(nb::handle key, nb::handle delta);

  // ---- many records
  nb::object get_many(nb::handle keys, nb::handle out, nb::handle found);
  nb::object contains_many(nb::handle keys, nb::handle found);
  std::uint64_t put_many(nb::handle keys, nb::handle values, bool wait);
  nb::object erase_many(nb::handle keys, nb::handle erased);
  nb::object scan(std::uint64_t position, std::size_t limit, bool arrays);

  // ---- the pool
  void close();
  nb::dict info();
  nb::dict stats();
  nb::object check();
  nb::tuple kinds();
  std::uint64_t size();
  void reserve(std::uint64_t records);
  void compact();
  void sync();
  void backup(const std::string& path);
  std::uint64_t position();
  std::uint64_t durable_position();
  void wait_durable(std::uint64_t position);
  void when_durable(std::uint64_t position, nb::object call);
  std::vector<std::string> salvage_report();

  const form& key_form() const noexcept { return key_; }
  const form& value_form() const noexcept { return value_; }
  std::array<form*, 2> forms() noexcept { return {&key_, &value_}; }

 private:
  bool holds_words() const noexcept { return std::holds_alternative<word_map>(it_); }
  word_map& words() noexcept { return std::get<word_map>(it_); }
  table& records() noexcept { return std::get<table>(it_); }
  handle& any() noexcept {
    return holds_words() ? static_cast<handle&>(words()) : static_cast<handle&>(records());
  }

  status find(const scalar& key, std::uint64_t& word, std::string& bytes);
  nb::object found(std::uint64_t word, const std::string& bytes);
  bool exchange(const scalar& key, std::uint64_t word, std::string_view bytes,
                const scalar& desired);
  nb::object get_arrays(const column& keys, nb::handle out, nb::handle found);
  nb::object get_lists(const column& keys, nb::handle found);
  /// Of what does not call Python.
  template <class Run>
  auto using_pool(Run&& run);
  /// Of an operation that answers a status: throws any but ok.
  template <class Run>
  void require(Run&& run);

  form key_, value_;
  std::variant<std::monostate, word_map, table> it_;
  /// Whether one operation may wait for a disk: Python's other threads run meanwhile.
  bool may_wait_ = false;
};

template <class Run>
auto pool::using_pool(Run&& run) {
  use open(*this);
  without_gil others;
  return run();
}

template <class Run>
void pool::require(Run&& run) {
  if (status s = using_pool(run); s != status::ok) raise(s);
}

}  // namespace durahash::python
