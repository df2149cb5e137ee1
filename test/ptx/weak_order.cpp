#include "test/ptx/weak_order.hpp"

#include <algorithm>

#include "test/ptx/memory.hpp"

namespace durahash::ptx {
// --------------------------------------------------------------------------------------- view

view::stamp view::at(std::uint64_t address) const {
  if (all_ == nullptr) return 0;
  auto found = std::lower_bound(all_->begin(), all_->end(), entry{address, 0});
  return found != all_->end() && found->first == address ? found->second : 0;
}

void view::raise(std::uint64_t address, stamp least) {
  if (at(address) >= least) return;
  all_ = all_ == nullptr         ? std::make_shared<std::vector<entry>>()
         : all_.use_count() == 1 ? all_
                                 : std::make_shared<std::vector<entry>>(*all_);
  auto found = std::lower_bound(all_->begin(), all_->end(), entry{address, 0});
  if (found != all_->end() && found->first == address) found->second = least;
  else all_->insert(found, {address, least});
}

void view::join(const view& other) {
  if (other.all_ == nullptr || other.all_ == all_) return;
  if (all_ == nullptr) return static_cast<void>(all_ = other.all_);
  auto both = std::make_shared<std::vector<entry>>();
  both->reserve(all_->size() + other.all_->size());
  auto mine = all_->begin(), its = other.all_->begin();
  while (mine != all_->end() || its != other.all_->end()) {
    bool only_its = mine == all_->end() || (its != other.all_->end() && its->first < mine->first);
    bool only_mine = its == other.all_->end() || (mine != all_->end() && mine->first < its->first);
    if (only_its) both->push_back(*its++);
    else if (only_mine) both->push_back(*mine++);
    else both->push_back({mine->first, std::max((mine++)->second, (its++)->second)});
  }
  all_ = std::move(both);
}

// ------------------------------------------------------------------------------------ accesses

std::uint64_t weak_order::read(actor& by, const access& a) {
  cell* c = find(a);
  if (c == nullptr) return read_now(a.address, a.bytes);
  check_race(by, a, *c, false);
  const message& m =
      c->messages[ways_.walks() ? one_of(by, a, *c, [](std::uint64_t) { return false; })
                                : drawn_from(by, a, *c)];
  take(by, a, m);
  return m.value;
}

std::size_t weak_order::drawn_from(const actor& by, const access& a, const cell& c) {
  view::stamp least = by.seen.at(a.address);
  std::size_t first = c.messages.size() - 1;
  while (first > 0 && c.messages[first - 1].stamp >= least) --first;
  std::size_t all = c.messages.size() - first;
  // half of the time the newest, so that who waits for a store sees it in the end
  std::uint64_t drawn = all_the_same_ ? drawn_ : ways_();
  return first + (all == 1 || drawn % 2 == 0 ? all - 1 : (drawn >> 1) % all);
}

void weak_order::write(actor& by, const access& a, std::uint64_t value) {
  cell& c = find_or_make(a);
  check_race(by, a, c, true);
  put(by, a, c, place(by, a, c), value);
}

/// Behind what the thread has seen, and perhaps before what it has not: two threads' stores to two
/// words may be seen in either order. Nothing comes between an update and what it has read.
std::size_t weak_order::place(const actor& by, const access& a, const cell& c) {
  view::stamp least = by.seen.at(a.address);
  const std::size_t last = c.messages.size() - 1;
  if (ways_.walks()) {
    found_.clear();
    for (std::size_t n = last + 1; n-- > 0 && c.messages[n].stamp >= least;)
      if (!c.messages[n].is_updated) found_.push_back(n);
    return found_[ways_.below(found_.size())];
  }
  std::size_t behind = last;
  while (behind > 0 && c.messages[behind - 1].stamp >= least && ways_() % 4 == 0) --behind;
  bool fits = behind != last && c.messages[behind].stamp >= least &&
              !c.messages[behind].is_updated &&
              c.messages[behind + 1].stamp - c.messages[behind].stamp >= 2;
  return fits ? behind : last;
}

void weak_order::put(actor& by, const access& a, cell& c, std::size_t behind, std::uint64_t value) {
  message m = made(by, a, value);
  message& before = c.messages[behind];
  const bool last = behind + 1 == c.messages.size();
  const view::stamp room = last ? 2 * gap : c.messages[behind + 1].stamp - before.stamp;
  if (room < 2) throw fault("a walk with too many stores to one word");
  m.stamp = before.stamp + room / 2;
  by.seen.raise(a.address, m.stamp);
  if (releases(a.order))
    for (std::size_t s = 0; s <= static_cast<std::size_t>(a.seen_by); ++s) m.released[s] = by.seen;
  if (a.of != nullptr && a.of->what == opcode::atomic) {
    before.is_updated = true;
    if (is_handed(by, a, before))  // goes on with what it read from
      for (std::size_t s = 0; s < scopes; ++s) m.released[s].join(before.released[s]);
  }
  c.messages.insert(c.messages.begin() + static_cast<std::ptrdiff_t>(behind) + 1, std::move(m));
  if (!last) return;
  constexpr std::size_t most = 24;
  if (c.messages.size() > most && !ways_.walks())
    c.messages.erase(c.messages.begin(), c.messages.begin() + most / 2);
  write_now(a.address, a.bytes, value);
}

void weak_order::take(actor& by, const access& a, const message& m) {
  by.seen.raise(a.address, m.stamp);
  if (!is_handed(by, a, m)) return;
  auto between = static_cast<std::size_t>(distance(by, m));
  if (acquires(a.order)) by.seen.join(m.released[between]);
  else by.to_acquire[between].join(m.released[between]);
}

/// Both are strong, and the scope of each includes the other's thread.
bool weak_order::is_handed(const actor& by, const access& a, const message& m) {
  scope between = distance(by, m);
  return a.order != strength::weak && m.strong && m.seen_by >= between && a.seen_by >= between;
}

void weak_order::fence(actor& by, strength order, scope s) {
  for (std::size_t n = 0; n <= static_cast<std::size_t>(s); ++n) by.seen.join(by.to_acquire[n]);
  if (order == strength::sequential) {
    view& all = sequential_[static_cast<std::size_t>(s)];
    by.seen.join(all);
    all.join(by.seen);
    by.slept_at = 0;
    last_sequential_ = events_++;
  }
  for (std::size_t n = 0; n <= static_cast<std::size_t>(s); ++n) by.released[n] = by.seen;
}

void weak_order::meet(const std::vector<actor*>& all) {
  view together;
  for (const actor* each : all) together.join(each->seen);
  for (actor* each : all) each->seen = together;
}

bool weak_order::has_way(const actor& by, const instruction& next, std::uint64_t address) const {
  if (by.slept_at == 0) return true;
  if (next.what == opcode::fence) return last_sequential_ >= by.slept_at;
  auto at = cells_.find(address);
  return at != cells_.end() &&
         std::any_of(at->second.messages.begin(), at->second.messages.end(), [&](const message& m) {
           return m.event >= by.slept_at && m.stamp >= by.seen.at(address);
         });
}

weak_order::message weak_order::made(const actor& by, const access& a, std::uint64_t value) {
  message m{0,     events_++, value, by.block, by.is_host, a.order != strength::weak,
            false, a.seen_by, {},    a.of};
  if (m.strong)
    for (std::size_t s = 0; s <= static_cast<std::size_t>(a.seen_by); ++s)
      m.released[s] = by.released[s];
  return m;
}

scope weak_order::distance(const actor& a, const message& m) {
  if (a.is_host != m.by_host) return scope::system;
  return a.block == m.block ? scope::block : scope::device;
}

/// One of the two is weak, and nothing orders them.
void weak_order::check_race(const actor& by, const access& a, const cell& c, bool writes) {
  if (!finds_races) return;
  view::stamp seen = by.seen.at(a.address);
  for (auto m = c.messages.rbegin(); m != c.messages.rend() && m->stamp > seen; ++m) {
    if (a.order != strength::weak && m->strong) continue;
    if (m->by_host) continue;  // the program's own
    races.insert(std::string(writes ? "store" : "load") + " '" + (a.of ? a.of->text : "host") +
                 "' beside '" + (m->of ? m->of->text : "host") + "'");
    return;
  }
}

// --------------------------------------------------------------------------------------- cells

weak_order::cell* weak_order::find(const access& a) {
  auto at = cells_.find(a.address);
  if (at != cells_.end() && at->second.bytes == a.bytes)
    return notice_the_program(a.address, at->second), &at->second;
  // of other widths: what overlaps is from now on what memory has
  std::uint64_t first = a.address & ~std::uint64_t{7};
  for (std::uint64_t n = first; n < first + 8; ++n)
    if (auto other = cells_.find(n);
        other != cells_.end() && n < a.address + a.bytes && a.address < n + other->second.bytes)
      cells_.erase(other);
  return nullptr;
}

weak_order::cell& weak_order::find_or_make(const access& a) {
  if (cell* there = find(a)) return *there;
  cell& c = cells_[a.address];
  c.bytes = a.bytes;
  message first{0,  0,      read_now(a.address, a.bytes), 0, true, true, false, scope::system,
                {}, nullptr};
  c.messages.assign(1, first);
  return c;
}

void weak_order::notice_the_program(std::uint64_t address, cell& c) {
  std::uint64_t now = read_now(address, c.bytes);
  if (c.messages.back().value == now) return;
  message m{c.messages.back().stamp + gap,
            events_++,
            now,
            0,
            true,
            true,
            false,
            scope::system,
            {},
            nullptr};
  c.messages.push_back(m);
}

void weak_order::see_the_program() {
  for (auto& [address, c] : cells_) {
    std::size_t before = c.messages.size();
    notice_the_program(address, c);
    if (c.messages.size() != before) host.seen.raise(address, c.messages.back().stamp);
  }
}

void weak_order::forget(std::uint64_t address, std::uint64_t bytes) {
  std::erase_if(cells_, [&](const auto& each) {
    return each.first < address + bytes && address < each.first + each.second.bytes;
  });
}

void weak_order::settle() {
  cells_.clear();
  host = {};
  host.is_host = true;
  for (view& v : sequential_) v.clear();
  events_ = 1, last_sequential_ = 0;
}

std::vector<weak_order::word> weak_order::as_the_host_may_find(
    const std::vector<std::pair<std::uint64_t, std::uint64_t>>& pieces) {
  std::vector<std::uint64_t> addresses;
  for (auto& [address, c] : cells_) {
    notice_the_program(address, c);
    for (auto [first, end] : pieces)
      if (address >= first && address < end) addresses.push_back(address);
  }
  std::sort(addresses.begin(), addresses.end());
  std::shuffle(addresses.begin(), addresses.end(), ways_);
  view least = host.seen;
  std::unordered_map<std::uint64_t, const message*> chosen;
  for (bool changed = true; changed;) {  // ends: stamps only rise
    changed = false;
    for (std::uint64_t address : addresses) {
      const std::vector<message>& all = cells_[address].messages;
      view::stamp from = least.at(address);
      const message*& now = chosen[address];
      if (now != nullptr && now->stamp >= from) continue;
      std::size_t first = all.size() - 1;
      while (first > 0 && all[first - 1].stamp >= from) --first;
      now = &all[first + ways_() % (all.size() - first)];
      if (now->strong && now->seen_by == scope::system)
        least.join(now->released[static_cast<std::size_t>(scope::system)]);
      changed = true;
    }
  }
  std::vector<word> found;
  for (std::uint64_t address : addresses)
    found.push_back({address, chosen[address]->value, cells_[address].bytes});
  return found;
}

}  // namespace durahash::ptx
