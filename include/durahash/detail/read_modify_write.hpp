// An operation that is made of two, and is one all the same.
#pragma once

#include "durahash/status.hpp"

namespace durahash::detail {

/// get, or insert of `fallback`.
template <class Table, class Key, class Fallback, class Value>
status find_or_insert(Table& all, const Key& key, const Fallback& fallback, Value& value) {
  for (;;) {  // ends: another round means that somebody has erased the key, or put it there
    status s = all.get(key, value);
    if (s == status::ok) return status::exists;
    if (s != status::not_found) return s;
    s = all.insert(key, fallback);
    if (s == status::ok) value = Value(fallback);
    if (s != status::exists) return s;
  }
}

}  // namespace durahash::detail
