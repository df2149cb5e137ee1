// An engine's settings: what it has, within which bounds, and what a new pool gets.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "durahash/options.hpp"
#include "engine/frame/refusals.hpp"
#include "persist/format.hpp"

namespace durahash {

struct setting_rule {
  const char* name;
  std::uint64_t least, most;
};

/// Puts what was asked for over `values`, which hold what is usual, in the order of the rules.
inline error resolve_settings(engine_kind engine, std::span<const setting_rule> rules,
                              const std::map<std::string, std::uint64_t>& asked,
                              std::span<std::uint64_t> values) {
  for (const auto& wanted : asked) {  // no structured binding: clang 14 captures none
    const std::string& name = wanted.first;
    const std::uint64_t value = wanted.second;
    auto rule = std::find_if(rules.begin(), rules.end(),
                             [&](const setting_rule& r) { return name == r.name; });
    if (rule == rules.end()) {
      std::string known;
      for (const setting_rule& r : rules)
        known += (known.empty() ? "" : ", ") + std::string(r.name);
      return {status::invalid_argument, "the engine " + std::string(name_of(engine)) +
                                            " has no setting named " + name + "; it has " + known};
    }
    if (value < rule->least || value > rule->most)
      return {status::invalid_argument,
              "the setting " + name + " must lie between " + std::to_string(rule->least) + " and " +
                  std::to_string(rule->most) + ", not " + std::to_string(value)};
    values[static_cast<std::size_t>(rule - rules.begin())] = value;
  }
  return {status::ok, {}};
}

/// Of a pool that there is: where a setting stands in its superblock, and what it may be.
struct setting_bounds {
  std::size_t index;
  std::uint64_t least, most;
};

inline bool settings_are_within(const superblock& block,
                                std::initializer_list<setting_bounds> bounds) noexcept {
  return std::all_of(bounds.begin(), bounds.end(), [&](const setting_bounds& b) {
    return block.settings[b.index] >= b.least && block.settings[b.index] <= b.most;
  });
}

/// Where they are not, or what the engine has in front of the heap has another size.
inline error refuse_settings(engine_kind engine, const std::string& path) {
  return cannot_use(path, "its superblock holds settings that the engine " +
                              std::string(name_of(engine)) + " does not allow");
}

}  // namespace durahash
