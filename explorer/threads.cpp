#include "explorer/threads.hpp"

#include <unordered_set>

#include "base/check.hpp"
#include "explorer/failure_report.hpp"
#include "explorer/last_words.hpp"

namespace durahash::crash {

namespace {

/// One thread makes room for new keys in a crowded table, or has it grow; the others look for keys
/// that this may move, or add one to what has grown.
threaded_program crowd(std::size_t threads, std::mt19937_64& random) {
  threaded_program made;
  auto crowded = static_cast<key_number>(4 + random() % 40);
  made.first.keys = static_cast<key_number>(crowded + 2u + threads);
  bool add = random() % 2 == 0;
  for (key_number k = 0; k < crowded; ++k)
    made.first.operations.push_back({act::put, {k}, 100u + k});
  auto one_of_them = [&] { return static_cast<key_number>(random() % crowded); };
  key_number fresh = crowded + 3u;
  while (made.threads.size() + 1 < threads) {
    made.threads.push_back({{act::get, {one_of_them()}, 0}, {act::get, {one_of_them()}, 0}});
    if (add) made.threads.back().front() = {act::insert, {fresh}, 600u + fresh}, ++fresh;
  }
  made.threads.push_back({});
  if (add && random() % 3 == 0) {  // or it moves all of them
    made.threads.back().push_back({act::compact, {}, 0});
    return made;
  }
  for (key_number k = crowded; k < crowded + 3u; ++k)
    made.threads.back().push_back({act::insert, {k}, 600u + k});
  return made;
}

}  // namespace

threaded_program random_threads(std::size_t threads, std::size_t operations,
                                std::mt19937_64& random) {
  threaded_program made;
  mix how;
  how.keys = random() % 2 == 0 ? 12 : 48;
  how.operations = 6 + random() % 40;  // from nearly empty to about to grow
  how.reopens = false;
  made.first = random_program(how, random);
  if (how.keys > 12)  // paths longer than a bucket
    for (key_number k = 0; k < how.keys; ++k)
      if (random() % 4 != 0) made.first.operations.push_back({act::insert, {k}, 100u + k});
  std::uint32_t version = 500;
  constexpr act acts[] = {act::put,      act::put,      act::insert,     act::update,
                          act::erase,    act::get,      act::get,        act::add,
                          act::put_many, act::get_many, act::erase_many, act::compact};
  auto hot = static_cast<key_number>(random() % how.keys);
  // a duel in a small table: one thread moves a key and lets another one have its place; the others
  // look for it, or move as well
  if (random() % 2 == 0) {
    auto rival = static_cast<key_number>((hot + 1 + random() % (how.keys - 1u)) % how.keys);
    constexpr std::uint32_t same_length = 11;  // of values: a freed cell fits
    made.first.operations = {{act::put, {hot}, ++version}};
    operation update{act::update, {hot}, version + 1}, erase{act::erase, {hot}, 0},
        insert{act::insert, {rival}, version + same_length}, compact{act::compact, {}, 0};
    operation seek{act::get, {hot}, 0}, seek_rival{act::get, {rival}, 0};
    const std::vector<std::pair<std::vector<operation>, std::vector<operation>>> duels = {
        {{update, insert}, {seek, seek_rival}},
        {{erase, insert}, {seek, seek_rival}},
        {{update, compact, insert}, {seek}},
        {{compact}, {insert, seek}}};
    std::size_t chosen = random() % (duels.size() + 2);
    if (chosen >= duels.size()) return crowd(threads, random);
    const auto& [first, others] = duels[chosen];
    // before the one that moves: schedules that begin with them come first
    while (made.threads.size() + 1 < threads) made.threads.push_back(others);
    made.threads.push_back(first);
    return made;
  }
  for (std::size_t t = 0; t < threads; ++t) {
    std::vector<operation>& mine = made.threads.emplace_back();
    for (std::size_t n = 0; n < operations; ++n) {
      operation o{acts[random() % std::size(acts)], {}, ++version};
      bool many = o.what == act::put_many || o.what == act::get_many || o.what == act::erase_many;
      if (o.what == act::compact && random() % 3 != 0) o.what = act::get;
      if (takes_keys(o.what))
        o.keys.push_back(random() % 3 != 0 ? hot : static_cast<key_number>(random() % how.keys));
      if (many) {
        auto other = static_cast<key_number>(random() % how.keys);
        if (other != o.keys.front()) o.keys.push_back(other);
      }
      mine.push_back(std::move(o));
    }
  }
  return made;
}

threaded_program read_beside(std::size_t threads, std::mt19937_64& random) {
  threaded_program made = random_threads(threads, 2, random);
  bool any = false;
  for (std::vector<operation>& all : made.threads)
    for (operation& o : all) {
      if (o.what != act::get) continue;
      o.what = act::get_beside;
      any = true;
    }
  const auto key = static_cast<key_number>(random() % made.first.keys);
  if (!any || random() % 3 == 0)
    made.threads.front() = {{act::get_beside, {key}, 0}, {act::scan_beside, {}, 0}};
  return made;
}

threaded_program updated_while_read() {
  constexpr key_number hot = 4;
  constexpr std::uint32_t same_length = 11;
  operation first{act::put, {hot}, 1}, seek{act::get_beside, {hot}, 0};
  operation update{act::update, {hot}, 1 + same_length},
      update_again{act::update, {hot}, 1 + 2 * same_length};
  return {{{first}, hot + 1u}, {{seek, seek}, {update, update_again}}};
}

threaded_program lent_while_read() {
  constexpr key_number hot = 4, others = 4;
  threaded_program made{{{{act::put, {hot}, 1}}, hot + others + 1u},
                        {{{act::get_beside, {hot}, 0}}, {{act::erase, {hot}, 0}}}};
  for (key_number k = hot + 1; k <= hot + others; ++k)
    made.threads.back().push_back({act::insert, {k}, 1u + k});
  return made;
}

threaded_program scanned_while_written() {
  constexpr key_number usual = 4, escape = 2;  // GPHash keeps that one apart
  operation first{act::put, {usual}, 1}, second{act::put, {escape}, 2};
  operation then{act::update, {usual}, 3}, last{act::update, {escape}, 4};
  return {{{first, second}, usual + 1}, {{then, last}, {{act::scan, {}, 0}}}};
}

threaded_program beside_threads(std::size_t threads, bool closes, std::mt19937_64& random) {
  threaded_program made;
  auto keys = static_cast<key_number>(8 + random() % 32);
  made.first.keys = static_cast<key_number>(keys + 6u);
  for (key_number k = 0; k < keys; ++k) made.first.operations.push_back({act::put, {k}, 100u + k});
  for (key_number k = 0; k < keys; ++k)  // so that there is something to give back
    if (random() % 3 == 0) made.first.operations.push_back({act::erase, {k}, 0});
  made.killed = random() % 2 == 0;
  std::uint32_t version = 500;
  auto key = [&] { return static_cast<key_number>(random() % made.first.keys); };
  auto write = [&] {
    constexpr act acts[] = {act::put,   act::put,   act::insert,   act::update,
                            act::erase, act::erase, act::put_many, act::erase_many};
    operation o{acts[random() % std::size(acts)], {key()}, ++version};
    bool many = o.what == act::put_many || o.what == act::erase_many;
    if (key_number other = key(); many && other != o.keys.front()) o.keys.push_back(other);
    return o;
  };
  auto of_all = [&] {
    constexpr act acts[] = {act::sync, act::reserve, act::scan, act::compact};
    return operation{acts[random() % std::size(acts)], {}, 0};
  };
  if (closes) {
    operation before = random() % 2 == 0 ? of_all() : write();
    made.threads = {{write(), std::move(before), {act::reopen, {}, 0}}};
    return made;
  }
  bool comes_first = random() % 2 == 0;  // whose steps the first schedules vary
  for (std::size_t t = 0; t < threads; ++t)
    if (t == (comes_first ? 0 : threads - 1)) made.threads.push_back({of_all(), of_all()});
    else made.threads.push_back({write(), write()});
  return made;
}

namespace {

/// What is wrong with an open table that nobody uses; nothing, if all is right.
std::string faults_of(subject& table) {
  check_report report = table.check();
  if (!report.ok) return "the check of the open table says: " + report.violations.front();
  if (std::uint64_t lost = table.unaccounted_bytes(); lost != 0)
    return std::to_string(lost) + " bytes of the open pool are neither reachable nor free";
  return {};
}

/// Runs the threads once, as `order` says, on the table in the region. Returns what is wrong with
/// the table then, while it is still open: what no crash image shows, since recovery counts anew.
std::string record_threads(const subject_kind& kind, const maker& make, explorer& x,
                           const threaded_program& what, schedules& order, recording& rec) {
  static turn_scheduler turn;
  tracer& t = x.listener();
  order.begin();
  turns* outside = turns::current();
  turns::install(&turn);
  t.write_to(&rec.events);
  t.limit(5'000'000, [] { last_words("threads run for ever"); });
  std::string why;
  std::unique_ptr<subject> table = make(kind, x.memory(), t, false, why);
  check(table != nullptr, "the threads' table opens");
  std::vector<std::function<void()>> bodies;
  for (unsigned n = 0; n < what.threads.size(); ++n)
    bodies.push_back([&, n] {
      for (const operation& o : what.threads[n]) {
        std::uint64_t number = rec.calls.size();
        call& c = rec.calls.emplace_back(prepare(o, kind.words(), rec.before, n));
        t.begin(number);
        table->perform(c);
        t.end(number);
      }
    });
  t.use(&turn);
  turn.run(bodies, [&](const std::vector<unsigned>& ready, bool forced) {
    return order.decide(ready, forced);
  });
  t.use(nullptr);
  t.write_to(nullptr);
  std::string fault;
  for (const call& c : rec.calls)
    if (fault.empty()) fault = c.fault;
  if (fault.empty() && rec.calls.back().what.what == act::reopen) {  // it is closed
    table.reset();
    table = make(kind, x.memory(), t, false, why);
    if (table == nullptr) fault = "it does not open after a clean close: " + why;
  }
  if (fault.empty()) fault = faults_of(*table);
  table.reset();
  turns::install(outside);
  return fault;
}

}  // namespace

bool explore_threads(const subject_kind& kind, const maker& make, explorer& x,
                     const threaded_program& what, const schedule_plan& how,
                     std::mt19937_64& random) {
  // The table as the threads find it. What a killed process left may all be durable, and is here.
  region& r = x.memory();
  r.load({});
  recording filled;
  filled.before.resize(what.first.keys);
  program first = what.first;
  if (!what.killed) first.operations.push_back({act::reopen, {}, 0});
  if (std::string failed = record(kind, make, r, x.listener(), true, first, filled);
      !failed.empty()) {
    x.found().violations.push_back({failed, "", ""});
    return false;
  }
  std::vector<present_value> before = filled.before;
  for (const call& c : filled.calls) learn(c, before);
  const bytes found = r.copy();
  const cache_model durable(found);

  ++x.found().threaded;
  // traces: schedules that differ in what was read when, and not in what came of it, are one
  std::unordered_set<std::uint64_t> explored;
  // First with one preemption, so that where not all schedules can be run the simplest are.
  for (unsigned preemptions : {1u, how.preemptions}) {
    bool last = preemptions == how.preemptions;
    schedules order({preemptions, last ? how.max_schedules : how.max_schedules / 2}, random);
    do {
      ++x.found().schedules;
      r.load(found);
      recording rec;
      rec.before = before;
      std::string fault = record_threads(kind, make, x, what, order, rec);
      if (!fault.empty()) {
        x.found().violations.push_back({fault, calls_of(rec, rec.calls.size()), ""});
        return false;
      }
      if (!explored.insert(hash_of(rec)).second) continue;
      ++x.found().traces;
      if (!x.explore(rec, durable, oracle(before))) return false;
    } while (order.next());
    if (last) x.found().exhausted += order.all();
    if (last) break;
  }
  return true;
}

}  // namespace durahash::crash
