// A persistent hash table of byte strings.
#pragma once

#include <algorithm>
#include <concepts>
#include <new>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "durahash/detail/read_modify_write.hpp"
#include "durahash/handle.hpp"
#include "durahash/records.hpp"

namespace durahash {

/// A range of what a std::string_view is made of.
template <class R>
concept string_range = std::ranges::input_range<const R> &&
    std::convertible_to<std::ranges::range_reference_t<const R>, std::string_view>;

namespace detail {
template <string_range R>
std::vector<std::string_view> views_of(const R& strings) {
  std::vector<std::string_view> views;
  if constexpr (std::ranges::sized_range<const R>) views.reserve(std::ranges::size(strings));
  for (const auto& one : strings) views.emplace_back(one);
  return views;
}
}  // namespace detail

/// A hash table from bytes to bytes that is still there after `kill -9`. It opens every pool: where
/// keys or values are u64 they are the 8 bytes of the word, little-endian, and other lengths are
/// answered with invalid_argument. So are, of a pool whose keys have one length (key_bytes of the
/// engine gphash), keys of another.
///
/// Keys    any bytes, empty allowed, at most max_key_bytes.  Values: any bytes, empty allowed, at
///         most max_value_bytes.
/// Durable when an operation returns, its effect survives whatever the pool's durability level
/// names.
/// Crash   an operation that had not returned is there entirely or not at all. A value that a
///         reader was given is never undone.
/// Threads all operations from any number of threads. Readers take no lock; writers lock one shard.
class table : public handle {
 public:
  /// Opens the pool at `path`, or makes it. `path` is ignored on the medium `memory`.
  /// Returns   the table, or an error whose message says what is wrong and where.
  /// Cost      reads the superblock and the directory: milliseconds at any number of records.
  ///           After a crash the engine gphash looks at all its slots.
  static result<table> open(const std::string& path, const options& how = {});

  /// Writes a record whether or not the key is present.      Returns ok, no_space,
  ///                                                         invalid_argument, read_only.
  status put(std::string_view key, std::string_view value) {
    return impl().write(detail::write_mode::put, key, value);
  }
  /// Writes a record if the key is absent.                   Returns ok, exists, no_space,
  ///                                                         invalid_argument, read_only.
  status insert(std::string_view key, std::string_view value) {
    return impl().write(detail::write_mode::insert, key, value);
  }
  /// Writes a record if the key is present.                  Returns ok, not_found, no_space,
  ///                                                         invalid_argument, read_only.
  status update(std::string_view key, std::string_view value) {
    return impl().write(detail::write_mode::update, key, value);
  }

  /// Copies the value into `value`, whose room is reused.    Returns ok, not_found, damaged,
  ///                                                         out_of_memory.
  status get(std::string_view key, std::string& value) const;
  /// The value, or nothing. Throws std::bad_alloc where there is one, and no memory for it.
  std::optional<std::string> get(std::string_view key) const {
    std::string value;
    status found = get(key, value);
    if (found == status::out_of_memory) throw std::bad_alloc();
    return found == status::ok ? std::optional(std::move(value)) : std::nullopt;
  }
  /// Calls `read(std::string_view)` with the value where it lies; the view ends with the call, and
  /// `read` must not block or write to this table.
  template <class Read>
  status read(std::string_view key, Read&& read) const {
    detail::bytes_table& all = impl();
    cursor none;
    return ending_in_a_child(none, [&] {
      return all.get(key, [&](std::string_view value) {
        read(value);
        detail::end_in_a_child(all);
      });
    });
  }
  bool contains(std::string_view key) const {
    return impl().get(key, [](std::string_view) {}) == status::ok;
  }

  /// Removes the record.                                     Returns ok, not_found, read_only.
  ///                                                         Works in a full pool.
  status erase(std::string_view key) { return impl().erase(key); }

  /// Removes the record and gives its value, as one operation: of several threads that take a key
  /// one has it.                                             Returns ok, not_found, read_only;
  ///                                                         out_of_memory: the record stays.
  ///                                                         Works in a full pool.
  status take(std::string_view key, std::string& value);
  /// The same with the value where it lies: `read(std::string_view)` answers ok, and the record
  /// goes; or something else, which is the operation's answer, and it stays. It is called as
  /// `change` of update_with is. Until take_with returns a crash may undo what it saw.
  template <class Read>
  status take_with(std::string_view key, Read&& read) {
    return under_lock(impl(), read, [&](auto& called) { return impl().take(key, called); });
  }

  /// Writes `desired` if the present value is `expected`.    Returns ok, mismatch, not_found,
  ///                                                         no_space.
  status compare_and_set(std::string_view key, std::string_view expected,
                         std::string_view desired) {
    return impl().compare_and_set(key, expected, desired);
  }

  /// The value of the key, and where it is absent `fallback`, which is inserted. One of several
  /// threads inserts, and all get the same value.
  /// Returns   exists: it was there; ok: it was inserted; else as of insert.
  status find_or_insert(std::string_view key, std::string_view fallback, std::string& value) {
    return detail::find_or_insert(*this, key, fallback, value);
  }

  /// Puts `change(std::string_view present)`, a string or a view, in the place of the present
  /// value, as one operation: no write comes between.
  /// `change`  is called under the key's lock. It is quick, since other writers wait for it; and it
  ///           uses no pool, since it might wait for itself. Where the table has to make room it is
  ///           called once more. What it throws leaves the record as it was.
  /// Returns   ok, not_found, no_space, read_only, out_of_memory; invalid_argument where the new
  ///           value is too long.
  template <class Change>
  status update_with(std::string_view key, Change&& change) {
    std::optional<std::decay_t<std::invoke_result_t<Change&, std::string_view>>> made;
    return change_value(key, [&](std::string_view present, std::string_view& next) {
      next = made.emplace(change(present));
      return status::ok;
    });
  }

  /// Adds to an 8-byte value, modulo 2^64; an absent key counts as 0. `previous` receives the value
  /// before.
  /// Returns   ok, invalid_argument if the present value is not 8 bytes long, no_space.
  status fetch_add(std::string_view key, std::uint64_t delta, std::uint64_t& previous) {
    return impl().fetch_add(key, delta, previous);
  }

  /// Many operations at once: cache misses overlap and fences are shared, so that a batch of 64
  /// puts costs two fences and not 128. Each record is atomic by itself; within a batch they become
  /// visible in any order, later writes to one key win, and all are durable when the call returns.
  /// A put that found no space is ok where a later one to the same key is.
  /// `answers` has one entry per key. Spans of unequal lengths: nothing is done and every answer is
  /// invalid_argument.
  void get_many(std::span<const std::string_view> keys, std::span<std::string> values,
                std::span<status> answers) const;
  void put_many(std::span<const std::string_view> keys, std::span<const std::string_view> values,
                std::span<status> answers);
  void erase_many(std::span<const std::string_view> keys, std::span<status> answers);

  /// As get_many without copies: calls `read(std::size_t index, std::string_view value)` for each
  /// key that is there, in any order, with the value where it lies; see `read`.
  template <class Read>
  void read_many(std::span<const std::string_view> keys, Read&& read,
                 std::span<status> answers) const {
    if (keys.size() != answers.size())
      return void(std::fill(answers.begin(), answers.end(), status::invalid_argument));
    detail::bytes_table& all = impl();
    cursor none;
    const status done = ending_in_a_child(none, [&] {
      all.get_many(
          keys,
          [&](std::size_t i, std::string_view value) {
            read(i, value);
            detail::end_in_a_child(all);
          },
          answers.data());
      return status::ok;
    });
    if (done != status::ok) std::fill(answers.begin(), answers.end(), done);
  }

  /// The same over ranges of strings, such as std::vector<std::string>: the answers come back. Of
  /// ranges of unequal lengths nothing is put, and every answer is invalid_argument.
  template <string_range Keys, string_range Values>
  std::vector<status> put_many(const Keys& keys, const Values& values) {
    const auto k = detail::views_of(keys), v = detail::views_of(values);
    std::vector<status> answers(k.size());
    put_many(k, v, answers);
    return answers;
  }
  template <string_range Keys>
  std::vector<std::optional<std::string>> get_many(const Keys& keys) const {
    const auto k = detail::views_of(keys);
    std::vector<std::optional<std::string>> values(k.size());
    std::vector<status> answers(k.size());
    read_many(
        k, [&](std::size_t i, std::string_view value) { values[i] = value; }, answers);
    return values;
  }
  template <string_range Keys>
  std::vector<status> erase_many(const Keys& keys) {
    const auto k = detail::views_of(keys);
    std::vector<status> answers(k.size());
    erase_many(k, answers);
    return answers;
  }

  /// All records, as a range: see record_range.
  record_range<table, std::string, std::string> records(cursor from = {}) const {
    return record_range<table, std::string, std::string>(*this, from);
  }

  /// Visits about `limit` records from `at` on, and moves `at` behind them;
  /// `at.done` at the end. A record present from the first to the last call is visited exactly
  /// once, whatever happens beside it; one that comes or goes meanwhile may be visited or not.
  /// `visit(std::string_view key, std::string_view value)` may call this table and others. What a
  /// visit was given ends with it, and with a write of its own to that record. While a visitor
  /// stays, records that were replaced wait for it: the figure `bytes_held_by_readers` of stats().
  template <class Visit>
  status scan(cursor& at, std::size_t limit, Visit&& visit) const {
    detail::bytes_table& all = impl();
    return ending_in_a_child(at, [&] {
      return all.scan(at, limit, [&](std::string_view key, std::string_view value) {
        visit(key, value);
        detail::end_in_a_child(all);
      });
    });
  }
  /// All records: scan until done.
  template <class Visit>
  status for_each(Visit&& visit) const {
    cursor at;
    while (!at.done)
      if (status s = scan(at, ~std::size_t{0}, visit); s != status::ok) return s;
    return status::ok;
  }

 protected:
  /// As update_with, by a function that says what is to be done: detail::value_change.
  template <class Make>
  status change_value(std::string_view key, Make&& make) {
    return under_lock(impl(), make, [&](auto& called) { return impl().update_with(key, called); });
  }

 private:
  using handle::handle;
  detail::bytes_table& impl() const { return static_cast<detail::bytes_table&>(handle::table()); }
};

}  // namespace durahash
