// What every engine offers. The store, the tests and the explorer are written against this, so that a new engine joins by being listed.
#pragma once

#include <array>
#include <concepts>
#include <span>

#include "durahash/info.hpp"
#include "durahash/options.hpp"
#include "durahash/status.hpp"
#include "persist/pool.hpp"
#include "table/decision.hpp"
#include "table/kinds.hpp"

namespace durahash {

/// What an engine asks of a new pool.
struct engine_plan {
  setting_words settings{};         // resolved, as they go into the superblock
  std::uint64_t engine_bytes = 0;   // of its root structure
};

template <class E>
concept engine = requires(E& e, typename E::kind::key_type key, typename E::kind::value_type value, cursor& at, status* answers,
                          std::span<const typename E::kind::key_type> keys, const typename E::kind::value_type* values,
                          std::uint64_t records, const options& how, check_report& report, table_stats& stats) {
  { E::plan(how) } -> std::same_as<result<engine_plan>>;
  { e.get(key, [](typename E::kind::value_type) {}) } -> std::same_as<status>;
  { e.write(key, [](const auto&) { return decision<typename E::kind::value_type>::remove(); }) } -> std::same_as<status>;
  e.get_many(keys, [](std::size_t, typename E::kind::value_type) {}, answers);
  e.put_many(keys, values, answers);
  e.erase_many(keys, answers);
  { e.scan(at, std::size_t{}, [](auto, auto) {}) } -> std::same_as<status>;
  { e.size() } -> std::same_as<std::uint64_t>;
  { e.slots() } -> std::same_as<std::uint64_t>;
  { e.reserve(records) } -> std::same_as<status>;
  { e.compact() } -> std::same_as<status>;
  { e.sync() } -> std::same_as<status>;
  { e.close() } -> std::same_as<status>;
  e.check(report);
  e.describe(stats);
};

}  // namespace durahash
