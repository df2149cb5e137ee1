// An open pool as Python holds it: closed at any moment by any thread, and forked.
#pragma once

#include <atomic>
#include <durahash/map.hpp>
#include <durahash/table.hpp>
#include <mutex>
#include <optional>
#include <variant>

#include "column.hpp"

namespace durahash::python {

using word_map = map<std::uint64_t, std::uint64_t>;

/// Which operations a write may be: as map and table have them.
enum class write_kind { put, insert, update };

/// Lets other Python threads run where `when` holds, until the end of the scope.
class without_gil {
 public:
  explicit without_gil(bool when = true) {
    if (when) release_.emplace();
  }

 private:
  std::optional<nb::gil_scoped_release> release_;
};

/// Threads: every member may be called from any thread that is attached to Python. No code of
/// Python's runs while a use of the pool lasts, so that none can close it from within.
class pool {
 public:
  pool(nb::handle path, nb::dict how, nb::handle key, nb::handle value);
  ~pool();
  pool(const pool&) = delete;
  pool& operator=(const pool&) = delete;

  // ---- one record; what sets Python's error and returns null or -1 is called by Python itself
  PyObject* subscript(PyObject* key) noexcept;
  int assign(PyObject* key, PyObject* value) noexcept;  // a null value erases
  int contains(PyObject* key) noexcept;
  Py_ssize_t length() noexcept;
  nb::object get(nb::handle key, nb::handle otherwise);
  std::optional<std::uint64_t> write(write_kind kind, nb::handle key, nb::handle value, bool wait,
                                     bool& done);
  bool erase(nb::handle key);
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
  bool is_closed() const noexcept { return closing_.load(); }
  bool is_forked() const noexcept;
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

 private:
  friend class use;
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
  unsigned generation_;  ///< of processes: one more in each child
  std::atomic<bool> closing_{false};
  std::atomic<std::int64_t> users_{0};
  std::mutex closed_by_one_;
};

/// The pool is open, and stays so as long as this lives. Throws where it is closed, or forked; so
/// it is made by a thread that is attached to Python.
class use {
 public:
  explicit use(pool& p);
  ~use() { pool_.users_.fetch_sub(1); }
  use(const use&) = delete;
  use& operator=(const use&) = delete;

 private:
  pool& pool_;
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

/// Counts the processes that this one is a fork of; called once.
void count_generations();

/// At the interpreter's end, by the thread that ends it: before it closes the tables, and behind
/// that. A thread that Python does not wait for, and that wants a table then, goes no further once
/// Python is being taken down: on its way back it would be ended in the middle of this code.
void interpreter_ends(bool tables_are_closed);

}  // namespace durahash::python
