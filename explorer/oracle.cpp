#include "explorer/oracle.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace durahash::crash {
namespace {

constexpr std::uint64_t never = ~std::uint64_t{0};

/// The state after a call, or nothing when a call that returned cannot have answered so.
bool apply(const key_call& c, bool returned, present_value& state) {
  bool ok = true;
  present_value read = state;
  switch (c.what) {
    case act::put:
    case act::put_many: state = c.argument; break;
    case act::insert:
      ok = !state;
      if (ok) state = c.argument;
      break;
    case act::update:
      ok = state.has_value();
      if (ok) state = c.argument;
      break;
    case act::erase:
    case act::erase_many:
      ok = state.has_value();
      state.reset();
      break;
    case act::exchange:
      ok = state == c.expected;
      if (ok) state = c.argument;
      break;
    case act::add: state = state.value_or(0) + c.argument; break;
    case act::get:
    case act::get_many: ok = state.has_value(); break;
    default: check(false, "a call of a key");
  }
  if (!returned) return true;
  bool told = c.what == act::get || c.what == act::get_many || c.what == act::add ||
              (c.what == act::erase && c.read);  // it was taken
  if (c.what == act::add) read = read.value_or(0);
  return ok == c.ok && (!told || read == c.read);
}

/// Sums of these tell sets apart, and none of the values that programs write from nothing.
std::uint64_t hash_of(const present_value& v) {
  if (!v) return 0x2545f4914f6cdd1du;
  std::uint64_t made = (*v ^ 0x5bd1e9955bd1e995u) * 0x9e3779b97f4a7c15u;
  made = (made ^ made >> 32) * 0xff51afd7ed558ccdu;
  return made ^ made >> 29;
}

}  // namespace

oracle::oracle(std::vector<present_value> before)
    : before_(std::move(before)), steps_(before_.size()), allowed_(before_.size()) {
  for (std::size_t k = 0; k < before_.size(); ++k) allowed_[k] = {before_[k]};
}

void oracle::begin(const call& c) {
  ++now_;
  for (const key_call& part : c.parts) {
    steps_[part.key].push_back({&part, now_, never, never});
    explain(part.key);
  }
}

void oracle::end(const call& c) {
  ++now_;
  for (const key_call& part : c.parts) {
    std::vector<step>& steps = steps_[part.key];
    auto mine =
        std::find_if(steps.begin(), steps.end(), [&](const step& s) { return s.call == &part; });
    mine->ended = now_;
    explain(part.key);
    // With nothing under way the past is settled: one value, and no more to explain.
    bool settled =
        allowed_[part.key].size() == 1 &&
        std::all_of(steps.begin(), steps.end(), [](const step& s) { return s.ended != never; });
    if (settled) before_[part.key] = allowed_[part.key].front(), steps.clear();
  }
}

void oracle::kill() {
  ++now_;
  for (std::vector<step>& steps : steps_)
    for (step& s : steps)
      if (s.ended == never && s.died == never) s.died = now_;
}

void oracle::explain(key_number key) {
  std::vector<present_value> found;
  search(steps_[key], 0, before_[key], found);
  allowed_[key] = std::move(found);
}

/// `done`: the calls that took effect or never will, one bit each.
void oracle::search(const std::vector<step>& steps, std::uint64_t done, present_value state,
                    std::vector<present_value>& found) const {
  check(steps.size() <= 64, "few calls of one key are under way");
  bool may_end = true;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if ((done >> i & 1) != 0) continue;
    const step& s = steps[i];
    if (s.ended != never) may_end = false;
    bool first = true;  // nothing that must come before it is left
    std::uint64_t after = done | std::uint64_t{1} << i;
    for (std::size_t j = 0; j < steps.size(); ++j) {
      if ((done >> j & 1) != 0 || j == i) continue;
      if (steps[j].ended < s.began) first = false;
      // it did not come before, so it never came
      if (steps[j].died < s.began) after |= std::uint64_t{1} << j;
    }
    if (!first) continue;
    present_value next = state;
    if (apply(*s.call, s.ended != never, next)) search(steps, after, next, found);
  }
  if (may_end && std::find(found.begin(), found.end(), state) == found.end())
    found.push_back(state);
}

std::uint64_t oracle::hash() const {
  std::uint64_t made = 0;
  for (std::size_t k = 0; k < allowed_.size(); ++k) {
    std::uint64_t of_key = 0;
    for (const present_value& v : allowed_[k]) of_key += hash_of(v);
    made = (made ^ of_key) * 0xff51afd7ed558ccdu + k;
    made ^= made >> 29;
  }
  return made;
}

}  // namespace durahash::crash
