// The frame: what every engine does alike with records, written once. The engine owns its layout;
// the frame owns the order in which things happen: what is locked when, when the pool is marked as
// changing, when locks go.
//
//   group of writes   locks of the first keys that are free, blocking for none but the first: two
//                     groups never wait for
//                     each other   ·   the pool is marked   ·   each write staged   ·   all
//                                  committed, with fences that
//                     they share   ·   locks let go   ·   those without room written one by one,
//                                  for what makes room
//                     (a larger array, a split, a level) waits for no lock while others are held
//   iteration         in hash order, stretch by stretch: neither growth nor movements nor reopening
//                     disturb the cursor
#pragma once

#include <bit>
#include <span>

#include "table/decision.hpp"
#include "table/lifecycle.hpp"
#include "table/live_record.hpp"

namespace durahash {

/// What became of a write before its commit.
enum class staged : std::uint8_t { nothing_to_do, ready, no_room };

/// Operations whose cache misses and fences are shared.
inline constexpr std::size_t group_size = 64;

/// `Engine` offers lifecycle's hooks, and
///   target_type                         what it works out of a key once: a hash, or places
///   look_ahead(keys, targets, puts)     works them out, and asks for the lines that writes will
///                                       need. Locks nothing
///   group                               `locks`, held; and the changes that were staged
///   lock_group(keys, targets, group)    locks the units of the first keys as far as they are free;
///                                       of at least one, for which it may wait. Returns of how
///                                       many keys
///   stage_in_group(n, target, key, decide, group, answer)   the group's n-th key
///   commit_group(group)                 all that was staged is durable
///   stretch                             `records`, as read; and what they need
///   read_stretch(position, stretch)     the records of the stretch of hashes in which that one
///                                       lies, durably. Returns where it ends, or nothing: a writer
///                                       was faster
template <medium M, class Kind, class Engine>
class engine_frame : public lifecycle<M, Kind, Engine> {
  using life = lifecycle<M, Kind, Engine>;

 public:
  using key_type = typename Kind::key_type;
  using value_type = typename Kind::value_type;
  using life::life;

  /// Each record is atomic by itself; the batch is not. A key that comes twice has the later value.
  void put_many(std::span<const key_type> keys, const value_type* values, status* answers) {
    write_many(keys, answers, true, [values](std::size_t i) {
      return decide_write(detail::write_mode::put, values[i]);
    });
  }
  void erase_many(std::span<const key_type> keys, status* answers) {
    write_many(keys, answers, false, [](std::size_t) { return erase_decider<value_type>(); });
  }

  /// Visits up to `limit` records from the cursor on, and those that share the last one's hash.
  template <class Visit>
  status scan(cursor& at, std::size_t limit, Visit&& visit);

 protected:
  /// Hooks that an engine may leave out.
  template <class Group, class DecideOf>
  // of locked keys, before any is staged
  void begin_group(Group&, std::span<const key_type>, DecideOf&) {}
  template <class Group, class Target>
  bool ends_before(const Group&, const Target&) const {  // the key meets what the group has staged
    return false;
  }
  template <class Group>
  void finish_group(Group&, std::size_t) {}  // nothing is locked

 private:
  template <class DecideOf>
  void write_many(std::span<const key_type> keys, status* answers, bool puts, DecideOf&& decide_of);
  template <class Target, class DecideOf>
  std::size_t write_group(std::span<const key_type> keys, const Target* targets, status* answers,
                          DecideOf&& decide_of);
};

template <medium M, class Kind, class Engine>
template <class DecideOf>
void engine_frame<M, Kind, Engine>::write_many(std::span<const key_type> keys, status* answers,
                                               bool puts, DecideOf&& decide_of) {
  typename Engine::target_type targets[group_size];
  for (std::size_t start = 0; start < keys.size(); start += group_size) {
    std::size_t count = std::min(group_size, keys.size() - start);
    this->self().look_ahead(keys.subspan(start, count), targets, puts);
    for (std::size_t done = 0; done < count;) {  // ends: a group has at least one record
      std::size_t first = start + done;
      done += write_group(keys.subspan(first, count - done), targets + done, answers + first,
                          [&](std::size_t n) { return decide_of(first + n); });
    }
  }
}

/// Writes the first keys, as far as their locks are free; at least one. Returns how many.
template <medium M, class Kind, class Engine>
template <class Target, class DecideOf>
std::size_t engine_frame<M, Kind, Engine>::write_group(std::span<const key_type> keys,
                                                       const Target* targets, status* answers,
                                                       DecideOf&& decide_of) {
  Engine& e = this->self();
  typename Engine::group g;
  std::size_t locked = e.lock_group(keys, targets, g), taken = 0;
  if (!this->p_.may_change()) [[unlikely]]
    return std::fill_n(answers, locked, status::io_error), locked;
  e.begin_group(g, keys.first(locked), decide_of);
  std::uint64_t without_room = 0;
  for (; taken < locked && !e.ends_before(g, targets[taken]); ++taken) {
    auto decide = decide_of(taken);
    staged made = staged::nothing_to_do;
    answers[taken] = with_memory([&] {
      status answer = status::ok;
      made = e.stage_in_group(taken, targets[taken], keys[taken], decide, g, answer);
      return answer;
    });
    without_room |= std::uint64_t{made == staged::no_room} << taken;
  }
  e.commit_group(g);
  g.locks.release();
  e.finish_group(g, taken);
  for (; without_room != 0; without_room &= without_room - 1) {
    auto n = static_cast<std::size_t>(std::countr_zero(without_room));
    answers[n] = with_memory([&] { return e.write(keys[n], decide_of(n)); });
  }
  return taken;
}

template <medium M, class Kind, class Engine>
template <class Visit>
status engine_frame<M, Kind, Engine>::scan(cursor& at, std::size_t limit, Visit&& visit) {
  std::size_t left = std::max<std::size_t>(limit, 1);
  typename Engine::stretch found;
  while (!at.done && left > 0) {
    [[maybe_unused]] auto guard = this->reading();
    std::optional<std::uint64_t> end = this->self().read_stretch(at.position, found);
    if (!end) continue;  // ends: each further round means that a writer got on
    status visited = visit_stretch<Kind>(this->m_, this->p_, found.records, *end, at, left, visit);
    if (visited != status::ok) return visited;
  }
  return status::ok;
}

}  // namespace durahash
