// Memory that is not seen at once: what PTX's memory model lets a thread read, as a machine of
// views. Every store is a message at its address; a thread reads any that is not older than what
// it has seen there. Acquire, release and fences, whose scopes include both threads, hand over what
// was seen. Out of reach, since a load here happens before the stores behind it: load buffering.
#pragma once

#include <memory>
#include <set>
#include <unordered_map>
#include <vector>

#include "test/ptx/choices.hpp"
#include "test/ptx/instruction.hpp"

namespace durahash::ptx {

/// By address the oldest message that may still be read. Copies share what they have.
class view {
 public:
  using stamp = std::uint64_t;
  stamp at(std::uint64_t address) const;
  void raise(std::uint64_t address, stamp least);
  void join(const view& other);
  bool same_as(const view& other) const { return all_ == other.all_; }
  bool empty() const { return all_ == nullptr; }
  void clear() { all_.reset(); }

 private:
  using entry = std::pair<std::uint64_t, stamp>;
  std::shared_ptr<std::vector<entry>> all_;  // in the order of addresses
};

inline constexpr std::size_t scopes = 3;

/// A thread of a kernel, or the host's.
struct actor {
  view seen;
  view to_acquire[scopes];  // of relaxed loads, for a fence of at least that scope
  view released[scopes];    // by fences, for relaxed stores
  std::uint64_t block = 0;
  bool is_host = false;
  std::uint64_t slept_at = 0;  // in a walk: its next step has had what was there before this event
};

/// An access in the words of its instruction.
struct access {
  std::uint64_t address;
  unsigned bytes;
  strength order;
  scope seen_by;
  const instruction* of;
};

class weak_order {
 public:
  explicit weak_order(choices& ways) : ways_(ways) { host.is_host = true; }

  actor host;
  bool finds_races = true;
  std::set<std::string> races;  // the two accesses of each, in words

  /// Before an instruction: its lanes see the same old or new stores, or each its own.
  void draw() {
    if (ways_.walks()) return;
    drawn_ = ways_();
    all_the_same_ = ways_() % 4 != 0;
  }
  std::uint64_t read(actor& by, const access& a);
  void write(actor& by, const access& a, std::uint64_t value);
  /// `change(old)`: whether there is a new value, which it puts in place of the old one.
  template <class Change>
  std::uint64_t update(actor& by, const access& a, Change&& change) {
    cell& c = find_or_make(a);
    check_race(by, a, c, true);
    const std::size_t from = ways_.walks() ? one_of(by, a, c, change) : c.messages.size() - 1;
    const std::uint64_t old = c.messages[from].value;
    std::uint64_t next = old;
    take(by, a, c.messages[from]);
    // drawn: a comparison that fails counts, too, so that seeds give what they gave
    if (!ways_.walks()) c.messages[from].is_updated = true;
    if (change(next)) put(by, a, c, from, next);
    return old;
  }
  void fence(actor& by, strength order, scope s);
  /// What each has seen, all have.
  static void meet(const std::vector<actor*>& all);

  // Of orders of steps that none can tell apart a walk takes one. A thread that lets another one go
  // first sleeps: its step came first in executions before. A store at its address wakes it, and
  // it gets the new message alone. With an older one it is as if it had come before the store.

  void sleep(actor& by) const { by.slept_at = ways_.takes_every_order() ? 0 : events_; }
  /// Whether there is a way for its next step that it has not had.
  bool has_way(const actor& by, const instruction& next, std::uint64_t address) const;

  /// What the program has stored itself, without a call, is before what it starts from now on.
  void see_the_program();
  /// The program has stored there itself, by a call of the runtime.
  void forget(std::uint64_t address, std::uint64_t bytes);
  /// Nothing runs: all is seen.
  void settle();

  struct word {
    std::uint64_t address, value;
    unsigned bytes;
  };
  /// Memory of these pieces as a host may find it that looks now: of each word one message, and
  /// nothing without what was released to the system before it.
  std::vector<word> as_the_host_may_find(
      const std::vector<std::pair<std::uint64_t, std::uint64_t>>& pieces);

 private:
  struct message {
    view::stamp stamp;
    std::uint64_t event;  // its number among all stores
    std::uint64_t value;
    std::uint64_t block;
    bool by_host, strong, is_updated;
    scope seen_by;
    view released[scopes];
    const instruction* of;
  };
  struct cell {
    unsigned bytes = 0;
    std::vector<message> messages;  // oldest first; the last is what memory has
  };
  static constexpr view::stamp gap = view::stamp{1} << 20;

  cell* find(const access& a);
  cell& find_or_make(const access& a);
  void notice_the_program(std::uint64_t address, cell& c);
  void check_race(const actor& by, const access& a, const cell& c, bool writes);
  void take(actor& by, const access& a, const message& m);
  static bool is_handed(const actor& by, const access& a, const message& m);
  /// Behind the message of that number.
  void put(actor& by, const access& a, cell& c, std::size_t behind, std::uint64_t value);
  std::size_t place(const actor& by, const access& a, const cell& c);
  // Which message is read.
  std::size_t drawn_from(const actor& by, const access& a, const cell& c);
  /// In a walk. An update is next to what it reads.
  template <class Change>
  std::size_t one_of(actor& by, const access& a, const cell& c, Change&& change) {
    std::vector<std::size_t>& all = found_;
    all.clear();
    for (std::size_t n = c.messages.size(); n-- > 0;) {
      const message& m = c.messages[n];
      std::uint64_t next = m.value;
      if (m.stamp >= by.seen.at(a.address) && m.event >= by.slept_at &&
          !(m.is_updated && change(next)))
        all.push_back(n);
    }
    by.slept_at = 0;
    if (all.empty()) throw seen_before();
    return all[ways_.below(all.size())];
  }
  message made(const actor& by, const access& a, std::uint64_t value);
  static scope distance(const actor& a, const message& m);

  choices& ways_;
  std::uint64_t events_ = 1, last_sequential_ = 0;
  std::vector<std::size_t> found_;
  std::uint64_t drawn_ = 0;
  bool all_the_same_ = false;
  std::unordered_map<std::uint64_t, cell> cells_;
  view sequential_[scopes];
};

}  // namespace durahash::ptx
