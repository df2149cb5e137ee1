// A yardstick in DRAM that is always there: the library's own.
#include <limits>
#include <unordered_map>

#include "base/hash.hpp"
#include "bench/baselines/descriptions.hpp"

namespace durahash::baselines {
namespace {

struct seeded_hash {
  hash_seeds seeds;
  std::size_t operator()(std::uint64_t key) const noexcept { return word_hash(key, seeds); }
};

class unordered_map_table final : public table {
 public:
  explicit unordered_map_table(const request& wanted)
      : map_(wanted.capacity, seeded_hash{{wanted.seed, 0x9e3779b97f4a7c15u * wanted.seed | 1}}) {}

  bool takes(std::uint64_t) const override { return true; }
  status insert(std::uint64_t key, std::uint64_t value) override {
    return map_.emplace(key, value).second ? status::ok : status::exists;
  }
  status update(std::uint64_t key, std::uint64_t value) override {
    auto found = map_.find(key);
    if (found == map_.end()) return status::not_found;
    return found->second = value, status::ok;
  }
  status put(std::uint64_t key, std::uint64_t value) override {
    return map_.insert_or_assign(key, value), status::ok;
  }
  status get(std::uint64_t key, std::uint64_t& value) override {
    auto found = map_.find(key);
    if (found == map_.end()) return status::not_found;
    return value = found->second, status::ok;
  }
  status erase(std::uint64_t key) override {
    return map_.erase(key) != 0 ? status::ok : status::not_found;
  }
  void scan(const visitor& visit) override {
    for (auto [key, value] : map_) visit(key, value);
  }
  std::uint64_t size() const override { return map_.size(); }
  std::uint64_t slots() const override { return map_.bucket_count(); }
  /// Nodes of a link and a record, each in an allocation of 32 bytes, and the array of links.
  std::uint64_t bytes() const override { return map_.size() * 32 + map_.bucket_count() * 8; }
  error recover() override { return {status::unusable, "a table in DRAM does not survive"}; }
  check_report check() override { return {true, map_.size(), {}}; }
  media_counts counts() const override { return {}; }
  std::vector<std::pair<std::string, double>> figures() const override {
    return {{"grows", 0}, {"records_moved", 0}, {"displacements", 0}};  // not known
  }

 private:
  std::unordered_map<std::uint64_t, std::uint64_t, seeded_hash> map_;
};

result<std::unique_ptr<table>> make(const request& wanted) {
  if (error refused = refusal_of_dram(wanted); refused.code != status::ok) return refused;
  return std::unique_ptr<table>(std::make_unique<unordered_map_table>(wanted));
}

}  // namespace

error refusal_of_dram(const request& wanted) {
  if (wanted.capacity == 0) return {status::invalid_argument, "a capacity of 0 slots"};
  if (wanted.medium != medium_kind::memory && wanted.medium != medium_kind::pmem &&
      wanted.medium != medium_kind::emulated)
    return {status::invalid_argument, "a baseline lies on the medium memory, pmem or emulated"};
  return {status::ok, {}};
}

baseline unordered_map_baseline() {
  return {"dram-unordered-map",
          "std::unordered_map (DRAM)",
          "the C++ library",
          "none; a yardstick: nothing of it is durable, and a medium is ignored",
          false,
          "rehashed by the library at one record a bucket",
          "none",
          {},
          make};
}

}  // namespace durahash::baselines
