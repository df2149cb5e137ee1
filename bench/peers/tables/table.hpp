// A hash table as the comparison of tables sees it. A slice of operations is one call; within it
// the table's own code is inlined into a loop, as in a program that uses it.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/keys.hpp"

namespace durahash::peers {

enum class operation : std::uint8_t {
  insert,
  get,
  update,
  erase,
  half_updates,
  get_many,
  put_many
};

constexpr std::size_t batch = 64;

class any_table {
 public:
  virtual ~any_table() = default;
  virtual bool has(operation) const = 0;
  /// Once in each thread, before its first operation.
  virtual void enter() {}
  /// Does it with each key; returns how many found what they should: get and get_many a value that
  /// belongs to the key, insert no record, update and erase one. put_many says all of them.
  virtual std::uint64_t run(operation, std::span<const std::uint64_t> keys, bench::generation) = 0;
};

using words = std::span<const std::uint64_t>;

template <class T>
concept updates = requires(T t, std::uint64_t w) {
  { t.update(w, w) } -> std::same_as<bool>;
};
template <class T>
concept erases = requires(T t, std::uint64_t w) {
  { t.erase(w) } -> std::same_as<bool>;
};
template <class T>
concept takes_batches = requires(T t, words keys, std::uint64_t* values) {
  { t.get_many(keys, values) } -> std::same_as<std::uint64_t>;
  { t.put_many(keys, values) } -> std::same_as<std::uint64_t>;
};
template <class T>
concept has_threads = requires(T t) {
  t.enter();
};

/// Table has insert(key, value) and get(key, value&), and what else it offers.
template <class Table>
class looped final : public any_table {
 public:
  template <class... Made>
  explicit looped(Made&&... from) : table_(std::forward<Made>(from)...) {}

  bool has(operation what) const override {
    switch (what) {
      case operation::update: return updates<Table>;
      case operation::half_updates: return updates<Table>;
      case operation::erase: return erases<Table>;
      case operation::get_many: return takes_batches<Table>;
      case operation::put_many: return takes_batches<Table>;
      default: return true;
    }
  }

  void enter() override {
    if constexpr (has_threads<Table>) table_.enter();
  }

  std::uint64_t run(operation what, words keys, bench::generation g) override {
    switch (what) {
      case operation::insert:
        return counted(keys, [&](std::uint64_t k) { return table_.insert(k, value_of(k, g)); });
      case operation::get: return counted(keys, [&](std::uint64_t k) { return finds(k); });
      case operation::update:
        if constexpr (updates<Table>)
          return counted(keys, [&](std::uint64_t k) { return table_.update(k, value_of(k, g)); });
        break;
      case operation::half_updates:
        if constexpr (updates<Table>)
          return counted(keys, [&, n = std::uint64_t{0}](std::uint64_t k) mutable {
            return bench::mix(n++) % 2 == 0 ? table_.update(k, value_of(k, g)) : finds(k);
          });
        break;
      case operation::erase:
        if constexpr (erases<Table>)
          return counted(keys, [&](std::uint64_t k) { return table_.erase(k); });
        break;
      case operation::get_many:
        if constexpr (takes_batches<Table>)
          return in_batches(keys, [&](words some) {
            std::array<std::uint64_t, batch> values{};
            table_.get_many(some, values.data());
            std::uint64_t right = 0;
            for (std::size_t i = 0; i < some.size(); ++i) right += belongs(some[i], values[i]);
            return right;
          });
        break;
      case operation::put_many:
        if constexpr (takes_batches<Table>)
          return in_batches(keys, [&](words some) {
            std::array<std::uint64_t, batch> values;
            for (std::size_t i = 0; i < some.size(); ++i) values[i] = value_of(some[i], g);
            return table_.put_many(some, values.data());
          });
    }
    return 0;
  }

 private:
  static std::uint64_t value_of(std::uint64_t key, bench::generation g) noexcept {
    return bench::value_of(key, g);
  }
  static bool belongs(std::uint64_t key, std::uint64_t value) noexcept {
    return bench::value_belongs(key, value);
  }
  bool finds(std::uint64_t key) {
    std::uint64_t value = 0;
    return table_.get(key, value) && belongs(key, value);
  }
  template <class Do>
  static std::uint64_t counted(words keys, Do&& once) {
    std::uint64_t done = 0;
    for (std::uint64_t key : keys) done += once(key) ? 1 : 0;
    return done;
  }
  template <class Do>
  static std::uint64_t in_batches(words keys, Do&& once) {
    std::uint64_t done = 0;
    for (std::size_t i = 0; i < keys.size(); i += batch)
      done += once(keys.subspan(i, std::min(batch, keys.size() - i)));
    return done;
  }

  Table table_;
};

/// How a table is made, and whose it is.
struct entry {
  std::string name;  ///< in the JSON
  enum kind : std::uint8_t { ours, durable, volatile_yardstick, limit } is;
  std::unique_ptr<any_table> (*make)(const std::string& name);
};

/// Each source file of a peer has one of these; those that are built are in `all_tables`.
std::vector<entry> durahash_tables();
std::vector<entry> speed_of_light();
std::vector<entry> recipe_p_clht();
std::vector<entry> authors_cceh();
std::vector<entry> authors_cceh_copying();
std::vector<entry> authors_turbohash();
std::vector<entry> unordered_dense();
std::vector<entry> boost_flat_map();

std::vector<entry> all_tables();

}  // namespace durahash::peers
