// A yardstick in DRAM that is as fast as they come: Boost's concurrent_flat_map, of 1.83 or later.
// Built where cmake finds one, or with -DDURAHASH_BOOST=FOLDER: headers are enough.
#include <atomic>
#include <boost/unordered/concurrent_flat_map.hpp>

#include "base/hash.hpp"
#include "bench/baselines/descriptions.hpp"

namespace durahash::baselines {
namespace {

struct seeded_hash {
  using is_avalanching = void;  // its bits are mixed already
  hash_seeds seeds;
  std::size_t operator()(std::uint64_t key) const noexcept { return word_hash(key, seeds); }
};

class concurrent_flat_map_table final : public table {
 public:
  explicit concurrent_flat_map_table(const request& wanted)
      : map_(wanted.capacity, seeded_hash{{wanted.seed, 0x9e3779b97f4a7c15u * wanted.seed | 1}}) {}

  bool takes(std::uint64_t) const override { return true; }
  status insert(std::uint64_t key, std::uint64_t value) override {
    return map_.emplace(key, value) ? status::ok : status::exists;
  }
  status update(std::uint64_t key, std::uint64_t value) override {
    return map_.visit(key, [&](auto& record) { record.second = value; }) != 0 ? status::ok
                                                                              : status::not_found;
  }
  status put(std::uint64_t key, std::uint64_t value) override {
    return map_.insert_or_assign(key, value), status::ok;
  }
  status get(std::uint64_t key, std::uint64_t& value) override {
    return map_.cvisit(key, [&](const auto& record) { value = record.second; }) != 0
               ? status::ok
               : status::not_found;
  }
  status erase(std::uint64_t key) override {
    return map_.erase(key) != 0 ? status::ok : status::not_found;
  }
  void scan(const visitor& visit) override {
    map_.cvisit_all([&](const auto& record) { visit(record.first, record.second); });
  }
  std::uint64_t size() const override { return map_.size(); }
  std::uint64_t slots() const override { return map_.bucket_count(); }
  /// A slot is a record and a byte of its group's meta data; groups have 15 slots.
  std::uint64_t bytes() const override { return map_.bucket_count() * 16 * 17 / 16; }
  error recover() override { return {status::unusable, "a table in DRAM does not survive"}; }
  check_report check() override { return {true, map_.size(), {}}; }
  media_counts counts() const override { return {}; }
  std::vector<std::pair<std::string, double>> figures() const override {
    return {{"grows", 0}, {"records_moved", 0}, {"displacements", 0}};  // not known
  }

 private:
  boost::concurrent_flat_map<std::uint64_t, std::uint64_t, seeded_hash> map_;
};

result<std::unique_ptr<table>> make(const request& wanted) {
  if (error refused = refusal_of_dram(wanted); refused.code != status::ok) return refused;
  return std::unique_ptr<table>(std::make_unique<concurrent_flat_map_table>(wanted));
}

}  // namespace

baseline concurrent_flat_map_baseline() {
  return {"dram-concurrent-flat-map",
          "boost::concurrent_flat_map (DRAM)",
          "Boost, 1.83 or later",
          "none; a yardstick: nothing of it is durable, and a medium is ignored",
          false,
          "rehashed by the library at a load factor of 0.875",
          "none",
          {},
          make};
}

}  // namespace durahash::baselines
