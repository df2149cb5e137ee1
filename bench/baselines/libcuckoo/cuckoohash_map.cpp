// A yardstick in DRAM that writes and reads from many threads: libcuckoo, which Level's figure 16
// compares with. Built where cmake finds its headers (Debian: libcuckoo-dev).
#include <libcuckoo/cuckoohash_map.hh>

#include "base/hash.hpp"
#include "bench/baselines/descriptions.hpp"

namespace durahash::baselines {
namespace {

struct seeded_hash {
  hash_seeds seeds;
  std::size_t operator()(std::uint64_t key) const noexcept { return word_hash(key, seeds); }
};

class libcuckoo_table final : public table {
 public:
  explicit libcuckoo_table(const request& wanted)
      : map_(wanted.capacity, seeded_hash{{wanted.seed, 0x9e3779b97f4a7c15u * wanted.seed | 1}}) {}

  bool takes(std::uint64_t) const override { return true; }
  status insert(std::uint64_t key, std::uint64_t value) override {
    return map_.insert(key, value) ? status::ok : status::exists;
  }
  status update(std::uint64_t key, std::uint64_t value) override {
    return map_.update(key, value) ? status::ok : status::not_found;
  }
  status put(std::uint64_t key, std::uint64_t value) override {
    return map_.insert_or_assign(key, value), status::ok;
  }
  status get(std::uint64_t key, std::uint64_t& value) override {
    return map_.find(key, value) ? status::ok : status::not_found;
  }
  status erase(std::uint64_t key) override {
    return map_.erase(key) ? status::ok : status::not_found;
  }
  void scan(const visitor& visit) override {
    for (const auto& [key, value] : map_.lock_table()) visit(key, value);
  }
  std::uint64_t size() const override { return map_.size(); }
  std::uint64_t slots() const override { return map_.capacity(); }
  /// A bucket has four records, and for each a byte of the hash and one that says whether it is
  /// there.
  std::uint64_t bytes() const override { return map_.bucket_count() * (4 * 18); }
  error recover() override { return {status::unusable, "a table in DRAM does not survive"}; }
  check_report check() override { return {true, map_.size(), {}}; }
  media_counts counts() const override { return {}; }
  std::vector<std::pair<std::string, double>> figures() const override {
    return {{"grows", 0}, {"records_moved", 0}, {"displacements", 0}};  // not known
  }

 private:
  libcuckoo::cuckoohash_map<std::uint64_t, std::uint64_t, seeded_hash> map_;
};

result<std::unique_ptr<table>> make(const request& wanted) {
  if (error refused = refusal_of_dram(wanted); refused.code != status::ok) return refused;
  return std::unique_ptr<table>(std::make_unique<libcuckoo_table>(wanted));
}

}  // namespace

baseline libcuckoo_baseline() {
  return {"dram-libcuckoo",
          "libcuckoo (DRAM)",
          "libcuckoo (EuroSys'14); Level figure 16",
          "none; a yardstick: nothing of it is durable, and a medium is ignored",
          false,
          "made twice as large by the library when no path of displacements is found",
          "none",
          {},
          make};
}

}  // namespace durahash::baselines
