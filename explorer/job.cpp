#include "explorer/job.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "explorer/explorer.hpp"
#include "explorer/last_words.hpp"
#include "explorer/moments.hpp"
#include "explorer/planted_bugs.hpp"
#include "explorer/threads.hpp"
#include "media/recording_medium.hpp"

namespace durahash::crash {
namespace {

std::string text_of(const threaded_program& p) {
  std::string text = "first:";
  for (const operation& o : p.first.operations) text += "  " + text_of(o) + ";";
  text += p.killed ? "  killed;" : "  closed;";
  for (std::size_t t = 0; t < p.threads.size(); ++t) {
    text += "\n  thread " + std::to_string(t) + ":";
    for (const operation& o : p.threads[t]) text += "  " + text_of(o) + ";";
  }
  return text;
}

/// How much of what is looked at.
plan plan_of(const job& j, pace speed) {
  plan how;
  how.stops = j.stops;
  bool quick = speed == pace::quick;  // something is known to be wrong: it will show
  if (speed != pace::deep) {
    how.images = {.all_up_to = 512, .options_per_line = 24, .lines_each = 24, .samples = 16};
    how.nested_every = 200, how.deeper_every = 800;
    how.max_images = 250'000;  // of one program: some have more than an hour goes through
  }
  if (quick) {
    how.images = {.all_up_to = 64, .options_per_line = 10, .lines_each = 8, .samples = 6};
    how.nested_every = 2000, how.deeper_every = 8000, how.kill_every = 20, how.go_on_every = 8;
    how.max_images = 300'000;  // a level that is written within a short program: millions
  }
  constexpr key_number few = 4;
  // these are soon done
  if (j.variant->keys != 0 && j.variant->keys <= few)
    how.nested_every = quick ? 40 : 24, how.kill_every = 1;
  if (j.stops == machine::eadr) how.kill_every = 0, how.nested_every = 12, how.deeper_every = 48;
  if (is_threaded(j.flavour)) {
    how.images = quick
                     ? effort{.all_up_to = 16, .options_per_line = 6, .lines_each = 4, .samples = 2}
                     : how.nested_images;
    how.nested_every = quick ? 5000 : 400, how.deeper_every = 4 * how.nested_every;
    how.kill_every = quick ? 2000 : 60;
  }
  if (j.flavour == flavour::twice) {
    how.nested_every = how.kill_every = how.nested_operations = 1;
    how.deeper_every = 2000;
    if (!quick)
      how.images = {.all_up_to = 128, .options_per_line = 12, .lines_each = 8, .samples = 6};
    how.nested_images = {.all_up_to = 8, .options_per_line = 4, .lines_each = 3, .samples = 1};
  }
  if (j.flavour == flavour::salvage) {
    how.images = how.nested_images;
    how.nested_every = quick ? 400 : 100, how.deeper_every = 4 * how.nested_every;
    how.kill_every = j.stops == machine::eadr ? 0 : quick ? 100 : 30;
  }
  return how;
}

/// Half of them in order: a program of two threads with two operations each has some hundreds to a
/// few thousand, seldom more, with two preemptions.
std::uint64_t max_schedules(const campaign& what) {
  if (what.schedules != 0) return what.schedules;
  return what.pace == pace::deep ? 100'000 : what.pace == pace::usual ? 8'000 : 400;
}

std::size_t images_to_salvage(pace speed) {
  return speed == pace::deep ? 48 : speed == pace::usual ? 12 : 4;
}

program only(const std::vector<std::size_t>& kept, const program& of) {
  program made{{}, of.keys};
  for (std::size_t i : kept) {
    if (i >= of.operations.size()) continue;
    made.operations.push_back(of.operations[i]);
    made.prepares += i < of.prepares;
  }
  return made;
}

}  // namespace

std::string job::text() const {
  constexpr const char* flavours[] = {"", "/threads", "/twice", "/salvage", "/readers"};
  bool eadr = stops == machine::eadr && kind.level == durability_level::power;
  return kind.text() + (eadr ? "/eadr" : "") + flavours[static_cast<int>(flavour)];
}

std::string job::name() const {
  return text() + "#" + std::to_string(seed) + (program ? "." + std::to_string(*program) : "");
}

std::optional<alteration> alteration_named(const std::string& text) {
  for (auto kind : {elision::what::flush, elision::what::fence, elision::what::order}) {
    std::string before = elision{kind, ""}.text();
    if (text.starts_with(before)) return alteration{elision{kind, text.substr(before.size())}, 0};
  }
  for (const planted_bug& bug : planted_bugs())
    if (text == bug.name) return alteration{std::nullopt, mutant::id_of(bug.name)};
  return std::nullopt;
}

const explored_engine& explored(engine_kind engine) {
  const std::vector<explored_engine>& all = explored_engines();
  auto found = std::find_if(all.begin(), all.end(),
                            [&](const explored_engine& e) { return e.engine == engine; });
  check(found != all.end(), "the engine is explored");
  return *found;
}

std::vector<job> jobs_of(const campaign& what) {
  std::vector<job> all;
  const explored_engine& e = explored(what.engine);
  for (data_kind data : {data_kind::u64, data_kind::bytes}) {
    for (const explored_variant& v : e.variants) {
      if (v.only && *v.only != data) continue;
      subject_kind power{e.engine, data, durability_level::power, v.settings, v.name};
      subject_kind process{e.engine, data, durability_level::process, v.settings, v.name};
      all.push_back({power, e.make, &v});
      bool to_power = v.threads == durability_level::power;
      if (what.threads > 1)
        all.push_back({to_power ? power : process, e.make, &v,
                       to_power ? machine::adr : machine::eadr, flavour::threads});
      all.push_back({power, e.make, &v, machine::adr, flavour::twice});
      all.push_back({power, e.make, &v, machine::eadr});
      all.push_back({process, e.make, &v, machine::eadr});
    }
  }
  for (data_kind data : {data_kind::u64, data_kind::bytes})
    for (const explored_variant& v : e.variants) {
      if (v.only && *v.only != data) continue;
      for (auto [level, stops] : {std::pair{durability_level::power, machine::adr},
                                  std::pair{durability_level::process, machine::eadr}})
        all.push_back(
            {{e.engine, data, level, v.settings, v.name}, e.make, &v, stops, flavour::salvage});
    }
  for (data_kind data : {data_kind::u64, data_kind::bytes})
    for (const explored_variant& v : e.variants)
      if (v.readers && v.only.value_or(data) == data && what.threads > 1)
        all.push_back({{e.engine, data, v.threads, v.settings, v.name},
                       e.make,
                       &v,
                       v.threads == durability_level::power ? machine::adr : machine::eadr,
                       flavour::readers});
  std::erase_if(all, [&](const job& j) { return j.text().find(what.only) == std::string::npos; });
  return all;
}

job job_of(const campaign& what, const std::vector<job>& round, std::size_t number) {
  job made = round[number % round.size()];
  std::seed_seq mixed{what.seed, static_cast<std::uint64_t>(number)};
  std::uint32_t words[2];
  mixed.generate(words, words + 2);
  made.seed = std::uint64_t{words[0]} << 32 | words[1];
  return made;
}

std::optional<job> job_named(const campaign& what, const std::string& name) {
  campaign any = what;
  any.only.clear();
  for (job& j : jobs_of(any)) {
    if (!name.starts_with(j.text() + "#")) continue;
    const std::string of_it = name.substr(j.text().size() + 1);
    j.seed = std::stoull(of_it);
    if (std::size_t dot = of_it.find('.'); dot != of_it.npos)
      j.program = std::stoull(of_it.substr(dot + 1));
    return std::move(j);
  }
  return std::nullopt;
}

program program_of(const campaign& what, const job& j, pace speed, std::mt19937_64& random) {
  mix how;
  if (j.variant->keys != 0) how.keys = j.variant->keys;
  // Where all that was stored is kept there is one image for each crash, and time for more
  // operations.
  how.operations = j.stops == machine::eadr ? what.operations * 4 : what.operations;
  if (j.flavour != flavour::twice) return random_program(how, random);
  std::size_t prepares = random() % what.operations;  // from an empty table to one that has grown
  how.operations = prepares + what.operations / 2 + 1;
  program made = random_program(how, random);
  made.prepares = prepares;
  std::size_t share = speed == pace::deep ? 2 : speed == pace::usual ? 6 : 20;
  if (j.kind.words() && speed == pace::usual) share = 3;  // these store less
  std::size_t crashed = what.operations / share;
  auto end = made.operations.begin() + static_cast<std::ptrdiff_t>(prepares + crashed + 1);
  // the shorter one begins as the longer one does
  made.operations.erase(end, made.operations.end());
  if (random() % 2 == 0) return made;
  auto fresh = made.keys;  // or one new key after the other: the table grows
  // as many for a shorter program
  made.keys = static_cast<key_number>(made.keys + what.operations);
  for (std::size_t n = prepares; n < made.operations.size(); ++n)
    made.operations[n] = {act::insert,
                          {static_cast<key_number>(fresh + (n - prepares))},
                          static_cast<std::uint32_t>(n + 1)};
  return made;
}

namespace {

/// Written by hand first, then drawn. A slower pace has more, behind those of a quick one.
std::vector<threaded_program> threaded_programs_of(const campaign& what, const job& j) {
  std::mt19937_64 random(j.seed);
  std::vector<threaded_program> all;
  auto add = [&](const std::vector<threaded_program>& more) {
    all.insert(all.end(), more.begin(), more.end());
  };
  const bool quick = what.pace == pace::quick;
  if (j.flavour == flavour::readers) {
    add(*j.variant->readers);
    add({updated_while_read(), lent_while_read()});
    for (std::size_t n = quick ? 2 : 4; n-- > 0;) all.push_back(read_beside(what.threads, random));
    return all;
  }
  add(j.variant->by_hand);
  add(j.variant->counted);
  add(j.variant->beside);
  all.push_back(scanned_while_written());
  all.push_back(random_threads(what.threads, 2, random));
  all.back().killed = true;
  all.push_back(random_threads(what.threads + 1, 1, random));
  for (std::size_t n = quick ? 1 : 2; n-- > 0;) {
    all.push_back(random_threads(what.threads, 2, random));
    for (bool closes : {false, true}) all.push_back(beside_threads(what.threads, closes, random));
    all.push_back(random_threads(what.threads, 2, random));
  }
  return all;
}

findings explore_one(const campaign& what, const job& j, const plan& how,
                     const threaded_program& p) {
  last_words_job(j.name());
  std::mt19937_64 random(j.seed + 1 + *j.program);
  explorer x(j.kind, j.make, how, random());
  x.tell("  " + j.text() + "\n  " + text_of(p));
  explore_threads(j.kind, j.make, x, p, {.preemptions = 2, .max_schedules = max_schedules(what)},
                  random);
  ++x.found().programs;
  for (violation& v : x.found().violations) v.job = j.name();
  return std::move(x.found());
}

findings explore_threaded(const campaign& what, const job& j, const plan& how) {
  const std::vector<threaded_program> programs = threaded_programs_of(what, j);
  findings found;
  job one = j;
  for (std::size_t n = 0; n < programs.size() && found.violations.empty(); ++n) {
    if (j.program.value_or(n) != n) continue;
    one.program = n;
    found.add(explore_one(what, one, how, programs[n]));
  }
  return found;
}

findings explore_one_thread(const campaign& what, const job& j, const plan& how) {
  std::mt19937_64 random(j.seed);
  // of those of all paces the one of deep is the longest
  program p = program_of(what, j, what.keep.empty() ? what.pace : pace::deep, random);
  if (!what.keep.empty()) p = only(what.keep, p);
  findings found;
  if (j.flavour == flavour::salvage) {
    found = explore_moments(j.kind, j.make, how, p, images_to_salvage(what.pace), "  " + j.text(),
                            random);
  } else {
    explorer x(j.kind, j.make, how, random());
    x.tell("  " + j.text());
    x.run(p);
    found = std::move(x.found());
  }
  for (violation& v : found.violations) v.job = j.name();
  return found;
}

}  // namespace

findings explore(const campaign& what, const job& j, const alteration* altered) {
  last_words_job(j.name());
  solo alone;
  turns::install(&alone);
  plan how = plan_of(j, what.pace);
  how.leave_out = altered != nullptr && altered->left_out ? &*altered->left_out : nullptr;
  planted_mutant = altered != nullptr ? altered->planted : 0;
  findings found =
      is_threaded(j.flavour) ? explore_threaded(what, j, how) : explore_one_thread(what, j, how);
  turns::install(nullptr);
  planted_mutant = 0;
  return found;
}

unsigned seconds_per_job(pace speed) {
  return speed == pace::deep ? 8 * 3600 : speed == pace::usual ? 3600 : 600;
}

}  // namespace durahash::crash
