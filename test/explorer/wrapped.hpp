// A table that does what it should, to be overridden where a test wants something else.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "explorer/explorer.hpp"

namespace durahash::crash {

class wrapped : public subject {
 public:
  struct made_in {
    region& memory;
    tracer& listener;
    bool created;    // and not opened after a crash or a close
    unsigned makes;  // tables made in this exploration before it
  };
  wrapped(std::unique_ptr<subject> inner, made_in where)
      : where_(where), inner_(std::move(inner)) {}

  void perform(call& c) override { inner_->perform(c); }
  bool holds(key_number key, const present_value& value) override {
    return inner_->holds(key, value);
  }
  bool identify(key_number key, const std::vector<present_value>& candidates,
                present_value& found) override {
    return inner_->identify(key, candidates, found);
  }
  bool scan(std::vector<std::string>& keys) override { return inner_->scan(keys); }
  std::string key_text(key_number key) const override { return inner_->key_text(key); }
  std::uint64_t size() override { return inner_->size(); }
  std::uint64_t unaccounted_bytes() override { return inner_->unaccounted_bytes(); }
  check_report check() override { return inner_->check(); }

 protected:
  made_in where_;
  std::unique_ptr<subject> inner_;
};

/// The first engine's tables of words at the level power.
inline subject_kind usual_kind() {
  const explored_engine& engine = explored_engines().front();
  return {engine.engine, data_kind::u64, durability_level::power, engine.variants.front().settings,
          engine.variants.front().name};
}

/// Makes those, wrapped in a W. What W's constructor does comes after the table has opened.
template <class W>
maker wrapping() {
  return [makes = 0u](const subject_kind& kind, region& r, tracer& t, bool create,
                      std::string& why_not) mutable -> std::unique_ptr<subject> {
    std::unique_ptr<subject> inner = explored_engines().front().make(kind, r, t, create, why_not);
    if (inner == nullptr) return nullptr;
    return std::make_unique<W>(std::move(inner), wrapped::made_in{r, t, create, makes++});
  };
}

}  // namespace durahash::crash
