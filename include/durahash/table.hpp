// A persistent hash table of byte strings.
#pragma once

#include <algorithm>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "durahash/handle.hpp"

namespace durahash {

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

  /// Writes `desired` if the present value is `expected`.    Returns ok, mismatch, not_found,
  ///                                                         no_space.
  status compare_and_set(std::string_view key, std::string_view expected,
                         std::string_view desired) {
    return impl().compare_and_set(key, expected, desired);
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

  /// Visits about `limit` records from `at` on, in hash order, and moves `at` behind them;
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
      if (status s = scan(at, 1024, visit); s != status::ok) return s;
    return status::ok;
  }

 private:
  using handle::handle;
  detail::bytes_table& impl() const { return static_cast<detail::bytes_table&>(handle::table()); }
};

}  // namespace durahash
