#include "model_run.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <unordered_map>
#include <unordered_set>

#include "random.hpp"
#include "scratch.hpp"
#include "subject.hpp"

namespace durahash::test {

namespace {

constexpr const char* names[] = {
    "put",       "insert",      "update",  "get",      "contains", "erase",      "compare_and_set",
    "fetch_add", "update_with", "take",    "get_many", "put_many", "erase_many", "scan_some",
    "size",      "reserve",     "compact", "sync",     "reopen",   "check"};
static_assert(std::size(names) == static_cast<std::size_t>(action::check) + 1);

/// The operations of a list, one after the other, on a pool and on a map beside it.
class model_run {
 public:
  model_run(const setup& with, std::uint64_t key_range)
      : with_(with), key_range_(key_range), folder_(with.folder()), path_(folder_.file("pool")) {
    open(with.create_options());
  }

  std::optional<std::string> run(const std::vector<operation>& list) {
    for (std::size_t i = 0; i < list.size() && !difference_; ++i) {
      step(list[i]);
      if (difference_)
        *difference_ += " (operation " + std::to_string(i) + ", " + to_string(list[i]) + ")";
    }
    if (!difference_) verify_everything();
    return difference_;
  }

 private:
  void step(const operation& o) {
    switch (o.what) {
      case action::put: return put(o);
      case action::insert: return insert(o);
      case action::update: return update(o);
      case action::get: return get(o);
      case action::contains:
        return agree(pool_->contains(key(o.key)), records_.contains(key(o.key)), "contains");
      case action::erase: return erase(o);
      case action::compare_and_set: return compare_and_set(o);
      case action::fetch_add: return fetch_add(o);
      case action::update_with: return update_with(o);
      case action::take: return take(o);
      case action::get_many: return get_many(o);
      case action::put_many: return put_many(o);
      case action::erase_many: return erase_many(o);
      case action::scan_some: return scan_some(o);
      case action::size: return agree(pool_->pool().size(), records_.size(), "size");
      case action::reserve:
        return expect(pool_->pool().reserve(mixed(o.seed) % (2 * records_.size() + 100)),
                      status::ok, "reserve");
      case action::compact: return expect(pool_->pool().compact(), status::ok, "compact");
      case action::sync: return expect(pool_->pool().sync(), status::ok, "sync");
      case action::reopen: return reopen();
      case action::check: return verify_everything();
    }
  }

  // --------------------------------------------------------------------------------------- one key

  void put(const operation& o) {
    expect(pool_->put(key(o.key), value(o.seed)), status::ok, "put");
    set(key(o.key), value(o.seed));
  }
  void insert(const operation& o) {
    bool present = records_.contains(key(o.key));
    expect(pool_->insert(key(o.key), value(o.seed)), present ? status::exists : status::ok,
           "insert");
    if (!present) set(key(o.key), value(o.seed));
  }
  void update(const operation& o) {
    bool present = records_.contains(key(o.key));
    expect(pool_->update(key(o.key), value(o.seed)), present ? status::ok : status::not_found,
           "update");
    if (present) set(key(o.key), value(o.seed));
  }
  void get(const operation& o) {
    std::string found = "untouched";
    auto record = records_.find(key(o.key));
    bool present = record != records_.end();
    expect(pool_->get(key(o.key), found), present ? status::ok : status::not_found, "get");
    agree(found, present ? record->second : "untouched", "get's value");
  }
  void erase(const operation& o) {
    bool present = records_.contains(key(o.key));
    expect(pool_->erase(key(o.key)), present ? status::ok : status::not_found, "erase");
    if (present) remove(key(o.key));
  }
  void compare_and_set(const operation& o) {
    auto record = records_.find(key(o.key));
    bool present = record != records_.end();
    std::string guess = present && o.seed % 2 == 0 ? record->second : value(o.seed + 1);
    status wanted = !present                  ? status::not_found
                    : guess == record->second ? status::ok
                                              : status::mismatch;
    expect(pool_->compare_and_set(key(o.key), guess, value(o.seed)), wanted, "compare_and_set");
    if (wanted == status::ok) set(key(o.key), value(o.seed));
  }
  void fetch_add(const operation& o) {
    auto record = records_.find(key(o.key));
    bool present = record != records_.end();
    bool fits = !present || record->second.size() == 8;
    std::uint64_t before = present && fits ? bytes_word(record->second) : 0, previous = before;
    expect(pool_->fetch_add(key(o.key), o.seed, previous),
           fits ? status::ok : status::invalid_argument, "fetch_add");
    if (!fits) return;
    agree(previous, before, "fetch_add's previous");
    set(key(o.key), word_bytes(before + o.seed));
  }

  void update_with(const operation& o) {
    auto record = records_.find(key(o.key));
    const bool present = record != records_.end();
    std::string seen;
    const status given = pool_->update_with(
        key(o.key), [&](std::string_view now) { return seen = now, value(o.seed); });
    expect(given, present ? status::ok : status::not_found, "update_with");
    if (!present) return;
    agree(seen, record->second, "update_with's present value");
    set(key(o.key), value(o.seed));
  }

  void take(const operation& o) {
    auto record = records_.find(key(o.key));
    const bool present = record != records_.end();
    std::string taken = "untouched";
    expect(pool_->take(key(o.key), taken), present ? status::ok : status::not_found, "take");
    agree(taken, present ? record->second : "untouched", "take's value");
    if (present) remove(key(o.key));
  }

  // --------------------------------------------------------------------------------------- batches

  void get_many(const operation& o) {
    strings batch = batch_of(o), found(batch.size(), "untouched");
    answers given = pool_->get_many(batch, found);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      auto record = records_.find(batch[i]);
      bool present = record != records_.end();
      expect(given[i], present ? status::ok : status::not_found, "get_many");
      if (present) agree(found[i], record->second, "get_many's value");
    }
  }
  void put_many(const operation& o) {
    strings batch = batch_of(o), written;
    for (std::size_t i = 0; i < batch.size(); ++i) written.push_back(value(o.seed + i));
    answers given = pool_->put_many(batch, written);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      expect(given[i], status::ok, "put_many");
      set(batch[i], written[i]);
    }
  }
  void erase_many(const operation& o) {
    strings batch = batch_of(o);
    answers given = pool_->erase_many(batch);
    // A key that comes twice is found once, by whichever of its entries.
    std::unordered_map<std::string, int> found;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (given[i] != status::ok) expect(given[i], status::not_found, "erase_many");
      found[batch[i]] += given[i] == status::ok;
    }
    for (const auto& [key, times] : found) {
      agree(times, records_.contains(key) ? 1 : 0, "times that erase_many found a key");
      if (records_.contains(key)) remove(key);
    }
  }

  // -------------------------------------------------------------------------------- the whole pool

  /// One scan goes on through the whole run; whatever stayed from its first to its last step is
  /// visited exactly once.
  void scan_some(const operation& o) {
    if (scan_.position == 0 && !scan_.done) {
      stayed_.clear();
      for (const auto& [key, value] : records_) stayed_.insert(key);
      visited_.clear();
    }
    status answer = pool_->scan(
        scan_, 1 + mixed(o.seed) % (records_.size() / 4 + 10),
        [&](std::string_view key, std::string_view value) {
          auto record = records_.find(std::string(key));
          if (record == records_.end()) return differ("the scan visits a key that is absent");
          agree(value, std::string_view(record->second), "the scan's value");
          // A key that was erased and came back may lie behind the cursor and before it.
          if (!visited_.insert(std::string(key)).second && stayed_.contains(std::string(key)))
            differ("the scan visits a key twice");
        });
    expect(answer, status::ok, "scan");
    if (!scan_.done) return;
    for (const std::string& key : stayed_)
      if (!visited_.contains(key)) return differ("the scan missed a key that was there throughout");
    scan_ = {};
  }

  void reopen() {
    if (!with_.outlives_handle()) return;
    expect(pool_->pool().close(), status::ok, "close");
    pool_.reset();
    options plain;
    plain.medium = with_.medium();
    open(plain);
    if (pool_ && !pool_->pool().info().clean) differ("the pool was closed and is not clean");
  }

  void verify_everything() {
    check_report report = pool_->pool().check();
    if (!report.ok)
      differ("check: " +
             (report.violations.empty() ? "no reason given" : report.violations.front()));
    agree(report.records, records_.size(), "records that check counts");
    agree(pool_->pool().size(), records_.size(), "size");
    std::unordered_map<std::string, std::string> found;
    cursor at;
    while (!at.done && !difference_) {
      expect(pool_->scan(at, 500,
                         [&](std::string_view key, std::string_view value) {
                           if (!found.emplace(key, value).second)
                             differ("a full scan visits a key twice");
                         }),
             status::ok, "scan");
    }
    if (found != records_) differ("a full scan gives other records than the model has");
    for (std::uint64_t n = 0; n < std::min<std::uint64_t>(key_range_, 2000); ++n)
      get({action::get, n, 0});
  }

  void open(const options& how) {
    auto opened = open_subject(with_, path_, how);
    if (!opened) throw std::runtime_error("cannot open the pool: " + opened.failure().message);
    pool_ = std::move(*opened);
  }

  // --------------------------------------------------------------------------------------- details

  std::string key(std::uint64_t n) const { return nth_key(with_, n); }

  /// Mostly short, often the 8 bytes that fetch_add wants, now and then long.
  std::string value(std::uint64_t seed) const {
    std::uint64_t dice = mixed(seed);
    if (dice % 4 == 0) return word_bytes(dice);
    if (dice % 1000 == 1) return long_value(with_, seed, dice / 1000 % 300'000);
    if (dice % 50 == 1) return long_value(with_, seed, dice / 1000 % 6'000);
    return nth_value(with_, seed);
  }

  /// Keys that repeat now and then, so that duplicates within a batch are common in small ranges.
  strings batch_of(const operation& o) const {
    random_stream random(o.seed);
    std::uint64_t count = random.one_in(20) ? random.below(500) : random.below(40);
    strings batch;
    for (std::uint64_t i = 0; i < count; ++i)
      batch.push_back(key((o.key + random.below(2 * count)) % key_range_));
    return batch;
  }

  void set(const std::string& key, const std::string& value) { records_[key] = value; }
  void remove(const std::string& key) {
    records_.erase(key);
    stayed_.erase(key);
  }

  void differ(const std::string& what) {
    if (!difference_) difference_ = what;
  }
  void expect(status given, status wanted, const char* what) {
    if (given != wanted)
      differ(std::string(what) + " answers \"" + std::string(message(given)) + "\", the model \"" +
             std::string(message(wanted)) + "\"");
  }
  void agree(std::uint64_t given, std::uint64_t wanted, const char* what) {
    if (given != wanted)
      differ(std::string(what) + " is " + std::to_string(given) + ", in the model " +
             std::to_string(wanted));
  }
  void agree(std::string_view given, std::string_view wanted, const char* what) {
    if (given != wanted)
      differ(std::string(what) + " is another one (" + std::to_string(given.size()) +
             " bytes, in the model " + std::to_string(wanted.size()) + ")");
  }

  setup with_;
  std::uint64_t key_range_;
  scratch_folder folder_;
  std::string path_;
  std::unique_ptr<subject> pool_;
  std::unordered_map<std::string, std::string> records_;
  cursor scan_;
  std::unordered_set<std::string> stayed_, visited_;
  std::optional<std::string> difference_;
};

}  // namespace

std::string to_string(const operation& o) {
  return std::string(names[static_cast<std::size_t>(o.what)]) + " key " + std::to_string(o.key) +
         " seed " + std::to_string(o.seed);
}

std::vector<operation> random_operations(std::uint64_t seed, std::size_t count,
                                         const operation_mix& mix) {
  random_stream random(seed);
  std::vector<operation> list;
  // The population swings between nearly empty and nearly full: erases are rare for a while, then
  // frequent.
  for (std::size_t i = 0; i < count; ++i) {
    operation o;
    bool shrinking = i * 6 / count % 2 == 1;
    std::uint64_t dice = random.below(100);
    if (random.one_in(mix.structural))
      o.what = static_cast<action>(static_cast<std::uint64_t>(action::size) + random.below(6));
    else if (dice < 20) o.what = shrinking ? action::erase : action::put;
    else if (dice < 30) o.what = shrinking ? action::erase_many : action::put_many;
    else if (dice < 95)
      o.what = static_cast<action>(random.below(static_cast<std::uint64_t>(action::scan_some)));
    else o.what = action::scan_some;
    o.key = random.below(mix.key_range);
    o.seed = random.next();
    list.push_back(o);
  }
  return list;
}

std::optional<std::string> disagreement(const setup& with, const std::vector<operation>& list,
                                        std::uint64_t key_range) {
  return model_run(with, key_range).run(list);
}

std::vector<operation> shortened(const setup& with, std::vector<operation> list,
                                 std::uint64_t key_range, double seconds) {
  auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  for (std::size_t part = list.size() / 2; part > 0; part /= 2) {
    for (std::size_t from = 0; from < list.size();) {
      if (std::chrono::steady_clock::now() > deadline) return list;
      std::vector<operation> rest(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(from));
      rest.insert(rest.end(),
                  list.begin() + static_cast<std::ptrdiff_t>(std::min(from + part, list.size())),
                  list.end());
      if (disagreement(with, rest, key_range)) list = std::move(rest);
      else from += part;
    }
  }
  return list;
}

}  // namespace durahash::test
