// The engine linear under exploration: programs that have this object explore it.
#include "explorer/engine_subject.hpp"
#include "explorer/subjects.hpp"
#include "test/linear/table.hpp"

namespace durahash::crash {
namespace {

/// A slot is given to another key while a reader is at it, who must not take that key's value for
/// the first one's. The array has eight slots; the second key's home is the first one's, or lies
/// before it with nothing between.
threaded_program a_slot_lent() {
  auto home = [](key_number k) {
    return linear::mixed(word_hash(word_key(k), explored_seeds)) >> 61;
  };
  key_number other = 1;
  while (home(other) != home(0)) ++other;
  operation first{act::put, {0}, 100}, seek{act::get, {0}, 0}, leave{act::erase, {0}, 0},
      lend{act::insert, {other}, 1};
  return {{{first}, static_cast<key_number>(other + 1)}, {{seek}, {leave, lend}}};
}

std::vector<planted_bug> bugs() {
  const std::vector<engine_kind> linear = {linear::kind_of_linear};
  return {{"linear-a-removal-leaves-an-empty-slot", "invariant N3",
           "A removed record leaves an empty slot, where searches for records behind it end.",
           linear, ""},
          {"linear-a-group-passes-what-it-has-staged", "invariant N2",
           "A record of a group gets the slot of another one, or one behind it.", linear, ""},
          {"linear-a-removal-leaves-the-version", "invariant N6",
           "A removal does not change the version: a slot that was lent to another key fools a "
           "reader.",
           linear, "u64/power/threads"}};
}

}  // namespace

explored_engine further_subject() {
  return {linear::kind_of_linear,
          make_any<linear::table>,
          {{"",
            {{"reach", 4}},
            {},
            durability_level::power,
            0,
            {a_slot_lent()},
            {counted_and_crowded(11), counted_and_crowded(16)}}},
          {},
          bugs()};
}

}  // namespace durahash::crash
