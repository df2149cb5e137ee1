// A yardstick in DRAM that writes and reads from many threads: libcuckoo, which Level's figure 16
// compares with. Built where cmake finds its headers (Debian: libcuckoo-dev).
#include <libcuckoo/cuckoohash_map.hh>

#include "bench/baselines/dram.hpp"

namespace durahash::baselines {
namespace {

using map = libcuckoo::cuckoohash_map<std::uint64_t, std::uint64_t, seeded_hash>;

class libcuckoo_table final : public dram_table<map> {
 public:
  using dram_table::dram_table;

  status insert(std::uint64_t key, std::uint64_t value) override {
    return map_.insert(key, value) ? status::ok : status::exists;
  }
  status update(std::uint64_t key, std::uint64_t value) override {
    return map_.update(key, value) ? status::ok : status::not_found;
  }
  status get(std::uint64_t key, std::uint64_t& value) override {
    return map_.find(key, value) ? status::ok : status::not_found;
  }
  void scan(const visitor& visit) override {
    for (const auto& [key, value] : map_.lock_table()) visit(key, value);
  }
  std::uint64_t slots() const override { return map_.capacity(); }
  /// A bucket has four records, and for each a byte of the hash and one that says whether it is
  /// there.
  std::uint64_t bytes() const override { return map_.bucket_count() * (4 * 18); }
};

}  // namespace

baseline libcuckoo_baseline() {
  return dram_baseline<libcuckoo_table>(
      "dram-libcuckoo", "libcuckoo (DRAM)", "libcuckoo (EuroSys'14); Level figure 16",
      "made twice as large by the library when no path of displacements is found");
}

}  // namespace durahash::baselines
