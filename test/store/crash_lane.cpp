#include "crash_lane.hpp"

#include "random.hpp"

namespace durahash::test {

namespace {

lane_action chosen_action(const lane_plan& plan, random_stream& random) {
  if (plan.compact != 0 && random.one_in(plan.compact)) return lane_action::compact;
  if (plan.reopen != 0 && random.one_in(plan.reopen)) return lane_action::reopen;
  if (plan.batch != 0 && random.one_in(plan.batch))
    return random.one_in(4) ? lane_action::erase_many : lane_action::put_many;
  constexpr lane_action single[] = {
      lane_action::put,    lane_action::put,       lane_action::put,
      lane_action::insert, lane_action::update,    lane_action::erase,
      lane_action::erase,  lane_action::fetch_add, lane_action::count_up};
  return single[random.below(std::size(single))];
}

}  // namespace

std::uint64_t counter_key(const lane_plan& plan, std::uint64_t lane) {
  return plan.keys_per_lane * plan.lanes + lane;
}

lane_operation lane_operation::of(const lane_plan& plan, std::uint64_t lane, std::uint64_t index) {
  random_stream random(mixed(plan.seed ^ mixed(lane * 0x1'0000'0000 + index)));
  lane_operation o;
  o.what = chosen_action(plan, random);
  o.seed = random.next();
  if (o.what == lane_action::compact || o.what == lane_action::reopen) return o;
  if (o.what == lane_action::count_up) {
    o.keys = {counter_key(plan, lane)};
    return o;
  }
  bool is_batch = o.what == lane_action::put_many || o.what == lane_action::erase_many;
  std::uint64_t count = is_batch ? 1 + random.below(100) : 1;
  std::uint64_t first = random.below(plan.keys_per_lane);
  for (std::uint64_t i = 0; i < count && i < plan.keys_per_lane; ++i)
    o.keys.push_back((first + i) % plan.keys_per_lane * plan.lanes + lane);
  return o;
}

std::string lane_value(const lane_plan& plan, std::uint64_t seed, std::uint64_t key) {
  std::uint64_t mix = mixed(seed ^ mixed(key));
  if (mix % 5 == 0) return word_bytes(mix);
  if (mix % 200 == 1) return long_value(plan.with, mix, mix / 256 % 40'000);
  return nth_value(plan.with, mix);
}

std::optional<std::string> after(const lane_plan& plan, const lane_operation& o, std::uint64_t key,
                                 const std::optional<std::string>& before) {
  switch (o.what) {
    case lane_action::put:
    case lane_action::put_many: return lane_value(plan, o.seed, key);
    case lane_action::insert: return before ? before : lane_value(plan, o.seed, key);
    case lane_action::update: return before ? lane_value(plan, o.seed, key) : before;
    case lane_action::erase:
    case lane_action::erase_many: return std::nullopt;
    case lane_action::fetch_add:
      if (before && before->size() != 8) return before;
      return word_bytes((before ? bytes_word(*before) : 0) + o.seed);
    case lane_action::count_up: return word_bytes((before ? bytes_word(*before) : 0) + 1);
    case lane_action::compact:
    case lane_action::reopen: break;
  }
  return before;
}

child_arguments to_arguments(const lane_plan& plan) {
  return {plan.with.name(),
          std::to_string(plan.seed),
          std::to_string(plan.lanes),
          std::to_string(plan.keys_per_lane),
          std::to_string(plan.batch),
          std::to_string(plan.compact),
          std::to_string(plan.reopen),
          std::to_string(plan.beside)};
}

lane_plan plan_of(const child_arguments& arguments, std::size_t from) {
  auto number = [&](std::size_t i) { return std::stoull(arguments.at(from + i)); };
  return {setup_named(arguments.at(from)),
          number(1),
          number(2),
          number(3),
          number(4),
          number(5),
          number(6),
          number(7)};
}

}  // namespace durahash::test
