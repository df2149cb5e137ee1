// Runs of operations in which a table of the engine level does all that it can do with a record:
// two levels and three, growing and shrinking. And which operation moves which record.
#pragma once

#include <algorithm>
#include <set>
#include <string>

#include "test/engine/level_image.hpp"
#include "test/engine/level_rig.hpp"

namespace durahash::test {

/// What a record's value is, as long as nobody says otherwise.
constexpr std::uint64_t value_for(std::uint64_t key) { return 3 * key + 1; }

struct operation {
  bool erases;
  std::uint64_t key;
};
template <class Rig>
void perform(Rig& r, operation o) {
  ASSERT_EQ(o.erases ? erase(r, o.key) : put(r, o.key, value_for(o.key)), status::ok);
}

/// Records come and nearly all of them go, one at a time; then others come and go for a while, here
/// and there, so that the table shrinks; then as many come once more.
inline std::vector<operation> there_and_back() {
  constexpr std::uint64_t records = 60, stay = 4, passing = 2000;
  std::vector<operation> script;
  for (std::uint64_t n = 0; n < records; ++n) script.push_back({false, random_key(n)});
  for (std::uint64_t n = stay; n < records; ++n) script.push_back({true, random_key(n)});
  for (std::uint64_t n = records; n < records + passing; ++n) {
    script.push_back({false, random_key(n)});
    script.push_back({true, random_key(n)});
  }
  for (std::uint64_t n = 0; n < records; ++n)
    script.push_back({false, random_key(records + passing + n)});
  return script;
}

/// What a table holds after the first operations of a script.
inline model records_after(const std::vector<operation>& script, std::size_t operations) {
  model held;
  for (std::size_t n = 0; n < operations; ++n) {
    if (script[n].erases) held.erase(script[n].key);
    else held[script[n].key] = value_for(script[n].key);
  }
  return held;
}

/// An operation that moves another record.
struct level_move {
  std::size_t operation;
  std::uint64_t key;
  std::string kind;  // "3 levels: 2.0 -> 0.0"
};

/// All of a script.
template <class Kind>
std::vector<level_move> moves_of(const options& how, const std::vector<operation>& script) {
  auto r = make_level<probing_medium, Kind>(how);
  std::map<std::uint64_t, std::uint64_t> keys;  // by key word
  for (operation o : script) keys[key_word_of(*r, o.key)] = o.key;

  std::vector<level_move> found;
  level_image before(r->p->at(0), r->p->end());
  for (std::size_t n = 0; n < script.size(); ++n) {
    perform(*r, script[n]);
    level_image after(r->p->at(0), r->p->end());
    std::map<std::uint64_t, level_item> were;
    for (const level_item& i : before.items) were[i.key_word] = i;
    for (const level_item& now : after.items) {
      auto was = were.find(now.key_word);
      if (was == were.end() || keys[now.key_word] == script[n].key) continue;
      if (was->second.level_log2 == now.level_log2 && was->second.bucket == now.bucket) continue;
      auto place = [&](const level_item& i) {
        auto level = std::find(before.levels.rbegin(), before.levels.rend(), i.level_log2) -
                     before.levels.rbegin();
        bool first = hash_of(*r, keys[i.key_word]) >> (64 - i.level_log2) == i.bucket;
        return (level == std::ssize(before.levels) ? "new" : std::to_string(level)) +
               (first ? ".0" : ".1");
      };
      found.push_back({n, keys[now.key_word],
                       std::to_string(before.levels.size()) +
                           (before.drains_top ? " levels, shrinking: " : " levels: ") +
                           place(was->second) + " -> " + place(now)});
    }
    before = std::move(after);
  }
  return found;
}

/// The first few of each kind.
inline std::vector<level_move> some_of_each_kind(const std::vector<level_move>& moves, int most) {
  std::vector<level_move> chosen;
  std::map<std::string, int> seen;
  for (const level_move& m : moves)
    if (++seen[m.kind] <= most) chosen.push_back(m);
  return chosen;
}

}  // namespace durahash::test
