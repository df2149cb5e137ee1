// A yardstick in DRAM that is as fast as they come: Boost's concurrent_flat_map, of 1.83 or later.
// Built where cmake finds one, or with -DDURAHASH_BOOST=FOLDER: headers are enough.
#include <atomic>
#include <boost/unordered/concurrent_flat_map.hpp>

#include "bench/baselines/dram.hpp"

namespace durahash::baselines {
namespace {

using map = boost::concurrent_flat_map<std::uint64_t, std::uint64_t, seeded_hash>;

class concurrent_flat_map_table final : public dram_table<map> {
 public:
  using dram_table::dram_table;

  status insert(std::uint64_t key, std::uint64_t value) override {
    return map_.emplace(key, value) ? status::ok : status::exists;
  }
  status update(std::uint64_t key, std::uint64_t value) override {
    return map_.visit(key, [&](auto& record) { record.second = value; }) != 0 ? status::ok
                                                                              : status::not_found;
  }
  status get(std::uint64_t key, std::uint64_t& value) override {
    return map_.cvisit(key, [&](const auto& record) { value = record.second; }) != 0
               ? status::ok
               : status::not_found;
  }
  void scan(const visitor& visit) override {
    map_.cvisit_all([&](const auto& record) { visit(record.first, record.second); });
  }
  std::uint64_t slots() const override { return map_.bucket_count(); }
  /// A slot is a record and a byte of its group's meta data; groups have 15 slots.
  std::uint64_t bytes() const override { return map_.bucket_count() * 16 * 17 / 16; }
};

}  // namespace

baseline concurrent_flat_map_baseline() {
  return dram_baseline<concurrent_flat_map_table>(
      "dram-concurrent-flat-map", "boost::concurrent_flat_map (DRAM)", "Boost, 1.83 or later",
      "rehashed by the library at a load factor of 0.875");
}

}  // namespace durahash::baselines
