#include "demo_lookups.hpp"

#include <algorithm>
#include <chrono>

#include "failure.hpp"

namespace durahash::tool {

lookup_race::lookup_race(const table& pool, const ledger& known, std::mt19937_64& random,
                         double seconds)
    : pool_(pool), seconds_(seconds) {
  for (const file_entry* file : known.present())
    records_.push_back({file->path, known.value_of(*file)});
  std::shuffle(records_.begin(), records_.end(), random);
  for (const expected_record& record : records_) absent_.push_back(std::string(record.key) + "~");
  std::erase_if(absent_, [&](const std::string& path) { return known.knows(path); });
}

double lookup_race::present() const {
  return race([&](std::size_t i) {
    bool same = false;
    pool_.read(records_[i].key, [&](std::string_view value) { same = value == records_[i].value; });
    return same;
  });
}

double lookup_race::absent() const {
  return race([&](std::size_t i) { return !pool_.contains(absent_[i % absent_.size()]); });
}

/// Calls `right` with one index after the other, round and round, until the time is over.
template <class Step>
double lookup_race::race(Step&& right) const {
  using clock = std::chrono::steady_clock;
  if (records_.empty() || absent_.empty()) return 0;
  const auto start = clock::now();
  double seconds = 0;
  std::uint64_t done = 0;
  for (std::size_t i = 0; done % 1024 != 0 || seconds < seconds_; ++i) {
    if (i == records_.size()) i = 0;
    if (!right(i))
      throw failure(exit_not_found,
                    "a lookup of " + std::string(records_[i].key) + " got a wrong answer");
    if (++done % 1024 == 0) seconds = std::chrono::duration<double>(clock::now() - start).count();
  }
  return static_cast<double>(done) / seconds;
}

}  // namespace durahash::tool
