// An engine on a pool that is only looked at, behind a virtual line of its own: on one medium, and
// apart from what tables call. Only bind.hpp includes this.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "engine/concept.hpp"
#include "persist/pool.hpp"
#include "store/inspected_table.hpp"
#include "store/key_length.hpp"
#include "store/opening.hpp"

namespace durahash {

template <class E, medium M>
class inspected_on final : public inspected_table {
 public:
  explicit inspected_on(std::unique_ptr<pool<M>> p) : pool_(std::move(p)), engine_(*pool_) {}
  error open(const std::string& path) { return engine_.open(path, nullptr); }

  void each_part(part_visitor& v) override { engine_.each_part(v); }
  bool takes_key(std::string_view key) override {
    return durahash::takes_key(engine_, pool_->block(), key);
  }
  void each_candidate(std::string_view key, part_visitor& v) override {
    engine_.each_candidate(key_of(key), v);
  }
  bool holds(std::string_view key) override {
    return engine_.get(key_of(key), [](auto) {}) == status::ok;
  }

 private:
  static typename E::kind::key_type key_of(std::string_view key) {
    if constexpr (E::kind::in_slot) {
      std::uint64_t word;
      std::memcpy(&word, key.data(), sizeof word);
      return word;
    } else {
      return key;
    }
  }

  std::unique_ptr<pool<M>> pool_;
  E engine_;
};

}  // namespace durahash
