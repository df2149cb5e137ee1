// A batch, and what one warp, or one tile of a warp, does of it. A tile takes a few operations that
// lie beside one another at once, since then it reads and writes the batch's arrays by sectors, and
// does one after another. Of a batch in such pieces every function here works on the pieces first,
// first + step, ...
#pragma once

#include <cstddef>

#include "durahash/gpu.hpp"
#include "gpu/staged.hpp"
#include "gpu/visits.hpp"

namespace durahash::gpu {

enum class action : std::uint8_t { find, put, insert, update, erase, find_or_insert, add };

/// Arrays that the device reads and writes. `values` is read by writes and written by finds, and by
/// find_or_insert where a key is there; it may be missing for find and erase.
struct batch {
  action what;
  std::size_t count;
  const std::uint64_t* keys;
  std::uint64_t* values;
  status* answers;
  std::uint32_t now = 0;          // of finds: their number, for the cache
  std::uint32_t* full = nullptr;  // of writes: if not null, 1 there says that one found no room
  missed_keys missed = {};        // of finds; the count is 0 before
};

/// The answer of an operation that has not been done yet; and, within a warp, of one that another
/// one does with its own.
inline constexpr status pending = static_cast<status>(0xff), led = static_cast<status>(0xfe);

template <class Side, class Shape = any_shape>
class batch_run {
 public:
  DURAHASH_ON_DEVICE batch_run(Side& side, const leased_table& table, const batch& all,
                               tallies& total) noexcept
      : side_(side), operations_(side, table), all_(all), total_(total) {}

  DURAHASH_ON_DEVICE void find(std::size_t first, std::size_t step) {
    constexpr std::size_t sampled = 16;  // one search of so many is counted
    looks seen{all_.now};
    for (std::size_t at = first * width; warp().in_any_tile(at < all_.count); at += step * width) {
      auto hashes = hashes_from(at);
      unsigned here = count_from(at);
      bool escapes = warp().in_any_tile(warp().ballot(warp().hold([&](unsigned n) {
        return n < here && operations_.has_escape(warp().of(hashes, n));
      })) != 0);
      auto values = warp().hold([&](unsigned) { return std::uint64_t{0}; });
      auto answers = warp().hold([&](unsigned) { return status::not_found; });
      DURAHASH_ROLLED
      for (unsigned n = 0; n < width; ++n) {
        std::uint64_t value = 0;
        bool counts = Side::may_have_copies && (at + n) % sampled == 0;
        status answer = operations_.find_hash(n < here, warp().from(hashes, n), escapes, value,
                                              counts ? &seen : nullptr);
        warp().keep(values, n, value);
        warp().keep(answers, n, answer);
      }
      warp().hold([&](unsigned n) {
        if (n >= here) return false;
        status answer = warp().of(answers, n);
        if (all_.values != nullptr && answer == status::ok)
          all_.values[at + n] = warp().of(values, n);
        all_.answers[at + n] = answer;
        return true;
      });
      if (all_.missed.count != nullptr)
        list_missed(at, warp().ballot(warp().hold([&](unsigned n) {
          return n < here && warp().of(answers, n) == status::not_found;
        })));
    }
    if (seen.buckets == 0) return;
    tallies mine;
    mine.looks = seen.buckets;
    mine.copies = seen.copies;
    add(mine);
  }

  /// Writes that are done at once, where visible is durable: those whose answer is `pending`.
  DURAHASH_ON_DEVICE void write(std::size_t first, std::size_t step) {
    tallies mine;
    bool full = false;
    for_pending(first, step,
                [&](bool does, std::uint64_t hash, std::uint64_t& value, status& answer) {
                  std::int32_t records = 0;
                  bool done = operations_.try_write(does, hash, decider(value), answer, records);
                  mine.records += records;
                  full |= done && answer == status::no_space;
                  return done;
                });
    add(mine);
    tell_full(full);
  }

  /// First half of writes that become durable together: those whose answer is `pending`. Who comes
  /// to a key that has a change already goes on from there, and changes that.
  DURAHASH_ON_DEVICE void stage(std::size_t first, std::size_t step, const staged_changes& staged) {
    bool full = false;
    staged_index<Side> index(side_, staged);
    for_pending(first, step,
                [&](bool does, std::uint64_t hash, std::uint64_t& value, status& answer) {
                  bool taken = side_.try_take(does, hash);
                  std::uint32_t number = warp().one(taken, [&] { return index.find(hash); });
                  change c = number != 0 ? staged.changes[number - 1] : change();
                  status got = operations_.template stage<false>(taken, hash, decider(value), c);
                  warp().one_does(taken, [&] {
                    if (c.what != change::kind::none) {
                      if (number == 0) number = index.add(hash, total_);
                      else if (c.what == change::kind::insert) side_.store(*c.payload, c.value);
                      staged.changes[number - 1] = c;
                    }
                    side_.give(hash);
                  });
                  if (taken) answer = got;
                  full |= taken && answer == status::no_space;
                  return taken;
                });
    tell_full(full);
  }

  /// Second half, of so many changes. What they come after is durable. The batch has no part in it.
  DURAHASH_ON_DEVICE void commit(std::size_t first, std::size_t step, const staged_changes& staged,
                                 std::size_t count) {
    tallies mine;
    staged_index<Side> index(side_, staged);
    for (std::size_t at = first * width; warp().in_any_tile(at < count); at += step * width) {
      auto one = [&](unsigned n) {
        if (at + n >= count) return std::int32_t{0};
        change c = staged.changes[at + n];
        operations_.template commit<false>(staged.hashes[at + n], c);
        index.forget(static_cast<std::uint32_t>(at + n) + 1);
        return c.records();
      };
      if constexpr (Side::may_have_copies) {  // one may wait for another
        for (unsigned n = 0; n < width; ++n) mine.records += warp().one([&] { return one(n); });
      } else {
        auto records = warp().hold(one);
        auto how_many = [&](std::int32_t change) {
          return count_bits(warp().ballot(
              warp().hold([&](unsigned n) { return warp().of(records, n) == change; })));
        };
        mine.records += how_many(1) - how_many(-1);
      }
    }
    add(mine);
  }

  /// Growth: the new level, from the buckets of the bottom. The batch has no part in it.
  DURAHASH_ON_DEVICE void copy_up(std::uint64_t first, std::uint64_t step, std::uint64_t buckets,
                                  const leased_level& top) {
    tallies mine;
    for (std::uint64_t index = first; index < buckets; index += step)
      mine.moved += operations_.copy_up(index, top, mine.misplaced);
    add(mine);
  }

  /// Selected records of buckets, so many from the first one on, appended. The batch has no part in
  /// it.
  DURAHASH_ON_DEVICE void export_records(std::uint64_t first_bucket, std::uint64_t buckets,
                                         const exported& to, std::uint64_t first,
                                         std::uint64_t step) {
    visits<Side> all(side_, operations_.table());
    for (std::uint64_t n = first; n < buckets; n += step) all.hand_out(first_bucket + n, to);
  }

  /// A step of a load of copies. The batch has no part in it.
  DURAHASH_ON_DEVICE void copies(copies_step what, const copy_task* tasks, std::size_t count,
                                 std::size_t first, std::size_t step) {
    for (std::size_t i = first; i < count; i += step) operations_.copies(what, tasks[i]);
  }

  /// Operations that found no room are to be done again.
  DURAHASH_ON_DEVICE void retry_full(std::size_t first, std::size_t step) {
    for (std::size_t at = first * width; at < all_.count; at += step * width)
      warp().hold([&](unsigned n) {
        if (at + n < all_.count && all_.answers[at + n] == status::no_space)
          all_.answers[at + n] = pending;
        return true;
      });
  }

 private:
  static constexpr unsigned width = std::remove_cvref_t<decltype(Side::warp)>::width,
                            numbers = std::remove_cvref_t<decltype(Side::warp)>::numbers;

  DURAHASH_ON_DEVICE auto& warp() const noexcept { return side_.warp; }
  DURAHASH_ON_DEVICE unsigned count_from(std::size_t at) const {
    return at >= all_.count          ? 0
           : all_.count - at < width ? static_cast<unsigned>(all_.count - at)
                                     : width;
  }
  DURAHASH_ON_DEVICE auto hashes_from(std::size_t at) const {
    return warp().hold([&](unsigned n) {
      return at + n < all_.count ? operations_.hash_of(all_.keys[at + n]) : std::uint64_t{0};
    });
  }
  /// One addition for all that a tile has missed.
  DURAHASH_ON_DEVICE void list_missed(std::size_t at, std::uint32_t missed) const {
    std::uint64_t first = warp().one(missed != 0, [&] {
      return side_.own_count(*all_.missed.count, static_cast<std::uint64_t>(count_bits(missed)));
    });
    if (all_.missed.indices == nullptr) return;
    warp().hold([&](unsigned n) {
      if ((missed >> n & 1) == 0) return false;
      auto before =
          static_cast<unsigned>(count_bits(missed & static_cast<std::uint32_t>(low_bits(n))));
      all_.missed.indices[first + before] = static_cast<std::uint32_t>(at + n);
      return true;
    });
  }
  /// Calls does(mine, hash, value, answer) for each that is pending, again and again while it
  /// answers false: `mine` says whether it is to do anything. All that it takes it gives back
  /// before it returns, so that none waits for the stripe of one of its warp that waits for it. Of
  /// a warp's operations of one key the first does all.
  template <class Does>
  DURAHASH_ON_DEVICE void for_pending(std::size_t first, std::size_t step, Does&& does) {
    for (std::size_t at = first * width; warp().in_any_tile(at < all_.count); at += step * width) {
      auto hashes = hashes_from(at);
      auto answers = warp().hold(
          [&](unsigned n) { return at + n < all_.count ? all_.answers[at + n] : status::ok; });
      auto before = answers;
      auto values = warp().hold([&](unsigned n) {
        return all_.what != action::erase && at + n < all_.count ? all_.values[at + n]
                                                                 : std::uint64_t{0};
      });
      auto twins = warp().alike(
          hashes, warp().hold([&](unsigned n) { return warp().of(answers, n) == pending; }));
      const bool any_led = warp().in_any_tile(warp().ballot(warp().hold([&](unsigned n) {
        return count_bits(warp().of(twins, n)) > 1;
      })) != 0);
      if (any_led) let_lead(twins, answers, values);
      DURAHASH_ROLLED
      for (unsigned n = 0; n < width; ++n) {
        status answer = warp().from(answers, n);
        bool waits = answer == pending;
        std::uint64_t hash = warp().from(hashes, n), value = warp().from(values, n);
        for (bool again = false; warp().in_any_tile(waits); again = true) {
          if (again) side_.wait();  // ends: who holds a stripe waits for nobody
          bool done = does(waits, hash, value, answer);
          waits = waits && !done;
        }
        warp().keep(answers, n, answer);
        warp().keep(values, n, value);
      }
      if (any_led) answer_led(twins, answers, values);
      warp().hold([&](unsigned n) {
        if (at + n >= all_.count || warp().of(answers, n) == warp().of(before, n)) return false;
        all_.answers[at + n] = warp().of(answers, n);
        if (all_.what == action::find_or_insert && warp().of(answers, n) == status::exists)
          all_.values[at + n] = warp().of(values, n);
        return true;
      });
    }
  }
  /// The first of each key gets what all of them come to: one after another, in their order. The
  /// others are left to it.
  template <class Twins, class Answers, class Values>
  DURAHASH_ON_DEVICE void let_lead(const Twins& twins, Answers& answers, Values& values) const {
    const Values own = values;
    if (all_.what == action::put || all_.what == action::update) {
      values = warp().hold([&](unsigned n) {
        std::uint32_t mine = warp().of(twins, n);
        return warp().from_far(
            own, mine == 0 ? warp().number_of(n) : static_cast<unsigned>(highest_bit(mine)));
      });
    } else if (all_.what == action::add) {
      values = warp().hold([](unsigned) { return std::uint64_t{0}; });
      DURAHASH_ROLLED
      for (unsigned number = 0; number < numbers; ++number)
        values = warp().hold([&](unsigned n) {
          std::uint64_t more = warp().from_far(own, number);
          return warp().of(values, n) + ((warp().of(twins, n) >> number & 1) != 0 ? more : 0);
        });
    }
    answers = warp().hold([&](unsigned n) {
      std::uint32_t mine = warp().of(twins, n);
      bool leads = mine == 0 || static_cast<unsigned>(lowest_bit(mine)) == warp().number_of(n);
      return leads ? warp().of(answers, n) : led;
    });
  }
  /// What they are answered that came behind it.
  template <class Twins, class Answers, class Values>
  DURAHASH_ON_DEVICE void answer_led(const Twins& twins, Answers& answers, Values& values) const {
    auto leader = warp().hold([&](unsigned n) {
      std::uint32_t mine = warp().of(twins, n);
      return mine == 0 ? warp().number_of(n) : static_cast<unsigned>(lowest_bit(mine));
    });
    const Answers of_leaders = answers;
    const Values there = values;
    answers = warp().hold([&](unsigned n) {
      status of_leader = warp().from_far(of_leaders, warp().of(leader, n));
      if (warp().of(of_leaders, n) != led) return warp().of(of_leaders, n);
      if (of_leader != status::ok) return of_leader;
      return all_.what == action::erase ? status::not_found
             : all_.what == action::insert || all_.what == action::find_or_insert ? status::exists
                                                                                  : status::ok;
    });
    values = warp().hold([&](unsigned n) { return warp().from_far(there, warp().of(leader, n)); });
  }
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push  // it takes the value of an optional that has none to be read
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
  /// The decider of an operation, one for all kinds: a kernel has the code of a write once.
  /// `value` becomes the present one where the key is to be found.
  DURAHASH_ON_DEVICE auto decider(std::uint64_t& value) const {
    return [ what = all_.what, &value ](const std::optional<std::uint64_t>& present)
        __attribute__((always_inline)) {
      using detail::write_mode;
      using enum action;
      if (what == erase) return erase_decider<std::uint64_t>()(present);
      if (what == find_or_insert && present) value = *present;
      write_mode mode = what == put || what == add                 ? write_mode::put
                        : what == insert || what == find_or_insert ? write_mode::insert
                                                                   : write_mode::update;
      return decide_write(mode, what == add && present ? value + *present : value)(present);
    };
  }
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
  /// A store, and no addition: each of these crosses the bus to the host's memory and back.
  DURAHASH_ON_DEVICE void tell_full(bool full) const {
    warp().one_does(full && all_.full != nullptr,
                    [&] { side_.own_store_in_any_order(*all_.full, 1u); });
  }
  DURAHASH_ON_DEVICE void add(const tallies& mine) const {
    warp().one_does(true, [&] { side_.add(total_, mine); });
  }

  Side& side_;
  operations<Side, Shape> operations_;
  const batch& all_;
  tallies& total_;
};

}  // namespace durahash::gpu
