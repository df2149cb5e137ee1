// A pool that is only looked at, behind a virtual line of its own, apart from what tables call: an
// adapter that nobody writes to. Only bind.hpp includes this.
#pragma once

#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "store/inspected_table.hpp"
#include "store/pool_adapter.hpp"

namespace durahash {

template <class Adapter>
class inspected_on final : public inspected_table {
  using kind = typename Adapter::engine_type::kind;

 public:
  explicit inspected_on(std::unique_ptr<Adapter> table) : table_(std::move(table)) {}

  void each_part(part_visitor& v) override { table_->engine().each_part(v); }
  bool takes_key(std::string_view key) override {
    return durahash::takes_key(table_->engine(), table_->storage().block(), key);
  }
  void each_candidate(std::string_view key, part_visitor& v) override {
    table_->engine().each_candidate(key_of(key), v);
  }
  bool holds(std::string_view key) override {
    if constexpr (kind::in_slot) {
      std::uint64_t value;
      return table_->get(key_of(key), value) == status::ok;
    } else {
      return table_->get(key, [](std::string_view) {}) == status::ok;
    }
  }

 private:
  static typename kind::key_type key_of(std::string_view key) {
    if constexpr (kind::in_slot) {
      std::uint64_t word;
      std::memcpy(&word, key.data(), sizeof word);
      return word;
    } else {
      return key;
    }
  }

  std::unique_ptr<Adapter> table_;
};

}  // namespace durahash
