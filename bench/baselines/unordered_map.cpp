// A yardstick in DRAM that is always there: the library's own.
#include <unordered_map>

#include "bench/baselines/dram.hpp"

namespace durahash::baselines {
namespace {

using map = std::unordered_map<std::uint64_t, std::uint64_t, seeded_hash>;

class unordered_map_table final : public dram_table<map> {
 public:
  using dram_table::dram_table;

  status insert(std::uint64_t key, std::uint64_t value) override {
    return map_.emplace(key, value).second ? status::ok : status::exists;
  }
  status update(std::uint64_t key, std::uint64_t value) override {
    auto found = map_.find(key);
    if (found == map_.end()) return status::not_found;
    return found->second = value, status::ok;
  }
  status get(std::uint64_t key, std::uint64_t& value) override {
    auto found = map_.find(key);
    if (found == map_.end()) return status::not_found;
    return value = found->second, status::ok;
  }
  void scan(const visitor& visit) override {
    for (auto [key, value] : map_) visit(key, value);
  }
  std::uint64_t slots() const override { return map_.bucket_count(); }
  /// Nodes of a link and a record, each in an allocation of 32 bytes, and the array of links.
  std::uint64_t bytes() const override { return map_.size() * 32 + map_.bucket_count() * 8; }
};

}  // namespace

baseline unordered_map_baseline() {
  return dram_baseline<unordered_map_table>("dram-unordered-map", "std::unordered_map (DRAM)",
                                            "the C++ library",
                                            "rehashed by the library at one record a bucket");
}

}  // namespace durahash::baselines
