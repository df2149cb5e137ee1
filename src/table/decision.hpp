// One body serves every write: the engine finds the key, asks what to do with it, and does that.
#pragma once

#include <cstdint>
#include <optional>

#include "durahash/status.hpp"

namespace durahash {

/// What a write wants, having seen the present value.
template <class Value>
struct decision {
  enum class what : std::uint8_t { keep, set, remove } act;
  status answer;  // of the operation, if `act` succeeds
  Value value{};  // for set

  static decision keep(status answer) { return {what::keep, answer, {}}; }
  static decision set(Value value) { return {what::set, status::ok, value}; }
  static decision remove() { return {what::remove, status::ok, {}}; }
};

/// A decider: called at most a few times, under the engine's lock, with the present value or nothing.
template <class D, class Value>
concept decider = requires(D& d, const std::optional<Value>& present) {
  { d(present) } -> std::same_as<decision<Value>>;
};

}  // namespace durahash
