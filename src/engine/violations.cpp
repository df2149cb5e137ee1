#include "engine/violations.hpp"

#include <utility>

namespace durahash {

void violations::operator()(std::string what) {
  report_.ok = false;
  constexpr std::size_t most = 100;
  if (report_.violations.size() < most) report_.violations.push_back(std::move(what));
}

void violations::if_records_differ(std::uint64_t counts, std::uint64_t holds) {
  report_.records = holds;
  if (counts != holds)
    (*this)("the table counts " + std::to_string(counts) + " records, and holds " +
            std::to_string(holds));
}

void violations::if_bytes_differ(std::uint64_t in_use, std::uint64_t reachable) {
  if (in_use != reachable)
    (*this)("the heap has " + std::to_string(in_use) + " bytes in use, and " +
            std::to_string(reachable) + " are reachable");
}

std::string kept_and_dropped(std::uint64_t kept, std::size_t dropped, bool words) {
  return "kept " + std::to_string(kept) + " records, dropped " + std::to_string(dropped) +
         (words ? "; u64 records carry no checksum: what was torn inside a record or lost whole is "
                  "not noticed"
                : "");
}

}  // namespace durahash
