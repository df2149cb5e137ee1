// Yardsticks in DRAM: a library's map behind the baselines' interface, and what all of them say.
#pragma once

#include "base/hash.hpp"
#include "bench/baselines/descriptions.hpp"

namespace durahash::baselines {

struct seeded_hash {
  using is_avalanching = void;  // its bits are mixed already
  hash_seeds seeds;
  std::size_t operator()(std::uint64_t key) const noexcept { return word_hash(key, seeds); }
};

/// What it shares with the others: Map is of words to words, with a seeded_hash.
template <class Map>
class dram_table : public table {
 public:
  explicit dram_table(const request& wanted)
      : map_(wanted.capacity, seeded_hash{{wanted.seed, 0x9e3779b97f4a7c15u * wanted.seed | 1}}) {}

  bool takes(std::uint64_t) const override { return true; }
  status put(std::uint64_t key, std::uint64_t value) override {
    return map_.insert_or_assign(key, value), status::ok;
  }
  status erase(std::uint64_t key) override {
    return map_.erase(key) ? status::ok : status::not_found;
  }
  std::uint64_t size() const override { return map_.size(); }
  error recover() override { return {status::unusable, "a table in DRAM does not survive"}; }
  check_report check() override { return {true, map_.size(), {}}; }
  media_counts counts() const override { return {}; }
  std::vector<std::pair<std::string, double>> figures() const override {
    return {{"grows", 0}, {"records_moved", 0}, {"displacements", 0}};  // not known
  }

 protected:
  Map map_;
};

/// What it cannot do, either: of code ok where it can.
inline error refusal_of_dram(const request& wanted) {
  if (wanted.capacity == 0) return {status::invalid_argument, "a capacity of 0 slots"};
  if (wanted.medium != medium_kind::memory && wanted.medium != medium_kind::pmem &&
      wanted.medium != medium_kind::emulated)
    return {status::invalid_argument, "a baseline lies on the medium memory, pmem or emulated"};
  return {status::ok, {}};
}

template <class Table>
baseline dram_baseline(std::string_view name, std::string_view title, std::string_view from,
                       std::string_view growth) {
  return {name,
          title,
          from,
          "none; a yardstick: nothing of it is durable, and a medium is ignored",
          false,
          growth,
          "none",
          {},
          [](const request& wanted) -> result<std::unique_ptr<table>> {
            if (error refused = refusal_of_dram(wanted); refused.code != status::ok) return refused;
            return std::unique_ptr<table>(std::make_unique<Table>(wanted));
          }};
}

}  // namespace durahash::baselines
