// One body serves every write: the engine finds the key, asks what to do with it, and does that.
#pragma once

#include <cstdint>
#include <optional>
#include <type_traits>

#include "durahash/detail/any_table.hpp"
#include "durahash/status.hpp"

namespace durahash {

/// What a write wants, having seen the present value.
template <class Value>
struct decision {
  enum class what : std::uint8_t { keep, set, remove } act;
  status answer;  // of the operation, if `act` succeeds
  Value value{};  // for set

  static constexpr decision keep(status answer) { return {what::keep, answer, {}}; }
  static constexpr decision set(Value value) { return {what::set, status::ok, value}; }
  static constexpr decision remove() { return {what::remove, status::ok, {}}; }
};

/// A decider: called at most a few times, under the engine's lock, with the present value or
/// nothing.
template <class D, class Value>
concept decider = requires(D& d, const std::optional<Value>& present) {
  { d(present) } -> std::same_as<decision<Value>>;
};

/// Of any type, for the long way of what is rare. What it stands for must live as long as it.
template <class Value>
using any_decider = detail::function_ref<decision<Value>(const std::optional<Value>&)>;

/// What is done with a value that is found, likewise.
template <class Value>
using any_reader = detail::function_ref<void(Value)>;

/// Of put, insert and update.
template <class Value>
struct write_decider {
  using is_frequent = void;
  detail::write_mode mode;
  Value value;

  [[gnu::always_inline]] constexpr decision<Value> operator()(
      const std::optional<Value>& present) const {
    if (mode == detail::write_mode::insert && present) return decision<Value>::keep(status::exists);
    if (mode == detail::write_mode::update && !present)
      return decision<Value>::keep(status::not_found);
    return decision<Value>::set(value);
  }
};
template <class Value>
constexpr write_decider<Value> decide_write(detail::write_mode mode, Value value) {
  return {mode, value};
}

/// Of erase. It never sets: engines compile no such path for it.
template <class Value>
struct erase_decider {
  using is_frequent = void;
  using never_sets = void;
  [[gnu::always_inline]] constexpr decision<Value> operator()(
      const std::optional<Value>& present) const {
    return present ? decision<Value>::remove() : decision<Value>::keep(status::not_found);
  }
};
/// Of take: an erase that tells the value.
template <class Value>
constexpr auto decide_take(detail::value_taker<Value> read) {
  return [read](const std::optional<Value>& present) {
    const status taken = present ? read(*present) : status::not_found;
    return taken == status::ok ? decision<Value>::remove() : decision<Value>::keep(taken);
  };
}

template <class Decide>
inline constexpr bool may_set = !requires {
  typename std::remove_cvref_t<Decide>::never_sets;
};

template <class Decide>
inline constexpr bool is_frequent = requires {
  typename std::remove_cvref_t<Decide>::is_frequent;
};

template <class Value>
constexpr auto decide_exchange(Value expected, Value desired) {
  return [ expected, desired ](const std::optional<Value>& present) __attribute__((always_inline)) {
    if (!present) return decision<Value>::keep(status::not_found);
    return *present == expected ? decision<Value>::set(desired)
                                : decision<Value>::keep(status::mismatch);
  };
}

/// Of update_with: the caller makes a new value of the present one.
template <class Value>
constexpr auto decide_change(detail::value_change<Value> change) {
  return [change](const std::optional<Value>& present) {
    if (!present) return decision<Value>::keep(status::not_found);
    Value next{};
    const status made = change(*present, next);
    return made == status::ok ? decision<Value>::set(next) : decision<Value>::keep(made);
  };
}

}  // namespace durahash
