// A baseline under exploration: the same source on a medium that records.
#pragma once

#include <memory>
#include <unordered_map>

#include "bench/baselines/design.hpp"
#include "explorer/explorer.hpp"
#include "media/recording_medium.hpp"

namespace durahash::crash {

/// What the explorer asks of a table, told to any baseline.
class baseline_calls : public subject {
 public:
  explicit baseline_calls(baselines::table& of) : table_(of) {}

  void perform(call& c) override {
    switch (c.what.what) {
      case act::scan: return perform_scan(c);
      case act::reserve:
      case act::compact:
      case act::sync:
      case act::reopen: return;  // a baseline has none; the runner opens it again
      default:
        for (key_call& part : c.parts) perform_one(part);
    }
  }
  bool holds(key_number key, const present_value& value) override {
    std::uint64_t found = 0;
    bool present = table_.get(key_of(key), found) == status::ok;
    return value ? present && found == *value : !present;
  }
  bool identify(key_number key, const std::vector<present_value>& candidates,
                present_value& found) override {
    for (const present_value& candidate : candidates)
      if (holds(key, candidate)) return found = candidate, true;
    return false;
  }
  bool scan(std::vector<std::string>& keys) override {
    table_.scan([&](std::uint64_t key, std::uint64_t) { keys.push_back(std::to_string(key)); });
    return true;
  }
  std::string key_text(key_number key) const override { return std::to_string(key_of(key)); }
  std::uint64_t size() override { return table_.size(); }
  std::uint64_t unaccounted_bytes() override { return 0; }  // space.hpp: nothing leaks
  check_report check() override { return table_.check(); }

 private:
  /// The explorer's own, where the paper's table takes it.
  std::uint64_t key_of(key_number n) const {
    return table_.takes(word_key(n)) ? word_key(n) : word_key(static_cast<key_number>(n + 1000));
  }

  void perform_one(key_call& c) {
    std::uint64_t key = key_of(c.key), present = 0;
    switch (c.what) {
      case act::put:
      case act::put_many: c.ok = table_.put(key, c.argument) == status::ok; break;
      case act::insert: c.ok = table_.insert(key, c.argument) == status::ok; break;
      case act::update: c.ok = table_.update(key, c.argument) == status::ok; break;
      case act::erase:
      case act::erase_many: c.ok = table_.erase(key) == status::ok; break;
      case act::exchange:
        c.ok = table_.get(key, present) == status::ok && present == c.expected &&
               table_.update(key, c.argument) == status::ok;
        break;
      case act::add:
        (void)table_.get(key, present);  // absent: 0
        c.read = present;
        c.ok = table_.put(key, present + c.argument) == status::ok;
        break;
      default:
        c.ok = table_.get(key, present) == status::ok;
        if (c.ok) c.read = present;
    }
  }
  void perform_scan(call& c) {
    std::unordered_map<std::uint64_t, key_call*> parts;
    for (key_call& part : c.parts) parts.emplace(key_of(part.key), &part);
    table_.scan([&](std::uint64_t key, std::uint64_t value) {
      auto found = parts.find(key);
      if (found == parts.end()) return void(c.fault = "a scan visits a key that nobody has put");
      if (found->second->ok) c.fault = "a scan visits a key twice";
      found->second->ok = true;
      found->second->read = value;
    });
  }

  baselines::table& table_;
};

template <template <class> class D>
class baseline_subject final : public baseline_calls {
  using medium_type = recording_medium<false>;

 public:
  baseline_subject(region& r, tracer& t, std::uint32_t mended)
      : baseline_calls(hosted_),
        memory_(r.map([&t](std::uint64_t length) { t.length(length); })),
        medium_(t),
        hosted_(*memory_, medium_, 1, mended) {}
  bool create(std::uint64_t capacity) { return hosted_.create(capacity); }
  error recover() { return hosted_.recover(); }

 private:
  std::unique_ptr<mapping> memory_;
  medium_type medium_;
  baselines::hosted<D, medium_type> hosted_;
};

/// Tables of so many slots to begin with, of which those holes are mended.
template <template <class> class D>
maker making(std::uint64_t capacity, std::uint32_t mended) {
  return [=](const subject_kind&, region& r, tracer& t, bool create,
             std::string& why_not) -> std::unique_ptr<subject> {
    auto made = std::make_unique<baseline_subject<D>>(r, t, mended);
    if (create && !made->create(capacity)) why_not = "no room";
    if (error e = create ? error{status::ok, {}} : made->recover(); e.code != status::ok)
      why_not = e.message;
    if (!why_not.empty()) return nullptr;
    return made;
  };
}

}  // namespace durahash::crash
