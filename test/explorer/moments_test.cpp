// Salvage is held against what was promised, and what it keeps against what comes later.
#include "explorer/moments.hpp"

#include <gtest/gtest.h>

#include "explorer/exploring.hpp"
#include "persist/format.hpp"

namespace durahash::crash {
namespace {

program some_puts() {
  program made{{}, 12};
  for (key_number k = 0; k < made.keys; ++k) made.operations.push_back({act::put, {k}, 1u + k});
  for (key_number k = 0; k < made.keys; ++k) made.operations.push_back({act::update, {k}, 21u + k});
  return made;
}

bool is_distrusted(region& r) {
  auto block = read_superblock(r.base(), r.length(), false, "");
  auto root = block ? read_root(r.base(), r.length(), *block, "") : block.failure();
  return root && root->boot_id != this_boot();
}

/// Tables that were salvaged, wrapped in a W.
template <class W>
findings salvage_with(machine stops, std::uint64_t& salvages, std::size_t images = 3) {
  solo alone;
  turns::install(&alone);
  subject_kind kind = usual_kind();
  if (stops == machine::eadr) kind.level = durability_level::process;
  maker make = [&, wrap = wrapping<W>()](const subject_kind& k, region& r, tracer& t, bool create,
                                         std::string& why_not) mutable -> std::unique_ptr<subject> {
    bool salvaged = !create && is_distrusted(r);
    salvages += salvaged;
    if (salvaged) return wrap(k, r, t, create, why_not);
    return explored_engines().front().make(k, r, t, create, why_not);
  };
  plan how = short_plan();
  how.stops = stops;
  std::mt19937_64 random(7);
  findings found = explore_moments(kind, make, how, some_puts(), images, "", random);
  turns::install(nullptr);
  return found;
}

TEST(CrashMoments, WhatSalvageKeepsStaysThroughCrashesOfTheSalvage) {
  for (machine stops : {machine::adr, machine::eadr}) {
    std::uint64_t salvages = 0;
    findings found = salvage_with<wrapped>(stops, salvages, 9);
    EXPECT_EQ(first_of(found), "");
    EXPECT_GT(found.cuts, 9u * 10);
    EXPECT_GT(salvages, 9u * 3) << "of those that were killed, again";
    EXPECT_EQ(found.unique_images, found.recoveries + found.pruned);
  }
}

struct forgets_a_record : wrapped {
  forgets_a_record(std::unique_ptr<subject> inner, made_in where)
      : wrapped(std::move(inner), where) {
    for (key_number k = 0; k < 12; ++k) {
      call c{{act::erase, {k}, 0}, 0, {key_call{act::erase, k}}};
      wrapped::perform(c);
      if (c.parts.front().ok) return;
    }
  }
};
struct keeps_what_never_was : wrapped {
  keeps_what_never_was(std::unique_ptr<subject> inner, made_in where)
      : wrapped(std::move(inner), where) {
    call c{{act::put, {3}, 9}, 0, {key_call{act::put, 3, value_of(3, 9, true)}}};
    wrapped::perform(c);
  }
};

TEST(CrashMoments, ASalvageThatLosesOrInventsIsFound) {
  std::uint64_t salvages = 0;
  auto what = [&](const findings& found) { return first_of(found); };
  EXPECT_NE(what(salvage_with<forgets_a_record>(machine::adr, salvages))
                .find("nothing, and it was there"),
            std::string::npos);
  EXPECT_NE(what(salvage_with<keeps_what_never_was>(machine::eadr, salvages))
                .find("salvage keeps of key 3 what it never had"),
            std::string::npos);
}

}  // namespace
}  // namespace durahash::crash
