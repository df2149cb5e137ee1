// What a process that is going to be killed does to a pool, known to both sides: lane by lane, one
// operation after the other. A lane owns its keys, so that its parent knows what each must hold
// from how far the lane came.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "child.hpp"
#include "setup.hpp"
#include "subject.hpp"

namespace durahash::test {

/// How the lanes of one test work.
struct lane_plan {
  setup with{};
  std::uint64_t seed = 0;
  std::uint64_t lanes = 1;
  /// few: the same records again and again; many: the table grows
  std::uint64_t keys_per_lane = 0;
  std::uint64_t batch = 0;    ///< one operation in so many is a batch; 0: none
  std::uint64_t compact = 0;  ///< one in so many is compact; 0: none
  /// one in so many closes the pool and opens it again (one lane at a time); 0: none
  std::uint64_t reopen = 0;
  /// 1: other threads sync, scan, reserve, compact, check, and fork children that write
  std::uint64_t beside = 0;
};

/// What a lane has told: operations [0, finished) returned; one more may have begun. Each in a word
/// of its own.
struct lane_progress {
  std::atomic<std::uint64_t>& started;
  std::atomic<std::uint64_t>& finished;
  std::atomic<std::uint64_t>& observed;  ///< the largest count that a reader was given

  static constexpr std::size_t words = 3;
  static lane_progress of(shared_words& all, std::uint64_t lane) {
    return {all[lane * words], all[lane * words + 1], all[lane * words + 2]};
  }
};

enum class lane_action : std::uint8_t {
  put,
  insert,
  update,
  erase,
  fetch_add,
  count_up,
  put_many,
  erase_many,
  compact,
  reopen
};

struct lane_operation {
  lane_action what{};
  std::vector<std::uint64_t> keys;  ///< numbers, distinct
  std::uint64_t seed = 0;

  static lane_operation of(const lane_plan& plan, std::uint64_t lane, std::uint64_t index);
};

/// What the records of one lane are.
using lane_records = std::map<std::uint64_t, std::string>;

/// The key that count_up adds to: its value tells how many were done.
std::uint64_t counter_key(const lane_plan& plan, std::uint64_t lane);
std::string lane_value(const lane_plan& plan, std::uint64_t seed, std::uint64_t key);

/// What one key of an operation holds after it.
std::optional<std::string> after(const lane_plan& plan, const lane_operation& o, std::uint64_t key,
                                 const std::optional<std::string>& before);

/// The arguments that pass a plan to a child, and back.
child_arguments to_arguments(const lane_plan& plan);
lane_plan plan_of(const child_arguments& arguments, std::size_t from);
constexpr std::size_t plan_arguments = 8;

}  // namespace durahash::test
