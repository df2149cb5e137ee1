// The frame: what every engine does alike with records, written once. The engine owns its layout;
// the frame owns the order in which things happen: what is locked when, when the pool is marked as
// changing, when locks go.
//
//   write             the unit locked   ·   the pool marked   ·   staged, after a look at what is
//                     there   ·   committed, durably   ·   locks let go   ·   what is done now and
//                     then. Without room: locks let go, room made, and all of it again
//   group of writes   locks of the first keys that are free, blocking for none but the first: two
//                     groups never wait for each other   ·   the pool marked   ·   each write
//                     staged   ·   all committed, with fences that they share   ·   locks let go
//                     ·   those without room written one by one: what makes room (a larger array,
//                     a split, a level) waits for no lock while others are held
//   iteration         in hash order, stretch by stretch: neither growth nor movements nor reopening
//                     disturb the cursor. What a call leaves of a stretch the next one looks up,
//                     key by key
//   compaction        fewer slots   ·   what has room in front of it moves there: arrays, then
//                     records   ·   the file gets shorter. Between these steps it waits for the
//                     readers of what was left
#pragma once

#include <bit>
#include <span>

#include "engine/frame/decision.hpp"
#include "engine/frame/group.hpp"
#include "engine/frame/lifecycle.hpp"
#include "engine/frame/live_record.hpp"
#include "engine/frame/rests.hpp"

namespace durahash {

/// What became of a write before its commit.
enum class staged : std::uint8_t { nothing_to_do, ready, no_room, look_further };

/// Engines may offer a short way, for the kinds of records for which home_type is not void:
///   home_type                   what of a unit the key's first buckets need
///   lock_home(target)           locks it. Returns it
///   held_by(home)               its lock, as a scope
///   is_settled(home, target)    it is still what `target` says, and nothing of it is as a process
///                               that died has left it
///   stage_home(home, target, key, decide, change, answer, started)   stages what ends in the key's
///                               first buckets; all else is `look_further`, and nothing has
///                               happened then
template <class Engine>
concept has_short_way = requires {
  typename Engine::home_type;
  requires !std::is_void_v<typename Engine::home_type>;
};

/// Searches of a batch whose lines are asked for before the first of them is answered.
inline constexpr std::size_t looks_ahead = 32;

/// Records as iteration read them, where a slot has all that is visited. MayRepeat: see
/// visit_stretch.
template <bool MayRepeat>
struct plain_stretch {
  static constexpr bool may_repeat = MayRepeat;
  std::vector<live_record> records;
};

/// `Engine` offers lifecycle's hooks, and
///   target_type                         what it works out of a key once: a hash, or places
///   target_of(key)                      that. Asks for the lines that a write will need
///   unit_type                           what the locks of a key guard, as it is under them
///   lock_unit(target, key)              locks them. Returns the unit
///   held_by(unit)                       its locks, as a scope
///   settle(unit)                        what a process that died left of it in the caches is
///                                       durable
///   change                              what is staged and not committed, a replaced_record.
///                                       `apart`: its payload is to be durable before its word
///   stage(unit, target, key, decide, change, answer, started)   nothing refers to it yet
///   flush_payload(change)               what is not flushed of what was staged, if it is apart
///   fence_payloads(started)
///   begin(change)                       its unit is unsettled
///   publish_change(change, payload)    COMMIT: the commit word is stored and flushed
///   payload_order(change)               why it needs nothing durable first, where it does not
///   fence_words(started)
///   end(change, durable, let_go)        its unit is settled; counted. Calls let_go() before it
///                                       uses the heap; who never does takes no let_go
///   make_room(unit, target, round)      for a write that found none there in that round
///   look_ahead(keys, targets, puts)     works them out, and asks for the lines that writes will
///                                       need. Locks nothing
///   group                               `locks`, held; and the changes that were staged
///   lock_group(keys, targets, group)    locks the units of the first keys as far as they are free;
///                                       of at least one, for which it may wait. Returns of how
///                                       many keys. A key that comes twice ends the group, unless
///                                       neither finds room where one does not: those are written
///                                       behind the group, in their order
///   unit_in(group, n, target)           the unit of the group's n-th key
///   look_type                           a look at a key's first buckets
///   look_at(keys, looks)                takes them, and asks for the lines that answers will need
///   answer(look, key, read)             the search's answer, from the look if that still holds
///   search_long(key, read)              the same from the beginning, until no writer is faster
///   stretch                             `records`, as read; and what they need
///   read_stretch(position, stretch)     the records of the stretch of hashes in which that one
///                                       lies, durably. Returns where it ends, or nothing: a writer
///                                       was faster
///   make_room_for(records)              so that they fit without growth
///   shrink_to_fit()                     as few slots as the records need
///   move_arrays_down()                  each array with room in front of it is written anew there
///   for_each_locked(visit)              visits each record of a table of bytes, its lock held
///   replace_value(record, word, started)   an update of a record that is visited, durably
template <medium M, class Kind, class Engine>
class engine_frame : public lifecycle<M, Kind, Engine> {
  using life = lifecycle<M, Kind, Engine>;

 public:
  using key_type = typename Kind::key_type;
  using value_type = typename Kind::value_type;
  using life::life;

  /// Returns what the decider answers; or no_space, out_of_memory, io_error or damaged: then
  /// nothing has changed.
  /// Threads   with every operation; waits for writers of the same unit, and where there is no
  ///           room for whoever makes it.
  /// Crash     before the engine's COMMIT: as before. After: as decided. Never half.
  template <decider<value_type> Decide>
  status write(key_type key, Decide decide);

  /// The same, never inlined.
  template <decider<value_type> Decide>
  status write_long(key_type key, Decide decide);

  /// Each record is atomic by itself; the batch is not. A key that comes twice has the later value.
  void put_many(std::span<const key_type> keys, const value_type* values, status* answers) {
    write_many(keys, answers, true, [values](std::size_t i) {
      return decide_write(detail::write_mode::put, values[i]);
    });
  }
  void erase_many(std::span<const key_type> keys, status* answers) {
    write_many(keys, answers, false, [](std::size_t) { return erase_decider<value_type>(); });
  }

  /// Calls read(index of the key, value) for each that is found, and answers for each ok or
  /// not_found. The lines that searches need are asked for a group ahead.
  template <class Read>
  void get_many(std::span<const key_type> keys, Read&& read, status* answers);

  /// Visits up to `limit` records from the cursor on, and those that share the last one's hash.
  template <class Visit>
  status scan(cursor& at, std::size_t limit, Visit&& visit);

  /// Room for so many records, so that none of their writes makes any. Or no_space, io_error.
  status reserve(std::uint64_t records);

  /// As few slots as the records need, all of it as far in front as it fits, a shorter file.
  /// Threads   with every operation; waits for readers that keep back memory.
  /// Crash     some of it has moved, each array and record wholly or not at all.
  status compact();

 protected:
  /// What a read that is not short ends with. A call, which is compiled once for all readers.
  template <class Read>
  [[gnu::noinline]] status search(key_type key, Read read) {
    return this->self().search_long(key, any_reader<value_type>(read));
  }

  /// Of a slot's record: its key word is the key where that is a word, and else the hash.
  std::uint64_t hash_of_slot(std::uint64_t key_word) const noexcept {
    if constexpr (Kind::in_slot) return word_hash(key_word, this->seeds_);
    else return key_word;
  }

  /// Hooks that an engine may leave out.
  template <class Unit, class Target>
  bool make_way(Unit&, const Target&) {  // under the locks. Returns whether to look again for room
    return false;
  }
  template <class Change>
  flushed flush_payload(const Change&) {
    return {};
  }
  /// Nothing is locked. Returns the answer: what it calls may be a tail call then.
  template <class Target, class Change>
  [[gnu::always_inline]] status finish_write(const Target&, const Change&, status answer) {
    return answer;
  }
  template <class Group, class DecideOf>
  // of locked keys, before any is staged
  void begin_group(Group&, std::span<const key_type>, DecideOf&) {}
  template <class Change>
  void replaces([[maybe_unused]] std::uint64_t value_word, [[maybe_unused]] Change& c) const {
    if constexpr (!Kind::in_slot) {
      c.replaced_offset = value_word;
      c.replaced_bytes = record_at(this->m_, this->p_, value_word)->bytes();
    }
  }
  /// The same, of the slot that should be the key's. Returns the value that it stands for; nothing
  /// when no record can be there, or the record is another key's.
  template <class Change>
  [[gnu::always_inline]] std::optional<value_type> replaceable(std::uint64_t value_word,
                                                               [[maybe_unused]] key_type key,
                                                               [[maybe_unused]] Change& c) const {
    if constexpr (Kind::in_slot) {
      return value_word;
    } else {
      const std::optional<record_view> record = record_at(this->m_, this->p_, value_word);
      if (!record || (!Kind::fixed_key && !same_bytes(record->key, key))) [[unlikely]]
        return std::nullopt;
      std::uint64_t bytes = record->bytes();
      asm("" : "+r"(bytes));  // else all that it is made of is kept until it is retired
      c.replaced_offset = value_word, c.replaced_bytes = bytes;
      return record->value;
    }
  }
  template <class Change>
  [[gnu::always_inline]] void retire_replaced([[maybe_unused]] const Change& c) {
    if constexpr (!Kind::in_slot)
      if (c.replaced_bytes != 0) this->heap_.retire(c.replaced_offset, c.replaced_bytes);
  }
  /// Among several: heap::retiring.
  template <class Change, class Retire>
  [[gnu::always_inline]] static void retire_replaced([[maybe_unused]] const Change& c,
                                                     [[maybe_unused]] Retire&& retire) {
    if constexpr (!Kind::in_slot)
      if (c.replaced_bytes != 0) retire(c.replaced_offset, c.replaced_bytes);
  }
  template <class Change>
  [[gnu::always_inline]] void commit(Change& c, flushed started) {
    commit_all(
        [&](auto&& step) __attribute__((always_inline)) { step(c); }, c.apart, std::move(started),
        [&](const auto& done) __attribute__((always_inline)) { retire_replaced(done); }, [] {});
  }
  template <class Target, class Decide, class Group>
  staged stage_in_group(std::size_t n, const Target& target, key_type key, Decide& decide, Group& g,
                        status& answer);
  template <class Group, class Target>
  bool ends_before(const Group&, const Target&) const {  // the key meets what the group has staged
    return false;
  }
  template <class Group>
  void commit_group(Group& g) {
    if (g.all().empty()) return;
    auto each = [changes = g.all()](auto&& step) __attribute__((always_inline)) {
      for (auto& c : changes) step(c);
    };
    typename heap<M>::retiring several(this->heap_);
    commit_all(
        each, g.any_apart, std::move(g.started),
        [&](const auto& c) __attribute__((always_inline)) { retire_replaced(c, several); },
        [&] { several.release(); });
  }
  template <class Group>
  void finish_group(Group&, std::size_t) {}  // nothing is locked

 private:
  // Batches this small cost less key by key: what they would share is worth less than sharing it.
  // Where stores are to be made durable they share a fence. The explorer has groups of any size.
  static constexpr std::size_t few_reads = reads_plainly<M> ? 4 : 0;
  static constexpr std::size_t few_writes = M::visible_is_durable ? few_reads : few_reads / 4;

  template <class Each, class Retire, class LetGo>
  void commit_all(Each&& each, bool any_apart, flushed started, Retire&& retire, LetGo&& let_go);
  template <class DecideOf>
  void write_many(std::span<const key_type> keys, status* answers, bool puts, DecideOf decide_of);
  template <class Target, class DecideOf>
  std::size_t write_group(std::span<const key_type> keys, const Target* targets, status* answers,
                          DecideOf decide_of);
  template <class Visit>
  status visit_rest(cursor& at, std::size_t& left, Visit& visit);
  std::optional<rest_of_stretch<Kind>> rest_from(const std::vector<record_of<Kind>>& records,
                                                 std::size_t first, std::uint64_t end);
  status move_records_down() requires(!Kind::in_slot);
  template <class Resident>
  status move_down(const Resident& r, std::uint64_t behind);

  rests_of_scans<Kind> rests_;
};

/// The short way: what the engine can stage without a look beyond the key's first bucket. All that
/// is staged stays in registers. What is not that short begins again.
template <medium M, class Kind, class Engine>
template <decider<typename Kind::value_type> Decide>
[[gnu::always_inline]] inline status engine_frame<M, Kind, Engine>::write(key_type key,
                                                                          Decide decide) {
  if constexpr (has_short_way<Engine>) {
    Engine& e = this->self();
    const typename Engine::target_type target = e.target_of(key);
    const typename Engine::home_type home = e.lock_home(target);
    auto held = e.held_by(home);
    if (e.is_settled(home, target) && this->p_.changing()) [[likely]] {
      typename Engine::change c;
      status answer = status::ok;
      flushed started;
      const staged made = e.stage_home(home, target, key, decide, c, answer, started);
      if (made == staged::ready) commit(c, std::move(started));
      if (made != staged::look_further) [[likely]] {
        held.release();
        return e.finish_write(target, c, answer);
      }
    }
  }
  if constexpr (is_frequent<Decide>) return write_long(key, decide);
  else return write_long(key, any_decider<value_type>(decide));
}

/// The long way. It is compiled for put, insert and update, for erase, and once for all others.
template <medium M, class Kind, class Engine>
template <decider<typename Kind::value_type> Decide>
[[gnu::noinline]] status engine_frame<M, Kind, Engine>::write_long(key_type key, Decide decide) {
  Engine& e = this->self();
  const typename Engine::target_type target = e.target_of(key);
  // ends: each round but the first has found more room, or another writer took it
  for (int round = 0;; ++round) {
    typename Engine::unit_type unit = e.lock_unit(target, key);
    auto held = e.held_by(unit);
    if (!this->p_.may_change()) [[unlikely]]
      return status::io_error;
    e.settle(unit);
    typename Engine::change c;
    flushed started;
    status answer = status::ok;
    staged made;
    do made = e.stage(unit, target, key, decide, c, answer, started);
    while (made == staged::no_room && e.make_way(unit, target));
    if (made == staged::ready) commit(c, std::move(started));
    held.release();
    if (made != staged::no_room) [[likely]]
      return e.finish_write(target, c, answer);
    if (answer = e.make_room(unit, target, round); answer != status::ok) return answer;
  }
}

template <medium M, class Kind, class Engine>
template <class DecideOf>
void engine_frame<M, Kind, Engine>::write_many(std::span<const key_type> keys, status* answers,
                                               bool puts, DecideOf decide_of) {
  room_for<typename Engine::target_type, group_size> targets;
  for (std::size_t start = 0; start < keys.size(); start += group_size) {
    std::size_t count = std::min(group_size, keys.size() - start);
    const bool alone = count <= few_writes;
    if (!alone) this->self().look_ahead(keys.subspan(start, count), targets.each, puts);
    for (std::size_t done = 0; done < count;) {  // ends: a group has at least one record
      std::size_t first = start + done;
      if (alone || (done > 0 && keys[first] == keys[first - 1])) {  // it would end a group of one
        answers[first] =
            with_memory([&] { return this->self().write(keys[first], decide_of(first)); });
        ++done;
        continue;
      }
      done += write_group(
          keys.subspan(first, count - done), targets.each + done, answers + first,
          [ first, decide_of ](std::size_t n)
              __attribute__((always_inline)) { return decide_of(first + n); });
    }
  }
}

/// Writes the first keys, as far as their locks are free; at least one. Returns how many.
template <medium M, class Kind, class Engine>
template <class Target, class DecideOf>
std::size_t engine_frame<M, Kind, Engine>::write_group(std::span<const key_type> keys,
                                                       const Target* targets, status* answers,
                                                       DecideOf decide_of) {
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
    answers[taken] = with_memory([&]() __attribute__((always_inline)) {
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
    answers[n] = with_memory([&] { return write_long(keys[n], decide_of(n)); });
  }
  return taken;
}

/// With two fences for all of them, or one. Nothing is flushed before all is stored, and nothing
/// between: stores and locked instructions wait for write-backs under way. each(step) takes the
/// step with each change: of one, no address is taken, so that it stays in registers.
template <medium M, class Kind, class Engine>
template <class Each, class Retire, class LetGo>
[[gnu::always_inline]] inline void engine_frame<M, Kind, Engine>::commit_all(
    Each&& each, bool any_apart, flushed started, Retire&& retire, LetGo&& let_go) {
  Engine& e = this->self();
  std::optional<durable> payloads;
  if (any_apart) {
    each([&](const auto& c) __attribute__((always_inline)) { started += e.flush_payload(c); });
    payloads = e.fence_payloads(std::move(started));
  }
  each([&](const auto& c) __attribute__((always_inline)) { e.begin(c); });
  flushed words;
  each([&](const auto& c) __attribute__((always_inline)) {
    words += e.publish_change(c, c.apart ? after_group(*payloads) : e.payload_order(c));
  });
  durable done = e.fence_words(std::move(words));
  each([&](auto& c) __attribute__((always_inline)) {
    if constexpr (requires { e.end(c, done, let_go); }) e.end(c, done, let_go);
    else e.end(c, done);
    retire(c);
  });
}

/// The group's n-th key.
template <medium M, class Kind, class Engine>
template <class Target, class Decide, class Group>
[[gnu::always_inline]] inline staged engine_frame<M, Kind, Engine>::stage_in_group(
    std::size_t n, const Target& target, key_type key, Decide& decide, Group& g, status& answer) {
  Engine& e = this->self();
  auto&& unit = e.unit_in(g, n, target);
  if constexpr (has_short_way<Engine>)
    if (e.is_settled(unit, target)) [[likely]] {
      typename Engine::change c;
      const staged made = e.stage_home(unit, target, key, decide, c, answer, g.started);
      if (made == staged::ready) g.keep(c);
      if (made != staged::look_further) [[likely]]
        return made;
    }
  e.settle(unit);
  typename Engine::change c;
  const staged made = e.stage(unit, target, key, decide, c, answer, g.started);
  if (made == staged::ready) g.keep(c);
  return made;
}

template <medium M, class Kind, class Engine>
template <class Read>
void engine_frame<M, Kind, Engine>::get_many(std::span<const key_type> keys, Read&& read,
                                             status* answers) {
  Engine& e = this->self();
  [[maybe_unused]] auto guard = this->reading();
  room_for<typename Engine::look_type, looks_ahead> looks;
  for (std::size_t start = 0; start < keys.size(); start += looks_ahead) {
    const std::size_t count = std::min(looks_ahead, keys.size() - start);
    if (count <= few_reads) {
      for (std::size_t i = start; i < start + count; ++i)
        answers[i] = e.get(
            keys[i],
            [&read, i ](value_type value) __attribute__((always_inline)) { read(i, value); });
      continue;
    }
    e.look_at(keys.subspan(start, count), looks.each);
    for (std::size_t i = 0; i < count; ++i)
      answers[start + i] = e.answer(
          looks.each[i], keys[start + i],
          [&read, n = start + i ](value_type value)
              __attribute__((always_inline)) { read(n, value); });
  }
}

}  // namespace durahash

#include "engine/frame/compaction.hpp"
#include "engine/frame/iteration.hpp"
