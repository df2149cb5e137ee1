// What every engine offers. The store, the tests and the explorer are written against this, so that
// a new engine joins by being listed.
#pragma once

#include <array>
#include <concepts>
#include <span>
#include <string>
#include <vector>

#include "durahash/info.hpp"
#include "durahash/options.hpp"
#include "durahash/status.hpp"
#include "engine/frame/decision.hpp"
#include "engine/kinds.hpp"
#include "engine/structure.hpp"
#include "persist/pool.hpp"

namespace durahash {

/// What an engine asks of a new pool.
struct engine_plan {
  setting_words settings{};        // resolved, as they go into the superblock
  std::uint64_t engine_bytes = 0;  // of its root structure
  std::uint64_t incompat = 0;      // feature bits of its format
};

/// An engine on its pool: all that the store asks of one. One thread opens and closes it; `check`
/// and `compact` may be called by any, as every other operation.
template <class E>
concept engine = requires(E& e, typename E::kind::key_type key, typename E::kind::value_type value,
                          cursor& at, status* answers,
                          std::span<const typename E::kind::key_type> keys,
                          const typename E::kind::value_type* values, std::uint64_t records,
                          const options& how, const std::string& path,
                          std::vector<std::string>* dropped, check_report& report,
                          table_stats& stats, part_visitor& parts, image_copy& copy) {
  // its life
  { E::plan(how) } -> std::same_as<result<engine_plan>>;
  { e.open(path, dropped) } -> std::same_as<error>;
  { e.sync() } -> std::same_as<status>;
  { e.backup(copy) } -> std::same_as<status>;
  { e.close() } -> std::same_as<status>;
  // one record
  {
    e.get(key, [](typename E::kind::value_type) {})
    } -> std::same_as<status>;
  { e.write(key, decide_write(detail::write_mode::put, value)) } -> std::same_as<status>;
  { e.write(key, erase_decider<typename E::kind::value_type>()) } -> std::same_as<status>;
  // many
  {
    e.get_many(
        keys, [](std::size_t, typename E::kind::value_type) {}, answers)
    } -> std::same_as<void>;
  { e.put_many(keys, values, answers) } -> std::same_as<void>;
  { e.erase_many(keys, answers) } -> std::same_as<void>;
  {
    e.scan(at, std::size_t{}, [](auto, auto) {})
    } -> std::same_as<status>;
  // all
  { e.size() } -> std::same_as<std::uint64_t>;
  { e.slots() } -> std::same_as<std::uint64_t>;
  { e.reserve(records) } -> std::same_as<status>;
  { e.compact() } -> std::same_as<status>;
  // its space
  { e.live_bytes() } -> std::same_as<std::uint64_t>;
  { e.free_bytes() } -> std::same_as<std::uint64_t>;
  { e.bytes_held_by_readers() } -> std::same_as<std::uint64_t>;
  { e.may_find_space() } -> std::same_as<bool>;
  { e.await_space() } -> std::same_as<bool>;
  // what it says of itself
  { e.check(report) } -> std::same_as<void>;
  { e.describe(stats) } -> std::same_as<void>;
  { e.each_part(parts) } -> std::same_as<void>;
  { e.each_candidate(key, parts) } -> std::same_as<void>;
};

/// And the medium that it works on.
template <class E, class M>
concept engine_on = medium<M> && engine<E> && std::constructible_from < E,
        pool<M>
& > ;

}  // namespace durahash
