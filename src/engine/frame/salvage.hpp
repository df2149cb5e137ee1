// What a salvage keeps of the records that verify.
#pragma once

#include <string>
#include <vector>

#include "engine/frame/live_record.hpp"
#include "persist/heap.hpp"

namespace durahash {

/// Why a record whose bytes verify is not kept; or nothing, and the heap knows of its cell. Words
/// have none.
template <class Kind, medium M>
std::string fault_of_cell(M& m, const pool<M>& p, [[maybe_unused]] heap<M>& h,
                          const live_record& r) {
  if constexpr (!Kind::in_slot)
    if (!h.adopt(r.value_word, record_at(m, p, r.value_word)->bytes()))
      return "its bytes are another's";
  return {};
}

/// Of records in hash order: of two with one key the first, and none with bytes of another.
template <class Kind, medium M>
std::vector<record_of<Kind>> each_once(M& m, const pool<M>& p, heap<M>& h,
                                       const std::vector<record_of<Kind>>& found,
                                       std::vector<std::string>& dropped) {
  std::vector<record_of<Kind>> once;
  for (const record_of<Kind>& r : found) {
    once.push_back(r);
    const std::string why = seen_before<Kind>(m, p, once, once.size() - 1)
                                ? "its key is there twice"
                                : fault_of_cell<Kind>(m, p, h, r);
    if (why.empty()) continue;
    once.pop_back();
    dropped.push_back("dropped a record, " + why);
  }
  return once;
}

}  // namespace durahash
