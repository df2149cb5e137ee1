// What a check reaches: arrays and records that the table names, each in a cell that is in use.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "engine/frame/live_record.hpp"
#include "engine/violations.hpp"
#include "persist/heap.hpp"

namespace durahash {

template <medium M, class Kind>
class reached_parts {
 public:
  reached_parts(pool<M>& p, heap<M>& h, violations& violated, std::uint64_t& bytes) noexcept
      : p_(p), heap_(h), violated_(violated), bytes_(bytes) {}

  /// In a cell for so many bytes; name() tells what.
  template <class Name>
  void add(std::uint64_t offset, std::uint64_t bytes, Name&& name) {
    bytes_ += cell_bytes_for(bytes);
    if (!heap_.holds(offset, bytes)) violated_(name() + " is not allocated");
  }
  /// What a slot there names; where() tells where. Words have none.
  template <class Where>
  void add_record([[maybe_unused]] const live_record& r, [[maybe_unused]] Where&& where) {
    if constexpr (!Kind::in_slot)
      if (auto record = record_at(p_.medium(), p_, r.value_word))
        add(r.value_word, record->bytes(),
            [&] { return where() + ": the record at offset " + std::to_string(r.value_word); });
  }
  /// All that have one place to be in, in any order; `where` is put in front.
  template <class Record>
  void each_is_there_once(std::vector<Record>& found, const std::string& where) {
    std::sort(found.begin(), found.end(), live_record::before);
    for (std::size_t i = 0; i < found.size(); ++i)
      if (seen_before<Kind>(p_.medium(), p_, found, i))
        violated_(where + "a key lives in two slots");
  }

 private:
  pool<M>& p_;
  heap<M>& heap_;
  violations& violated_;
  std::uint64_t& bytes_;
};

}  // namespace durahash
