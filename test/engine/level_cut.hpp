// Power cuts of a table of the engine level within an operation: what is left after every store and
// every fence, and what must be found in it.
#pragma once

#include <cstring>

#include "test/engine/level_script.hpp"

namespace durahash::test {

template <class Kind>
using probing_rig = level_rig<probing_medium, Kind>;
using image = std::vector<std::byte>;

template <class Rig>
image everything_stored(Rig& r) {
  return {r.p->at(0), r.p->at(0) + r.p->memory().backed_bytes()};
}

/// Calls judge(image) for each of the images of `work`, or those at each n-th store or fence.
/// Returns how many there were.
template <class Kind, class Work, class Judge>
int cut_everywhere(probing_rig<Kind>& r, Work&& work, Judge&& judge, int each = 1) {
  image last[2];
  int images = 0, steps = 0;
  r.m->watcher = [&] {
    if (++steps % each != 0) return;
    image now[2] = {r.m->image(), everything_stored(r)};
    for (int n = 0; n < 2; ++n) {
      if (testing::Test::HasFatalFailure() || now[n] == last[n]) continue;
      SCOPED_TRACE((n == 0 ? "what was fenced, image " : "what was stored, image ") +
                   std::to_string(images));
      ++images;
      judge(now[n]);
      last[n] = std::move(now[n]);
    }
  };
  work();
  r.m->watcher = nullptr;
  return images;
}

/// What is found after a power cut is one of these two.
template <class Kind>
void expect_either(const image& left, const model& before, const model& after) {
  auto found = found_after_power_cut<probing_medium, Kind, level_engine>(left);
  ASSERT_NE(found, nullptr) << "there is no pool";
  error opened = found->t->open("image");
  ASSERT_EQ(opened.code, status::ok) << opened.message;
  std::string old = difference(*found, before);
  if (old.empty()) return;
  ASSERT_EQ(difference(*found, after), "") << "and is not what was before: " << old;
}

template <class Kind>
auto ready(const options& how, const std::vector<operation>& script, std::size_t operations) {
  auto r = make_level<probing_medium, Kind>(how);
  for (std::size_t n = 0; n < operations; ++n) perform(*r, script[n]);
  return r;
}

/// A record that recovery has dealt with does not come back once it was removed, nor with an old
/// value, even if the power goes again.
template <class Kind>
void expect_dealt_with(const image& left, std::uint64_t key) {
  for (bool erases : {false, true}) {
    auto found = after_power_cut<probing_medium, Kind, level_engine>(left);
    ASSERT_NE(found, nullptr);
    ASSERT_EQ(erases ? erase(*found, key) : put(*found, key, 5), status::ok);
    auto again = after_power_cut<probing_medium, Kind, level_engine>(found->m->image());
    ASSERT_NE(again, nullptr);
    ASSERT_EQ(get(*again, key), erases ? std::nullopt : std::optional<std::uint64_t>(5));
  }
}

/// Recovery loses its power, too, at each of its steps. Returns at how many.
template <class Kind>
int cut_recovery(const image& left, const model& before, const model& after) {
  auto found = found_after_power_cut<probing_medium, Kind, level_engine>(left);
  EXPECT_NE(found, nullptr);
  if (!found) return 0;
  return cut_everywhere(
      *found, [&] { EXPECT_EQ(found->t->open("image").code, status::ok); },
      [&](const image& again) { expect_either<Kind>(again, before, after); });
}

/// Whether the check finds a fault in what is opened.
template <class Kind>
bool is_faulty(const image& left) {
  auto found = after_power_cut<probing_medium, Kind, level_engine>(left);
  if (!found) return true;
  check_report report;
  found->t->check(report);
  return !report.ok;
}
inline image without_intents(image left) {
  std::uint64_t intents = level_image(left).intents_offset;
  std::memset(left.data() + intents, 0, level::intent_count * sizeof(level::intent));
  return left;
}

}  // namespace durahash::test
