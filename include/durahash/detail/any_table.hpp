// The one virtual line: `table` and `map` above it, engine x medium x key kind, chosen once by
// open, below it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "durahash/detail/owned.hpp"
#include "durahash/info.hpp"
#include "durahash/status.hpp"

namespace durahash::detail {

enum class write_mode : std::uint8_t { put, insert, update };

/// A borrowed callable: one pointer to call, one to what it captured. Lives as long as the call it
/// is passed to.
template <class Signature>
class function_ref;

template <class R, class... Args>
class function_ref<R(Args...)> {
 public:
  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, function_ref>)
  function_ref(F&& f)
      : self_(const_cast<void*>(static_cast<const void*>(&f))),
        call_([](void* self, Args... args) -> R {
          return (*static_cast<std::remove_reference_t<F>*>(self))(static_cast<Args>(args)...);
        }) {}
  R operator()(Args... args) const { return call_(self_, static_cast<Args>(args)...); }

 private:
  void* self_;
  R (*call_)(void*, Args...);
};

/// What becomes of a value: it is put into `next`, and the answer is ok; with another answer the
/// record stays as it is, and that is the operation's.
template <class Value>
using value_change = function_ref<status(Value present, Value& next)>;

/// Has a value that is about to be removed. With another answer than ok the record stays, and that
/// is the operation's. It may be called again, with a value that came meanwhile.
template <class Value>
using value_taker = function_ref<status(Value present)>;

/// Of a table that belongs to no process in particular.
inline constexpr unsigned char every_process = 1;

class any_table {
 public:
  virtual ~any_table() = default;

  /// Whether this is the process that opened it, and not a fork of that one.
  bool opened_here() const noexcept { return *opened_by_ != 0; }
  /// Whether it may be used in children of that one, too.
  bool is_of_every_process() const noexcept { return opened_by_ == &every_process; }

  virtual pool_kinds kinds() const = 0;
  virtual pool_info info() = 0;
  virtual table_stats stats() = 0;
  virtual check_report check() = 0;
  virtual std::uint64_t size() = 0;
  virtual status reserve(std::uint64_t records) = 0;
  virtual status compact() = 0;
  virtual status sync() = 0;
  virtual error backup(const std::string& path) = 0;
  virtual status close() = 0;
  virtual const std::vector<std::string>& salvage_report() const = 0;
  virtual std::uint64_t position() { return 0; }
  virtual status wait_durable(std::uint64_t) { return status::ok; }
  virtual std::uint64_t durable() { return 0; }
  virtual status when_durable(std::uint64_t, std::function<void(status)> call) {
    return call(status::ok), status::ok;
  }
  virtual const void* log() const { return nullptr; }

 protected:
  const volatile unsigned char* opened_by_ = &every_process;  // zero in a child

 private:
  friend struct table_deleter;
  friend any_table& lasting(any_table&) noexcept;
  bool lasts_ = false;
};

/// The same table, which nobody deletes from now on.
inline any_table& lasting(any_table& t) noexcept { return t.lasts_ = true, t; }

struct table_deleter {
  void operator()(any_table* t) const noexcept {
    if (!t->lasts_) deleter_of_its_own<any_table>()(t);
  }
};
using table_owner = std::unique_ptr<any_table, table_deleter>;

class word_table : public any_table {
 public:
  using visitor = function_ref<void(std::uint64_t, std::uint64_t)>;
  virtual status get(std::uint64_t key, std::uint64_t& value) = 0;
  virtual status write(write_mode mode, std::uint64_t key, std::uint64_t value) = 0;
  virtual status erase(std::uint64_t key) = 0;
  virtual status take(std::uint64_t key, value_taker<std::uint64_t> read) = 0;
  virtual status compare_and_set(std::uint64_t key, std::uint64_t expected,
                                 std::uint64_t desired) = 0;
  virtual status fetch_add(std::uint64_t key, std::uint64_t delta, std::uint64_t& previous) = 0;
  virtual status update_with(std::uint64_t key, value_change<std::uint64_t> change) = 0;
  virtual void get_many(std::span<const std::uint64_t> keys, std::uint64_t* values,
                        status* answers) = 0;
  virtual void put_many(std::span<const std::uint64_t> keys, const std::uint64_t* values,
                        status* answers) = 0;
  virtual void erase_many(std::span<const std::uint64_t> keys, status* answers) = 0;
  virtual status scan(cursor& at, std::size_t limit, visitor visit) = 0;
};

class bytes_table : public any_table {
 public:
  using visitor = function_ref<void(std::string_view, std::string_view)>;
  using value_reader = function_ref<void(std::string_view)>;
  using indexed_reader = function_ref<void(std::size_t, std::string_view)>;
  virtual status get(std::string_view key, value_reader read) = 0;
  virtual status write(write_mode mode, std::string_view key, std::string_view value) = 0;
  virtual status erase(std::string_view key) = 0;
  virtual status take(std::string_view key, value_taker<std::string_view> read) = 0;
  virtual status compare_and_set(std::string_view key, std::string_view expected,
                                 std::string_view desired) = 0;
  virtual status fetch_add(std::string_view key, std::uint64_t delta, std::uint64_t& previous) = 0;
  virtual status update_with(std::string_view key, value_change<std::string_view> change) = 0;
  virtual void get_many(std::span<const std::string_view> keys, indexed_reader read,
                        status* answers) = 0;
  virtual void put_many(std::span<const std::string_view> keys, const std::string_view* values,
                        status* answers) = 0;
  virtual void erase_many(std::span<const std::string_view> keys, status* answers) = 0;
  virtual status scan(cursor& at, std::size_t limit, visitor visit) = 0;
};

}  // namespace durahash::detail
