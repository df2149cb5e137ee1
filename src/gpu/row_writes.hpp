// GPHash with byte values as a device writes it: records that the processor has handed out cells
// for, and the slots that lead to them. By steps, each of all of a batch before the next:
//
//   lead     of the operations of each key one is chosen: that which counts, if they are done one
//            after another. Nothing of the pool is read
//   look     by that one: where its key is, and what is to change
//   write    the records, in their cells; insertions claim a slot, and store what it leads to
//     crash: recovery empties the slots; cells that nothing leads to are free
//   commit   COMMIT: one word of each change: the fingerprint, the value word, or of a removal
//            `empty`
//     crash: each before or after its word
//
// Behind `write` and behind `commit` the processor makes durable what was stored (row_commit.hpp).
// Nobody else reads or writes meanwhile: there are no turns and no versions, and compare-and-swap
// decides whose a slot is. The invariants of operations.hpp hold; G3 since a batch that removes
// claims nothing.
#pragma once

#include "gpu/operations.hpp"
#include "gpu/rows.hpp"

namespace durahash::gpu {

enum class row_action : std::uint8_t { put, insert, update, erase };
enum class row_step : std::uint8_t { lead, look, write, commit };

/// What a batch changes for one key.
struct row_change {
  // to be committed; null: nothing is. Before `write` that of an insertion is a slot that was empty
  pm<std::uint64_t>* word = nullptr;
  std::uint64_t next = 0;                // in it
  pm<std::uint64_t>* payload = nullptr;  // the value word of an insertion
  pm<std::uint64_t>* key = nullptr;      // likewise, where its slot has a key
  std::uint64_t record = 0;              // the offset of its cell; 0: it has none
  std::uint64_t replaced = 0;            // of the record whose place it takes
  std::uint64_t replaced_bytes = 0;
  std::uint32_t operation = 0;
  std::uint32_t lane = 0;  // whose slot it is
};

/// Of one step.
struct row_counts {
  std::uint64_t changes = 0;
  std::uint64_t full = 0;  // not 0: an insertion found no room
};

/// A batch, and what its steps leave for one another, in the device's own memory. Trivially
/// copyable: a kernel's parameter.
struct row_writes {
  row_action what;
  std::size_t count;
  const std::uint64_t* keys;
  const std::byte* values;  // value_bytes each
  std::uint64_t value_bytes;
  status* answers;
  status looks_for;        // the answer of who is to be done: `pending`, or no_space
  std::uint32_t* numbers;  // by hash, or behind that: an operation's number, from 1; 0: none
  unsigned numbers_log2;   // at least twice as many as there are operations
  std::uint32_t* firsts;   // by operation: one that stands for its key
  std::uint32_t* ranks;    // by that: which counts most; zeros at first
  row_counts* counts;
  const std::uint32_t* sums_of_bytes;  // crc32c_table
  row_change* changes;
  // in memory of both sides, by change: where its record goes; 0: there is no space
  const std::uint64_t* cells;

  static constexpr unsigned numbers_log2_for(std::uint64_t most) noexcept {
    return log2_ceiling(2 * most);
  }
};
static_assert(std::is_trivially_copyable_v<row_writes>);

/// How long a record is in its cell.
struct row_form {
  std::uint32_t key_bytes;  // in the record
  std::uint32_t value_bytes;
  static constexpr std::uint32_t header_bytes = 8;

  static constexpr row_form of(const leased_rows& rows, std::uint64_t value_bytes) noexcept {
    return {rows.keys_in_slots ? 0 : rows.key_bytes, static_cast<std::uint32_t>(value_bytes)};
  }
  constexpr std::uint64_t bytes() const noexcept {
    return std::uint64_t{header_bytes} + key_bytes + value_bytes;
  }
  constexpr std::uint32_t lengths() const noexcept {
    return record_shape::is_short | key_bytes << 24 | value_bytes;
  }
};

template <class Side>
class row_writer {
 public:
  DURAHASH_ON_DEVICE row_writer(Side& side, const leased_rows& rows, const row_writes& all) noexcept
      : side_(side), rows_(rows), search_(side, rows), copies_(side, rows.table), all_(all) {}

  /// What of a step is this warp's: of operations and changes those first, first + step, ..., or of
  /// pieces of 32 of them, of which each lane does one.
  template <row_step Step>
  DURAHASH_ON_DEVICE void run(std::size_t first, std::size_t step) const {
    if constexpr (Step == row_step::lead)
      by_lanes(all_.count, first, step, [&](std::size_t i) { lead(i); });
    if constexpr (Step == row_step::look)
      for (std::size_t i = first; i < all_.count; i += step)
        if (leads(i) && all_.answers[i] == all_.looks_for) look(i);
    if constexpr (Step == row_step::write) write(first, step);
    if constexpr (Step == row_step::commit) {
      by_lanes(all_.counts->changes, first, step, [&](std::size_t n) { commit(all_.changes[n]); });
      by_lanes(all_.count, first, step, [&](std::size_t i) { follow(i); });
    }
  }
  /// On a device that is not compiled for one step at a time.
  void run(row_step what, std::size_t first, std::size_t step) const {
    switch (what) {
      case row_step::lead: return run<row_step::lead>(first, step);
      case row_step::look: return run<row_step::look>(first, step);
      case row_step::write: return run<row_step::write>(first, step);
      case row_step::commit: return run<row_step::commit>(first, step);
    }
  }

 private:
  static constexpr unsigned lanes = 32;

  DURAHASH_ON_DEVICE auto& warp() const noexcept { return side_.warp; }
  template <class Does>
  DURAHASH_ON_DEVICE void by_lanes(std::size_t count, std::size_t first, std::size_t step,
                                   Does&& does) const {
    for (std::size_t at = first * lanes; at < count; at += step * lanes)
      warp().each([&](unsigned lane) {
        if (at + lane < count) does(at + lane);
        return true;
      });
  }

  // ------------------------------------------------------------------------------- who counts

  /// Of insertions and removals the first one does something, of others the last one.
  DURAHASH_ON_DEVICE bool last_counts() const noexcept {
    return all_.what == row_action::put || all_.what == row_action::update;
  }
  DURAHASH_ON_DEVICE std::uint32_t rank_of(std::size_t i) const noexcept {
    return static_cast<std::uint32_t>(last_counts() ? i + 1 : all_.count - i);
  }
  DURAHASH_ON_DEVICE std::size_t of_rank(std::uint32_t rank) const noexcept {
    return last_counts() ? rank - 1 : all_.count - rank;
  }
  DURAHASH_ON_DEVICE bool leads(std::size_t i) const {
    return all_.ranks[all_.firsts[i]] == rank_of(i);
  }
  DURAHASH_ON_DEVICE void lead(std::size_t i) const {
    const std::uint64_t* key = search_.key_of(all_.keys, i);
    const auto mine = static_cast<std::uint32_t>(i + 1);
    std::uint64_t at = rows_.hash_of(key) * 0x9e3779b97f4a7c15u >> (64 - all_.numbers_log2);
    std::uint32_t number = 0;
    while (true) {  // ends: there are twice as many places as operations
      number = side_.own_load_in_any_order(all_.numbers[at]);
      if (number == 0) {
        if (side_.own_give_if(all_.numbers[at], 0, mine)) number = mine;
        else continue;
      }
      if (number == mine || same_key(key, search_.key_of(all_.keys, number - 1))) break;
      at = (at + 1) & low_bits(all_.numbers_log2);
    }
    all_.firsts[i] = number - 1;
    const std::uint32_t rank = rank_of(i);
    std::uint32_t& most = all_.ranks[number - 1];
    std::uint32_t seen = side_.own_load_in_any_order(most);
    while (seen < rank && !side_.own_give_if(most, seen, rank))
      seen = side_.own_load_in_any_order(most);
  }
  DURAHASH_ON_DEVICE bool same_key(const std::uint64_t* a, const std::uint64_t* b) const {
    for (unsigned n = 0; n < rows_.key_words(); ++n)
      if (a[n] != b[n]) return false;
    return true;
  }
  /// The answer of who does not lead: what it would be behind the others of its key.
  DURAHASH_ON_DEVICE void follow(std::size_t i) const {
    if (leads(i)) return;
    const status of_leader = all_.answers[of_rank(all_.ranks[all_.firsts[i]])];
    status mine = of_leader;
    if (of_leader == status::ok && all_.what == row_action::insert) mine = status::exists;
    if (of_leader == status::ok && all_.what == row_action::erase) mine = status::not_found;
    side_.tell(all_.answers[i], mine);
  }

  // ------------------------------------------------------------------------------- its steps

  DURAHASH_ON_DEVICE void look(std::size_t i) const {
    const std::uint64_t* key = search_.key_of(all_.keys, i);
    const std::uint64_t hash = rows_.hash_of(key);
    typename row_search<Side>::sight seen;
    const status looked = search_.template look<true>(key, hash, seen);
    const bool found = looked == status::ok, inserts = all_.what == row_action::insert,
               erases = all_.what == row_action::erase;
    status answer = status::ok;
    if (looked == status::damaged) answer = looked;
    else if (inserts && found) answer = status::exists;
    else if ((erases || all_.what == row_action::update) && !found) answer = status::not_found;
    warp().one_does(true, [&] {
      side_.tell(all_.answers[i], answer);
      if (answer != status::ok) return;
      row_change c;
      c.operation = static_cast<std::uint32_t>(i);
      if (found) {
        c.word = &(erases ? rows_.state_of(hash, seen.lane) : rows_.value_of(hash, seen.lane));
        c.replaced = seen.offset;  // and what a removal stores is `empty`
        c.replaced_bytes =
            static_cast<std::uint64_t>(seen.value - (rows_.base + seen.offset)) + seen.length;
      } else {
        aim(c, hash, seen.empty);
      }
      all_.changes[side_.own_count(all_.counts->changes, std::uint64_t{1})] = c;
    });
  }

  /// An insertion, at a slot that was empty; or at none.
  DURAHASH_ON_DEVICE void aim(row_change& c, std::uint64_t hash, std::uint32_t empty) const {
    const int room = gphash::places::room_in(rows_.table.where.form(), empty);
    c.lane = static_cast<std::uint32_t>(room);
    c.word = room < 0 ? nullptr : &rows_.state_of(hash, c.lane);
  }

  DURAHASH_ON_DEVICE void write(std::size_t first, std::size_t step) const {
    const std::size_t count = all_.counts->changes;
    for (std::size_t at = first * lanes; at < count; at += step * lanes) {
      auto sums = warp().each(
          [&](unsigned lane) { return at + lane < count ? sum_of(all_.changes[at + lane]) : 0u; });
      auto cells = warp().each([&](unsigned lane) {
        return at + lane < count ? all_.cells[at + lane] : std::uint64_t{0};
      });
      for (unsigned n = 0; n < lanes && at + n < count; ++n)
        write_one(all_.changes[at + n], warp().from(cells, n), warp().from(sums, n));
    }
  }
  DURAHASH_ON_DEVICE void write_one(row_change& c, std::uint64_t cell, std::uint32_t sum) const {
    row_change now = c;
    now.record = cell;
    if (cell == 0) now.word = nullptr;
    else if (now.replaced != 0) now.next = cell;
    else claim(now);
    if (now.word != nullptr) store_record(now, sum);
    warp().one_does(true, [&] {
      c = now;
      if (now.word == nullptr) side_.tell(all_.answers[now.operation], status::no_space);
    });
  }
  /// An insertion: a slot of its key's, that one or another, which leads to its cell; or none.
  DURAHASH_ON_DEVICE void claim(row_change& c) const {
    const std::uint64_t* key = search_.key_of(all_.keys, c.operation);
    const std::uint64_t hash = rows_.hash_of(key);
    bool mine = false;
    while (c.word != nullptr && !mine) {  // ends: each round means that another warp got a slot
      mine = warp().one(
          [&] { return side_.store_if(*c.word, gphash::empty_state, gphash::claimed_state); });
      if (mine) break;
      aim(c, hash, search_.empties(hash));
    }
    warp().one_does(!mine,
                    [&] { side_.own_store_in_any_order(all_.counts->full, std::uint64_t{1}); });
    if (!mine) return;
    c.next = hash;
    c.payload = &rows_.value_of(hash, c.lane);
    if (rows_.keys_in_slots) c.key = rows_.key_of(hash, c.lane);
    warp().one_does(true, [&] { side_.store_in_any_order(*c.payload, c.record); });
    if (c.key != nullptr)
      side_.store_words(c.key, rows_.key_words(), [&](std::uint64_t n) { return key[n]; });
  }
  DURAHASH_ON_DEVICE void commit(const row_change& c) const {
    if (c.word == nullptr) return;
    side_.store_in_any_order(*c.word, c.next);
    copies_.store_alone(*c.word, c.next, c.payload != nullptr ? &c.record : nullptr);
  }

  // --------------------------------------------------------------------------------- records

  DURAHASH_ON_DEVICE const std::byte* value_of(const row_change& c) const {
    return all_.values + c.operation * all_.value_bytes;
  }
  /// The n-th eight bytes of a value; behind its end zeros.
  DURAHASH_ON_DEVICE std::uint64_t word_of_value(const std::byte* value, std::uint64_t n) const {
    if ((reinterpret_cast<std::uintptr_t>(value) | all_.value_bytes) % 8 == 0)
      return reinterpret_cast<const std::uint64_t*>(value)[n];
    std::uint64_t word = 0;
    for (unsigned b = 0; b < 8 && n * 8 + b < all_.value_bytes; ++b)
      word |= static_cast<std::uint64_t>(value[n * 8 + b]) << (8 * b);
    return word;
  }
  /// By one lane: the checksum of its record (persist/record.hpp).
  DURAHASH_ON_DEVICE std::uint32_t sum_of(const row_change& c) const {
    std::uint32_t sum = ~std::uint32_t{0};
    auto add = [&](std::uint64_t word, std::uint64_t bytes) {
      for (std::uint64_t b = 0; b < bytes; ++b, word >>= 8)
        sum = sum >> 8 ^ all_.sums_of_bytes[(sum ^ word) & 255];
    };
    add(row_form::of(rows_, all_.value_bytes).lengths(), 4);
    const std::uint64_t* key = search_.key_of(all_.keys, c.operation);
    for (unsigned n = 0; n < rows_.key_words(); ++n) add(key[n], 8);
    const std::byte* value = value_of(c);
    for (std::uint64_t at = 0; at < all_.value_bytes; at += 8)
      add(word_of_value(value, at / 8), all_.value_bytes - at < 8 ? all_.value_bytes - at : 8);
    return ~sum;
  }
  DURAHASH_ON_DEVICE void store_record(const row_change& c, std::uint32_t sum) const {
    const row_form form = row_form::of(rows_, all_.value_bytes);
    const std::uint64_t header = std::uint64_t{sum} << 32 | form.lengths();
    const unsigned before_value = 1 + form.key_bytes / 8;
    const std::uint64_t* key = search_.key_of(all_.keys, c.operation);
    const std::byte* value = value_of(c);
    auto* to = reinterpret_cast<pm<std::uint64_t>*>(const_cast<std::byte*>(rows_.base) + c.record);
    side_.store_words(to, (form.bytes() + 7) / 8, [&](std::uint64_t n) {
      return n == 0             ? header
             : n < before_value ? key[n - 1]
                                : word_of_value(value, n - before_value);
    });
  }

  Side& side_;
  const leased_rows& rows_;
  row_search<Side> search_;
  const copies_of<Side> copies_;
  const row_writes& all_;
};

}  // namespace durahash::gpu
