#include "explorer/explorer.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/check.hpp"
#include "explorer/failure_report.hpp"
#include "explorer/last_words.hpp"
#include "explorer/turn_scheduler.hpp"

namespace durahash::crash {
namespace {

// of one recovery with all that is checked: far more than any needs
constexpr std::uint64_t max_accesses = 20'000'000;
constexpr unsigned max_seconds = 60;  // likewise

constexpr const char* bypassed =
    "a store of recovery, or of what came after it, bypassed the verbs";

/// Whether a crash after this event can leave what a crash after the next one cannot, or is
/// promised more.
bool is_crash_point(const trace& events, std::size_t i) {
  switch (events[i].kind) {
    case event::what::piece:
      return i + 1 == events.size() || events[i + 1].kind != event::what::piece ||
             events[i + 1].group != events[i].group;
    case event::what::flush:
    case event::what::begin: return false;
    default: return true;
  }
}

}  // namespace

/// Images of one crash point that recovery cannot tell apart: by what it reads, in the order in
/// which it reads it.
struct explorer::prune_tree {
  struct node {
    line_number line = 0;
    bool leaf = true;
    std::unordered_map<std::uint64_t, std::unique_ptr<node>> next;  // by the line's content
  };
  std::unique_ptr<node> root;

  template <class HashOf>
  bool knows(HashOf&& hash_of_line) const {
    const node* at = root.get();
    while (at != nullptr && !at->leaf) {
      auto found = at->next.find(hash_of_line(at->line));
      at = found == at->next.end() ? nullptr : found->second.get();
    }
    return at != nullptr;
  }
  template <class HashOf>
  void learn(const std::vector<line_number>& reads, HashOf&& hash_of_line) {
    std::unique_ptr<node>* at = &root;
    for (line_number line : reads) {
      if (*at == nullptr) *at = std::make_unique<node>();
      (*at)->leaf = false;
      (*at)->line = line;
      at = &(*at)->next[hash_of_line(line)];
    }
    if (*at == nullptr) *at = std::make_unique<node>();
  }
};

/// A crash that came before, and what is said of it where something is wrong after it.
struct explorer::earlier {
  crash_point& at;
  image chosen;
  const char *failed, *told;
  bool background_sleeps = false;  // in the process that comes behind
};

struct explorer::crash_point {
  std::size_t depth;
  const recording& rec;
  cache_model& model;
  oracle& promise;
  std::size_t index;  // of the last event before the crash
  prune_tree known;
  std::vector<bool> interesting;
  const earlier* before;
};

explorer::explorer(const subject_kind& kind, const maker& make, const plan& how, std::uint64_t seed)
    : kind_(kind), make_(make), how_(how) {
  draws_.random.seed(seed);
  level_at(0);
}

explorer::~explorer() = default;

findings& explorer::found() {
  found_.left_out = 0;
  for (auto& l : levels_) found_.left_out += l->listener.left_out();
  return found_;
}

explorer::level& explorer::level_at(std::size_t depth) {
  while (levels_.size() <= depth) {
    levels_.push_back(std::make_unique<level>(places_));
    levels_.back()->listener.leave_out(how_.leave_out);
  }
  return *levels_[depth];
}

bool explorer::run(const program& what) {
  ++found_.programs;
  level& l = level_at(0);
  l.memory.load({});
  recording rec;
  rec.before.resize(what.keys);
  l.listener.limit(max_accesses * 10, [] { last_words("the program does not end"); });
  if (std::string failed = record_watched(l, true, what, rec); !failed.empty()) {
    found_.violations.push_back({failed, report_, {}});
    return found_.violations.size() < how_.max_violations;
  }
  // The pool has a name, and can be found after a crash, only once it is whole: all before the
  // first call is durable, or nobody asks.
  cache_model model{bytes{}};
  oracle promise(rec.before);
  auto begins = [&](const event& e) {
    return e.kind == event::what::begin && e.value == what.prepares;
  };
  auto first = std::find_if(rec.events.begin(), rec.events.end(), begins);
  note_places({rec.events.begin(), first}, places_, found_.places);
  for (auto e = rec.events.begin(); e != first; ++e) happen(*e, rec, model, promise);
  rec.events.erase(rec.events.begin(), first);
  return explore(rec, std::move(model), std::move(promise));
}

void explorer::happen(const event& e, const recording& rec, cache_model& model, oracle& promise) {
  model.apply(e, places_);
  if (e.kind == event::what::begin) promise.begin(rec.calls[e.value]);
  if (e.kind == event::what::end) promise.end(rec.calls[e.value]);
}

std::string explorer::record_watched(level& l, bool create, const program& what, recording& into) {
  std::string plain_store;
  l.listener.watch_for_plain_stores([&](const std::string& why) { plain_store = why; });
  std::string failed = record(kind_, make_, l.memory, l.listener, create, what, into);
  l.listener.watch_for_plain_stores(nullptr);
  return failed.empty() ? plain_store : failed;
}

bool explorer::explore(const recording& rec, cache_model model, oracle promise) {
  return explore_level(0, rec, model, promise, nullptr);
}

bool explorer::explore_level(std::size_t depth, const recording& rec, cache_model& model,
                             oracle& promise, const earlier* before) {
  level& l = level_at(depth);
  note_places(rec.events, places_, found_.places);
  l.memory.load(model.durable());
  l.listener.forget_touched();
  model.take_changed();
  crash_point at{depth, rec, model, promise, 0, {}, {}, before};
  trace_hash so_far;
  auto known = [&] { return depth == 0 && !explored_.insert(so_far.value()).second; };
  if (!known() && !crash_here(at)) return false;
  for (std::size_t i = 0; i < rec.events.size(); ++i) {
    at.index = i;
    happen(rec.events[i], rec, model, promise);
    so_far.add(rec.events[i], rec);
    if (is_crash_point(rec.events, i) && !known() && !crash_here(at)) return false;
  }
  catch_up(at);
  if (stores_were_put_back(at)) return true;
  report(at, {}, bypassed);
  return found_.violations.size() < how_.max_violations;
}

/// The memory becomes what is durable now.
void explorer::catch_up(crash_point& at) {
  level& l = level_at(at.depth);
  const bytes& durable = at.model.durable();
  for (line_number line : at.model.take_changed())
    if (std::uint64_t from = std::uint64_t{line} * line_bytes; from + line_bytes <= durable.size())
      std::memcpy(l.memory.base() + from, &durable[from], line_bytes);
  l.memory.set_length(durable.size());
}

/// Recoveries are not watched store by store: what they stored where the verbs did not is still
/// there.
bool explorer::stores_were_put_back(crash_point& at) {
  const bytes& expected = at.model.durable();
  return std::memcmp(level_at(at.depth).memory.base(), expected.data(), expected.size()) == 0;
}

bool explorer::crash_here(crash_point& at) {
  catch_up(at);
  ++found_.cuts;
  at.known.root.reset();
  const effort& how = at.depth == 0 ? how_.images : how_.nested_images;
  if (how_.stops == machine::eadr) {
    image all;
    for (auto& [line, pending] : at.model.pending()) {
      at.model.options_of(line, pending, how.options_per_line);
      if (pending.all != 0) all.push_back({line, pending.all});
    }
    ++found_.whole_cuts;
    return examine(at, all);
  }
  at.interesting.assign(at.model.durable().size() / line_bytes, false);
  for (auto& [line, pending] : at.model.pending()) at.interesting[line] = true;
  bool go = true;
  std::mt19937_64 drawn(draws_.random());
  legal_images legal = images_of(at.model, how, drawn,
                                 [&](const image& chosen) { return go = examine(at, chosen); });
  found_.whole_cuts += legal.all;
  found_.max_log10 = std::max(found_.max_log10, legal.log10);
  if (go && at.depth == 0 && how_.kill_every != 0 && ++draws_.since_kill >= how_.kill_every) {
    draws_.since_kill = 0;
    go = die_and_go_on(at);
  }
  return go;
}

void explorer::put(level& l, cache_model& model, const image& chosen) {
  for (choice c : chosen)
    std::memcpy(l.memory.base() + std::uint64_t{c.line} * line_bytes,
                model.pending().at(c.line).options[c.option].content.data(), line_bytes);
}

void explorer::take_back(level& l, cache_model& model, const image& chosen) {
  auto restore = [&](line_number line) {
    std::uint64_t at = std::uint64_t{line} * line_bytes;
    if (at + line_bytes <= model.durable().size())
      std::memcpy(l.memory.base() + at, &model.durable()[at], line_bytes);
  };
  for (choice c : chosen) restore(c.line);
  for (std::uint32_t line : l.listener.touched()) restore(line);
  l.listener.forget_touched();
  l.memory.set_length(model.durable().size());
}

/// Returns false when to stop.
bool explorer::examine(crash_point& at, const image& chosen) {
  ++found_.images;
  if (at.depth > 0) ++found_.nested;
  if (at.depth == 0) note_commits({at.rec, at.index, at.model, chosen}, places_, found_.commits);
  std::uint64_t hash = hash_of(at.model, chosen) ^ at.promise.hash() * 0x9e3779b97f4a7c15u;
  if (!is_new(at.depth, hash)) return true;
  ++found_.unique_images, ++draws_.images;

  auto content_of = [&](line_number line) {
    const std::vector<line_option>& options = at.model.pending().at(line).options;
    auto c = std::lower_bound(chosen.begin(), chosen.end(), line,
                              [](const choice& a, line_number b) { return a.line < b; });
    return options[c != chosen.end() && c->line == line ? c->option : 0].hash;
  };
  // what nobody reads now may be read after the next crash
  bool every = at.depth == 0 && how_.nested_every == 1;
  bool prunes = how_.stops == machine::adr && !every;
  if (prunes && at.known.knows(content_of)) {
    ++found_.pruned;
    return draws_.images < how_.max_images;
  }

  level& l = level_at(at.depth);
  put(l, at.model, chosen);
  last_words_context([&] { return report(at, chosen, ""), found_.packed(); }, max_seconds);
  l.listener.limit(max_accesses,
                   [] { last_words("recovery, or the first operations after it, do not end"); });
  l.listener.log_reads(prunes ? &at.interesting : nullptr);
  thoroughness how;
  how.go_on = ++draws_.since_go_on >= how_.go_on_every;
  if (how.go_on) draws_.since_go_on = 0;
  verdict v = judge(kind_, make_, l.memory, l.listener, at.promise, how, [&] {
    if (prunes) at.known.learn(l.listener.reads(), content_of);
    l.listener.log_reads(nullptr);
  });
  take_back(l, at.model, chosen);
  last_words_context(nullptr, 0);
  ++found_.recoveries;
  found_.facts_checked += v.facts;
  constexpr std::uint64_t compare_every = 64;
  if (v.violation.empty() && found_.recoveries % compare_every == 0 && !stores_were_put_back(at))
    v.violation = bypassed;
  if (!v.violation.empty()) {
    report(at, chosen, v.violation);
    return found_.violations.size() < how_.max_violations;
  }
  if (is_gone_on_with(at.depth)) return go_on(at, chosen, v.found);
  return draws_.images < how_.max_images;
}

/// One that was met after more crashes is new here: more comes after it.
bool explorer::is_new(std::size_t depth, std::uint64_t hash) {
  for (std::size_t d = 0; d < depth; ++d)
    if (level_at(d).seen.contains(hash)) return false;
  return level_at(depth).seen.insert(hash).second;
}

bool explorer::is_gone_on_with(std::size_t depth) {
  if (static_cast<int>(depth) + 1 >= how_.depth) return false;
  std::size_t& since = depth == 0 ? draws_.since_nested : draws_.since_deeper;
  if (++since < (depth == 0 ? how_.nested_every : how_.deeper_every)) return false;
  since = 0;
  return true;
}

program explorer::next_program(key_number keys) {
  mix how;
  how.operations = how_.nested_operations;
  how.keys = keys;
  program made = random_program(how, draws_.random);
  for (operation& o : made.operations)
    o.version += 2000 + static_cast<std::uint32_t>(draws_.random() % 2000);
  return made;
}

/// The machine comes up with this image; the table recovers, works, and crashes again.
bool explorer::go_on(crash_point& at, const image& chosen,
                     const std::vector<present_value>& found) {
  ++found_.gone_on;
  bytes left = at.model.durable();
  for (choice c : chosen)
    std::memcpy(&left[std::uint64_t{c.line} * line_bytes],
                at.model.pending().at(c.line).options[c.option].content.data(), line_bytes);
  level_at(at.depth + 1).memory.load(left);
  cache_model model(std::move(left));
  oracle promise(found);
  return crash_again({at, chosen, "after recovery: ", "and that was after this crash:"}, found,
                     next_program(at.promise.keys()), model, promise);
}

/// The process is killed here; another one opens what is visible and works, with the first one's
/// stores still in the caches; then the power goes. Every other time that is gone through once
/// more, with nothing done in the background before the power goes. What is looked at later does
/// not depend on it.
bool explorer::die_and_go_on(crash_point& at) {
  if (!die_and_go_on(at, false)) return false;
  if (++kills_ % 2 != 0) return true;
  const draws before = draws_;
  std::vector<std::unordered_set<std::uint64_t>> seen(levels_.size());
  auto swap_seen = [&] {
    for (std::size_t depth = 1; depth < seen.size(); ++depth)
      levels_[depth]->seen.swap(seen[depth]);
  };
  swap_seen();
  const bool goes_on = die_and_go_on(at, true);
  swap_seen();
  draws_ = before;
  return goes_on;
}

bool explorer::die_and_go_on(crash_point& at, bool background_sleeps) {
  if (!background_sleeps) ++found_.killed;
  level_at(at.depth + 1).memory.load(at.model.visible());
  std::vector<present_value> before(at.promise.keys());
  for (key_number k = 0; k < at.promise.keys(); ++k) before[k] = at.promise.allowed(k).front();
  program more = next_program(at.promise.keys());
  if (background_sleeps && how_.nested_operations != 0)
    more.operations.insert(more.operations.begin(), operation{act::scan, {}, 0});
  const int reads = background_sleeps ? 16 : 4;
  for (int n = 0; n < reads; ++n)  // first: what they return must last
    more.operations.insert(
        more.operations.begin(),
        operation{act::get, {static_cast<key_number>(draws_.random() % more.keys)}, 0});
  cache_model model = at.model;
  model.forget_flushes();
  oracle promise = at.promise;
  promise.kill();
  constexpr const char* told =
      "and that was after a kill here, whose stores were still in the caches:";
  return crash_again({at, {}, "after a kill of the process: ", told, background_sleeps}, before,
                     more, model, promise);
}

/// Another process opens what lies in the next level's memory, and works, and is crashed.
bool explorer::crash_again(const earlier& crash, const std::vector<present_value>& before,
                           const program& more, cache_model& model, oracle& promise) {
  level& next = level_at(crash.at.depth + 1);
  next.listener.forget_touched();
  next.listener.limit(max_accesses, [] { last_words("a program after a crash does not end"); });
  last_words_context([&] { return report(crash.at, crash.chosen, ""), found_.packed(); },
                     max_seconds);
  recording rec;
  rec.before = before;
  std::string failed;
  {
    std::optional<asleep> background;
    if (crash.background_sleeps) background.emplace();
    failed = record_watched(next, false, more, rec);
  }
  last_words_context(nullptr, 0);
  if (failed.empty()) return explore_level(crash.at.depth + 1, rec, model, promise, &crash);
  report(crash.at, crash.chosen, crash.failed + failed);
  return found_.violations.size() < how_.max_violations;
}

void explorer::report(const crash_point& at, const image& chosen, const std::string& what) {
  violation made{what, {}, {}};
  auto tell = [&](const crash_point& point, const image& kept) {
    if (point.depth == 0) made.report += report_, made.calls = calls_begun(point.rec, point.index);
    made.report += report_of({point.rec, point.index, point.model, kept}, places_);
  };
  tell(at, chosen);
  for (const earlier* e = at.before; e != nullptr; e = e->at.before) {
    made.report += std::string("\n\n") + e->told;
    tell(e->at, e->chosen);
  }
  found_.violations.push_back(std::move(made));
}

}  // namespace durahash::crash
