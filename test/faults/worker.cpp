#include "worker.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

#include "life.hpp"

namespace durahash::test {

const char* name_of(operation what) noexcept {
  constexpr const char* names[] = {
      "put",       "insert",   "update",     "erase", "compare_and_set",
      "fetch_add", "put_many", "erase_many", "get",   "get_many",
      "scan",      "for_each", "size",       "info",  "stats",
      "check",     "reserve",  "compact",    "sync"};
  return names[static_cast<unsigned>(what)];
}

namespace {
bool is_group(operation what) {
  return what == operation::put_many || what == operation::erase_many ||
         what == operation::get_many;
}
}  // namespace

/// An operation, and what it was answered.
struct worker::drawn {
  operation what{};
  std::vector<std::uint64_t> keys;
  record present, desired;
  std::optional<batch> group;
  status answer = status::ok;
  std::string found;
  std::uint64_t found_word = 0, previous = 0, visited = 0, number = 0;
  cursor at;
  pool_info info;
  table_stats stats;
  check_report report;
};

/// A thread that writes on demand.
struct worker::other_writer {
  std::atomic<std::uint64_t> asked{0}, done{0};
  std::atomic<bool> ending{false};
  std::vector<std::uint64_t> keys;
  std::thread thread;

  explicit other_writer(worker& of) : thread([this, &of] { run(of); }) {}
  ~other_writer() {
    ending = true;
    asked.fetch_add(1);
    asked.notify_all();
    thread.join();
  }
  void run(worker& of) {
    for (std::uint64_t round = 0;; ++round) {
      asked.wait(round);
      if (ending) return;
      for (std::uint64_t n : keys) {
        step("another thread writes key", n);
        record r = of.known_.of(n, of.known_.fresh_version());
        if (status answer = of.pool_.put(r); answer != status::ok)
          complain("another thread's put without a fault is answered: " +
                   std::string(message(answer)));
        of.known_.wrote(n, r.version);
      }
      done.store(round + 1);
      done.notify_all();
    }
  }
};

worker::worker(numbered_pool& pool, ledger& known, std::uint64_t seed, excuses allowed)
    : pool_(pool),
      known_(known),
      random_(seed),
      allowed_(std::move(allowed)),
      now_(std::make_unique<drawn>()) {}
worker::~worker() = default;

// ------------------------------------------------------------------------------------------
// drawing

void worker::draw(std::span<const operation> kinds) {
  now_ = std::make_unique<drawn>();
  drawn& d = *now_;
  d.what = kinds[random_.below(kinds.size())];
  d.number = random_.below(known_.keys());
  std::uint64_t first = d.number, count = 1, apart = 1 + random_.below(7);
  if (d.what == operation::fetch_add) first = record::first_counter + d.number % 1000;
  if (is_group(d.what)) count = 1 + random_.below(100);
  for (std::uint64_t i = 0; i < count && i * apart < known_.keys(); ++i)  // distinct keys
    d.keys.push_back(first >= record::first_counter ? first : (first + i * apart) % known_.keys());
  draw_again();
}

void worker::draw_again() {
  drawn& d = *now_;
  std::uint64_t n = d.keys.front();
  d.present = known_.now(n);
  d.desired =
      known_.of(n, n < record::first_counter ? known_.fresh_version() : d.present.version + 3);
  d.group.reset();
  if (!is_group(d.what)) return;
  std::vector<record> all;
  for (std::uint64_t key : d.keys)
    all.push_back(d.what == operation::put_many ? known_.of(key, known_.fresh_version())
                                                : known_.now(key));
  d.group.emplace(std::move(all));
}

void worker::perform() {
  drawn& d = *now_;
  step(name_of(d.what), d.present.n);
  handle& pool = pool_.pool();
  switch (d.what) {
    case operation::put: d.answer = pool_.put(d.desired); break;
    case operation::insert: d.answer = pool_.insert(d.desired); break;
    case operation::update: d.answer = pool_.update(d.desired); break;
    case operation::erase: d.answer = pool_.erase(d.desired); break;
    case operation::compare_and_set: d.answer = pool_.compare_and_set(d.present, d.desired); break;
    case operation::fetch_add: d.answer = pool_.fetch_add(d.desired, 3, d.previous); break;
    case operation::put_many: pool_.put_many(*d.group); break;
    case operation::erase_many: pool_.erase_many(*d.group); break;
    case operation::get: d.answer = pool_.get(d.present, d.found, d.found_word); break;
    case operation::get_many: pool_.get_many(*d.group); break;
    case operation::scan:
      d.at = {}, d.visited = 0, d.answer = pool_.scan(d.at, 50, d.visited);
      break;
    case operation::for_each: d.visited = 0, d.answer = pool_.for_each(d.visited); break;
    case operation::size: d.visited = pool.size(); break;
    case operation::info: d.info = pool.info(); break;
    case operation::stats: d.stats = pool.stats(); break;
    case operation::check: d.report = pool.check(); break;
    case operation::reserve: d.answer = pool.reserve(known_.records() + d.number); break;
    case operation::compact: d.answer = pool.compact(); break;
    case operation::sync: d.answer = pool.sync(); break;
  }
}

void worker::work(std::span<const operation> kinds, std::uint64_t count) {
  for (; count > 0; --count) {
    draw(kinds);
    perform();
    judge(faults_injected());
  }
}

// ------------------------------------------------------------------------------------------
// judging

bool worker::is_excused(status answer, std::uint64_t faults) const {
  return faults > 0 && std::find(allowed_.begin(), allowed_.end(), answer) != allowed_.end();
}

void worker::note_doubt(status answer, std::uint64_t n, std::uint64_t version) {
  if (answer == status::io_error && known_.with().place == place_kind::logged)
    known_.perhaps_wrote(n, version);
}

/// A write that succeeds ends the doubt.
void worker::judge_doubted(status answer, std::uint64_t n, std::uint64_t version) {
  bool erases = now_->what == operation::erase || now_->what == operation::erase_many;
  bool writes = now_->what <= operation::fetch_add || now_->what == operation::put_many;
  if (erases && (answer == status::ok || answer == status::not_found)) known_.erased(n);
  else if (writes && answer == status::ok) known_.wrote(n, version);
}

void worker::complain_of(status answer, status natural, std::uint64_t n) const {
  complain(std::string(name_of(now_->what)) + " of key " + std::to_string(n) + " is answered: " +
           std::string(message(answer)) + "; without the fault: " + std::string(message(natural)));
}

status worker::natural_answer() const {
  bool there = now_->present.version != 0;
  switch (now_->what) {
    case operation::insert: return there ? status::exists : status::ok;
    case operation::update:
    case operation::erase:
    case operation::get:
    case operation::compare_and_set: return there ? status::ok : status::not_found;
    default: return status::ok;
  }
}

void worker::apply() {
  const drawn& d = *now_;
  std::uint64_t n = d.desired.n;
  acknowledged_ = d.what <= operation::fetch_add;
  if (d.what == operation::erase) return known_.erased(n);
  if (d.what <= operation::fetch_add) known_.wrote(n, d.desired.version);
  if (d.what == operation::fetch_add && d.previous != d.present.version)
    complain("fetch_add of key " + std::to_string(n) + " counts from another number");
  if (d.what == operation::get &&
      (known_.with().api == api_kind::words ? d.found_word != d.present.value_word
                                            : d.found != d.present.value))
    complain("get of key " + std::to_string(n) + " gives another value");
}

bool worker::judge(std::uint64_t faults) {
  drawn& d = *now_;
  acknowledged_ = false;
  if (d.group) return judge_group(faults);
  if (d.what >= operation::scan && d.what <= operation::check) return judge_whole(faults);
  if (known_.in_doubt(d.desired.n)) {
    judge_doubted(d.answer, d.desired.n, d.desired.version);
    return true;
  }
  status natural = natural_answer();
  if (d.answer == natural) {
    if (natural == status::ok) apply();
    return false;
  }
  if (is_excused(d.answer, faults)) {
    if (d.what <= operation::fetch_add && natural == status::ok)
      note_doubt(d.answer, d.desired.n, d.what == operation::erase ? 0 : d.desired.version);
    return true;
  }
  complain_of(d.answer, natural, d.present.n);
}

bool worker::judge_group(std::uint64_t faults) {
  bool excused = false;
  batch& b = *now_->group;
  for (std::size_t i = 0; i < b.records.size(); ++i) {
    const record& r = b.records[i];
    if (known_.in_doubt(r.n)) {
      judge_doubted(b.answers[i], r.n, r.version);
      continue;
    }
    bool there = known_.version(r.n) != 0;
    status natural = now_->what == operation::put_many || there ? status::ok : status::not_found;
    if (b.answers[i] != natural) {
      if (!is_excused(b.answers[i], faults)) complain_of(b.answers[i], natural, r.n);
      excused = true;
      if (now_->what != operation::get_many && natural == status::ok)
        note_doubt(b.answers[i], r.n, now_->what == operation::put_many ? r.version : 0);
    } else if (now_->what == operation::put_many) {
      known_.wrote(r.n, r.version);
      acknowledged_ = true;
    } else if (now_->what == operation::erase_many) {
      known_.erased(r.n);
      acknowledged_ = acknowledged_ || there;
    } else if (there && (known_.with().api == api_kind::words ? b.found_words[i] != r.value_word
                                                              : b.found[i] != r.value)) {
      complain("get_many of key " + std::to_string(r.n) + " gives another value");
    }
  }
  return excused;
}

/// Of reads of the whole pool, some have no status: what they say must be so, and a check that
/// could not be done accuses nobody.
bool worker::judge_whole(std::uint64_t faults) {
  const drawn& d = *now_;
  if (known_.has_doubts()) return true;
  std::uint64_t records = known_.records();
  if (d.what == operation::scan || d.what == operation::for_each) {
    if (is_excused(d.answer, faults)) return true;
    if (d.answer != status::ok) complain_of(d.answer, status::ok, 0);
    if (d.what == operation::for_each && d.visited != records)
      complain("for_each visits " + std::to_string(d.visited) + " of " + std::to_string(records) +
               " records");
  }
  if (d.what == operation::size && d.visited != records)
    complain("size answers " + std::to_string(d.visited) + " of " + std::to_string(records));
  if (d.what == operation::info && d.info.records != records)
    complain("info counts " + std::to_string(d.info.records) + " of " + std::to_string(records));
  if (d.what != operation::check) return false;
  if (d.report.ok && d.report.records != records)
    complain("check counts " + std::to_string(d.report.records) + " of " + std::to_string(records));
  if (d.report.ok) return false;
  for (const std::string& violation : d.report.violations)
    if (faults == 0 || violation.find("memory") == std::string::npos)
      complain("check: " + violation);
  return true;
}

// ------------------------------------------------------------------------------------------
// locks

void worker::let_another_thread_write(bool every_key) {
  if (!other_) other_ = std::make_unique<other_writer>(*this);
  other_->keys.clear();
  for (std::uint64_t n : now_->keys)
    if (n < record::first_counter) other_->keys.push_back(n);
  for (std::uint64_t n = every_key ? 0 : random_.below(64); n < known_.keys();
       n += every_key ? 1 : 64)
    other_->keys.push_back(n);
  std::uint64_t round = other_->asked.fetch_add(1) + 1;
  other_->asked.notify_all();
  for (std::uint64_t done = other_->done; done != round; done = other_->done)
    other_->done.wait(done);
}

}  // namespace durahash::test
