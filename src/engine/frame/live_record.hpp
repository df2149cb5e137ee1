// Records as iteration, rebuilding and checking see them: the two words of a slot, and the hash.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "durahash/info.hpp"
#include "engine/frame/hash_order.hpp"
#include "engine/kinds.hpp"
#include "persist/record.hpp"

namespace durahash {

struct live_record {
  std::uint64_t hash, key_word, value_word;
  static bool before(const live_record& a, const live_record& b) { return a.hash < b.hash; }
};
/// With the key, where the record in the heap lacks it. A view of the slot while nobody writes,
/// else of a copy.
struct keyed_record : live_record {
  std::string_view key;
};
template <class Kind>
using record_of = std::conditional_t<Kind::fixed_key, keyed_record, live_record>;

extern template class hash_order<live_record>;
extern template class hash_order<keyed_record>;

/// Whether the value word of a slot with the key's key word is that of the key's record.
template <class Kind, medium M>
bool names_key(M& m, const pool<M>& p, std::uint64_t value_word, typename Kind::key_type key) {
  if constexpr (Kind::in_slot) {
    return true;
  } else {
    auto record = record_at(m, p, value_word);
    return record && same_bytes(record->key, key);
  }
}

/// The value that a slot's value word stands for; nothing when no record can be there.
template <class Kind, medium M>
std::optional<typename Kind::value_type> value_of(M& m, const pool<M>& p,
                                                  std::uint64_t value_word) {
  if constexpr (Kind::in_slot) {
    return value_word;
  } else {
    auto record = record_at(m, p, value_word);
    return record ? std::optional(record->value) : std::nullopt;
  }
}

/// The value that it stands for, if the record that it names has the key; nothing also when no
/// record can be there. Inlined: for the short ways, which leave all that is odd to the long ones.
template <class Kind, medium M>
[[gnu::always_inline]] inline std::optional<typename Kind::value_type> value_for_key(
    M& m, const pool<M>& p, std::uint64_t value_word, typename Kind::key_type key) {
  if constexpr (Kind::in_slot) {
    return value_word;
  } else {
    const std::optional<record_view> record = record_at(m, p, value_word);
    if (!record || !same_bytes(record->key, key)) [[unlikely]]
      return std::nullopt;
    return record->value;
  }
}

/// What a search comes to. `torn`: a writer was faster.
enum class probed : std::uint8_t { hit, miss, torn, damaged };

/// Of a slot with the key's key word: a hit, whose value `value` is then; a miss, where the record
/// is another key's; or damaged, where none can be.
template <class Kind, medium M>
[[gnu::always_inline]] inline probed probe_slot(M& m, const pool<M>& p, std::uint64_t value_word,
                                                typename Kind::key_type key,
                                                std::optional<typename Kind::value_type>& value) {
  if constexpr (Kind::in_slot) {
    value = value_word;
  } else {
    const std::optional<record_view> record = record_at(m, p, value_word);
    if (!record) return probed::damaged;
    if (!Kind::fixed_key && record->key != key) return probed::miss;
    value = record->value;
  }
  return probed::hit;
}

/// A new value word: the value itself, or the offset of a new record, whose write-back has begun;
/// nothing when there is no space for it.
template <class Kind, medium M>
[[gnu::always_inline]] inline std::optional<std::uint64_t> new_value_word(
    [[maybe_unused]] M& m, [[maybe_unused]] heap<M>& h, [[maybe_unused]] pool<M>& p,
    [[maybe_unused]] typename Kind::key_type key, typename Kind::value_type value,
    [[maybe_unused]] flushed& started) {
  if constexpr (Kind::in_slot) {
    return value;
  } else {
    const std::uint64_t offset = write_record<Kind::fixed_key>(m, h, p, key, value, started);
    if (offset == 0) [[unlikely]]
      return std::nullopt;
    return offset;
  }
}

/// Key and value of a record in the heap; nothing when none can be where the slot says.
template <class Kind, medium M>
std::optional<record_view> key_and_value(M& m, const pool<M>& p, const record_of<Kind>& r) {
  auto record = record_at(m, p, r.value_word);
  if constexpr (Kind::fixed_key) {
    if (!record || !record->key.empty()) return std::nullopt;
    record->key = r.key;
  }
  return record;
}

template <class Kind, medium M>
bool same_key(M& m, const pool<M>& p, const record_of<Kind>& a, const record_of<Kind>& b) {
  if constexpr (Kind::in_slot) {
    return a.key_word == b.key_word;
  } else if constexpr (Kind::fixed_key) {
    return a.key == b.key;
  } else {
    auto first = record_at(m, p, a.value_word), second = record_at(m, p, b.value_word);
    return first && second && first->key == second->key;
  }
}

/// Whether a record in front of the i-th of `records`, which are in hash order, has its key.
template <class Kind, medium M>
bool seen_before(M& m, const pool<M>& p, const auto& records, std::size_t i) {
  for (std::size_t j = i; j-- > 0 && records[j].hash == records[i].hash;)
    if (same_key<Kind>(m, p, records[i], records[j])) return true;
  return false;
}

/// To where a stretch begins.
inline void move_to(cursor& at, std::uint64_t hash) noexcept {
  at.done = hash == 0;
  at.position = at.done ? ~std::uint64_t{0} : hash;
}

/// Visits what was read of a stretch of hashes, from the cursor on: at most `left` records, and
/// those that share the last one's hash, for the cursor cannot tell them apart. The cursor moves to
/// the next record, or to `end`, where the stretch ends; 0 stands for the end of all hashes.
/// `unvisited`, the first of `records` that was left for then, counts in hash order. MayRepeat: one
/// that was erased and put again elsewhere meanwhile may be among them twice.
template <class Kind, bool MayRepeat, medium M, class Visit>
status visit_stretch(M& m, const pool<M>& p, std::vector<record_of<Kind>>& records,
                     hash_order<record_of<Kind>>& order, std::uint64_t end, cursor& at,
                     std::size_t& left, Visit& visit, std::size_t& unvisited) {
  std::erase_if(records, [&](const live_record& r) { return r.hash < at.position; });
  if (MayRepeat || records.size() > left) order.sort(records);
  for (unvisited = 0; unvisited < records.size(); ++unvisited) {
    const record_of<Kind>& r = records[unvisited];
    bool new_hash = unvisited == 0 || records[unvisited - 1].hash != r.hash;
    if (new_hash && left == 0) return at.position = r.hash, status::ok;
    if (MayRepeat && seen_before<Kind>(m, p, records, unvisited)) continue;
    if constexpr (Kind::in_slot) {
      visit(r.key_word, r.value_word);
    } else {
      auto record = key_and_value<Kind>(m, p, r);
      if (!record) return status::damaged;
      visit(record->key, record->value);
    }
    if (left > 0) --left;
  }
  move_to(at, end);
  return status::ok;
}

/// What is wrong with the record in the heap that a slot names; empty if nothing is. Always empty
/// for words: they have none.
template <class Kind, medium M>
std::string fault_of(M& m, const pool<M>& p, const hash_seeds& seeds, const record_of<Kind>& r,
                     auto hash_of) {
  if constexpr (!Kind::in_slot) {
    std::string which = "the record at offset " + std::to_string(r.value_word);
    auto record = key_and_value<Kind>(m, p, r);
    if constexpr (Kind::fixed_key)
      if (hash_of(r.key, seeds) != r.hash)
        return "the key in the slot is damaged (its hash is another)";
    if (!record) return "the record offset " + std::to_string(r.value_word) + " is impossible";
    if (!is_whole(*record)) return which + " is damaged (checksum)";
    if (hash_of(record->key, seeds) != r.hash) return which + " has another key";
  }
  return {};
}

}  // namespace durahash
