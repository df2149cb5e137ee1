// What the tests of the engines have in common: numbers as keys and values of either kind, and a
// model to compare with.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <string>

#include "test/engine/instances.hpp"

namespace durahash::test {

/// A number as a key, or as a short value. Strings have 16 bytes, as the paper's keys (§4.1), or as
/// many as the keys in slots have.
template <class Kind>
auto item(std::uint64_t n) {
  if constexpr (Kind::in_slot) {
    return n;
  } else if constexpr (Kind::fixed_key) {
    fmt::memory_buffer text;
    fmt::format_to(std::back_inserter(text), "{:0{}x}", n,
                   std::min<std::size_t>(Kind::key_bytes, 16));
    while (text.size() < Kind::key_bytes)
      fmt::format_to(std::back_inserter(text), "{:08x}", n * text.size());
    return fmt::to_string(text);
  } else {
    return fmt::format("{:016x}", n);
  }
}
/// A number as a value. Strings have up to 200 bytes more than keys.
template <class Kind>
auto value_of(std::uint64_t n) {
  if constexpr (Kind::in_slot) return n;
  else return item<Kind>(n) + std::string(n % 201, '.');
}

template <class M, class Kind, class Engine>
status put(rig<M, Kind, Engine>& r, std::uint64_t key, std::uint64_t value) {
  return r.put(item<Kind>(key), value_of<Kind>(value));
}
template <class M, class Kind, class Engine>
status put_short(rig<M, Kind, Engine>& r, std::uint64_t key, std::uint64_t value = 1) {
  return r.put(item<Kind>(key), item<Kind>(value));
}
template <class M, class Kind, class Engine>
status erase(rig<M, Kind, Engine>& r, std::uint64_t key) {
  return r.erase(item<Kind>(key));
}
/// The number; of a value that nobody wrote, 2^64-1.
template <class M, class Kind, class Engine>
std::optional<std::uint64_t> get(rig<M, Kind, Engine>& r, std::uint64_t key) {
  auto found = r.get(item<Kind>(key));
  if constexpr (Kind::in_slot) {
    return found;
  } else {
    if (!found) return std::nullopt;
    std::uint64_t number = ~std::uint64_t{0};
    std::from_chars(found->data(), found->data() + std::min<std::size_t>(found->size(), 16), number,
                    16);
    return number;
  }
}

template <class Kind, class Engine, class M>
std::uint64_t hash_of(const rig<M, Kind, Engine>& r, std::uint64_t key) {
  return Kind::hash(item<Kind>(key), seeds_of(r.p->block()));
}
/// What a slot's key word holds.
template <class Kind, class Engine, class M>
std::uint64_t key_word_of(const rig<M, Kind, Engine>& r, std::uint64_t key) {
  return Kind::key_word(item<Kind>(key), hash_of(r, key));
}

/// Keys as good as random: SplitMix64.
constexpr std::uint64_t random_key(std::uint64_t n) {
  std::uint64_t key = (n + 1) * 0x9e3779b97f4a7c15;
  key = (key ^ key >> 30) * 0xbf58476d1ce4e5b9;
  key = (key ^ key >> 27) * 0x94d049bb133111eb;
  return key ^ key >> 31;
}

template <class Rig>
std::map<std::string, double> figures(Rig& r) {
  table_stats stats;
  r.t->describe(stats);
  return {stats.figures.begin(), stats.figures.end()};
}

using model = std::map<std::uint64_t, std::uint64_t>;

/// The first disagreement, or nothing.
template <class Rig>
std::string difference(Rig& r, const model& wanted) {
  if (r.t->size() != wanted.size())
    return "it has " + std::to_string(r.t->size()) + " records, not " +
           std::to_string(wanted.size());
  for (auto [key, value] : wanted)
    if (get(r, key) != value) return "key " + std::to_string(key) + " is lost or stale";
  check_report report;
  r.t->check(report);
  return report.ok ? "" : report.violations.front();
}

/// Calls body(Kind) for words and for byte strings.
template <class Body>
void with_both_kinds(Body body) {
  {
    SCOPED_TRACE("words");
    body(word_records());
  }
  SCOPED_TRACE("byte strings");
  body(byte_records());
}

}  // namespace durahash::test
