#include "explorer/moments.hpp"

#include <algorithm>
#include <cstring>

#include "base/check.hpp"
#include "explorer/last_words.hpp"
#include "persist/format.hpp"

namespace durahash::crash {
namespace {

using values_by_key = std::vector<std::vector<present_value>>;

void add_to(values_by_key& all, const oracle& promise) {
  for (key_number k = 0; k < promise.keys(); ++k)
    for (const present_value& v : promise.allowed(k))
      if (std::find(all[k].begin(), all[k].end(), v) == all[k].end()) all[k].push_back(v);
}

/// What a crash leaves at some moment of a run.
struct moment {
  bytes content;
  values_by_key promised;
};

/// A run, from its beginning to any of its events.
class replay {
 public:
  replay(const recording& rec, const places& where, machine stops)
      : rec_(rec),
        where_(where),
        stops_(stops),
        model_(bytes{}),
        promise_(rec.before),
        history_(rec.before.size(), {std::nullopt}) {}

  void go_to(std::size_t event) {
    for (; next_ <= event; ++next_) {
      const crash::event& e = rec_.events[next_];
      model_.apply(e, where_);
      if (e.kind == event::what::begin) promise_.begin(rec_.calls[e.value]);
      if (e.kind == event::what::end) promise_.end(rec_.calls[e.value]);
      add_to(history_, promise_);
    }
  }
  /// One of the images that the machine may leave here.
  moment drawn(std::mt19937_64& random) {
    moment made{stops_ == machine::eadr ? model_.visible() : model_.durable(), {}};
    made.promised.resize(promise_.keys());
    add_to(made.promised, promise_);
    if (stops_ == machine::eadr) return made;
    constexpr std::size_t max_options = 24;
    for (auto& [line, pending] : model_.pending()) {
      if (std::uint64_t{line + 1} * line_bytes > made.content.size()) continue;  // behind the end
      const auto& options = model_.options_of(line, pending, max_options);
      const line_content& chosen = options[random() % options.size()].content;
      std::memcpy(&made.content[std::uint64_t{line} * line_bytes], chosen.data(), line_bytes);
    }
    return made;
  }
  /// What each key had until here; nothing is among it.
  const values_by_key& history() const { return history_; }

 private:
  const recording& rec_;
  const places& where_;
  machine stops_;
  cache_model model_;
  oracle promise_;
  values_by_key history_;
  std::size_t next_ = 0;
};

/// The root as a machine leaves it that went down, or a salvage that was killed: not believed.
/// The pool ends where the file does: records behind the end of an earlier root would be dropped,
/// and found again by who salvages a pool that a killed salvage has grown.
void distrust_root(bytes& image) {
  std::uint64_t sequence;
  std::memcpy(&sequence, &image[selector_offset], sizeof sequence);
  const std::uint64_t at = root_offsets[sequence % 2];
  root_record root;
  std::memcpy(&root, &image[at], sizeof root);
  root.boot_id = {};
  root.state = pool_state::changing;
  root.records = root.heap_state_offset = root.heap_state_bytes = root.heap_state_checksum = 0;
  image.resize(std::max<std::uint64_t>(image.size(), root.pool_bytes));  // a file cut off is grown
  root.pool_bytes = image.size();
  root = sealed(root);
  std::memcpy(&image[at], &root, sizeof root);
}

/// One image, salvaged.
class salvaging {
 public:
  salvaging(const subject_kind& kind, const maker& make, const plan& how, const bytes& image,
            std::uint64_t seed)
      : kind_(kind), make_(make), image_(image), x_(kind, make, how, seed) {}

  /// `candidates`: what salvage may keep. Returns what was found.
  findings run(const values_by_key& candidates, const program& more, const std::string& told) {
    x_.tell(told);
    x_.listener().limit(max_accesses, [] { last_words("salvage does not end"); });
    if (std::string wrong = kept(candidates); !wrong.empty()) report(wrong, told);
    else if (verdict v = used(); !v.violation.empty()) report(v.violation, told);
    else explore(more, told);
    return std::move(x_.found());
  }

 private:
  static constexpr std::uint64_t max_accesses = 20'000'000;

  /// What salvage keeps goes to kept_. Returns what is wrong with it.
  std::string kept(const values_by_key& candidates) {
    x_.memory().load(image_);
    std::string why;
    std::unique_ptr<subject> table = make_(kind_, x_.memory(), x_.listener(), false, why);
    if (table == nullptr) return "salvage does not open it: " + why;
    kept_.resize(candidates.size());
    for (key_number k = 0; k < candidates.size(); ++k)
      if (!table->identify(k, candidates[k], kept_[k]))
        return "salvage keeps of key " + std::to_string(k) +
               (table->holds(k, std::nullopt) ? " nothing, and it was there"
                                              : " what it never had, or not what it had then");
    return {};
  }
  /// Opened anew, looked at in every way, and written to.
  verdict used() {
    verdict v = judge(kind_, make_, x_.memory(), x_.listener(), oracle(kept_), {}, [] {});
    findings& found = x_.found();
    ++found.images, ++found.unique_images, ++found.recoveries;
    found.facts_checked += v.facts + kept_.size();
    return v;
  }
  /// The salvage and what comes after it, crashed at every step.
  void explore(const program& more, const std::string& told) {
    x_.memory().load(image_);
    recording rec;
    rec.before = kept_;
    std::string plain_store;
    x_.listener().watch_for_plain_stores([&](const std::string& why) { plain_store = why; });
    std::string failed = record(kind_, make_, x_.memory(), x_.listener(), false, more, rec);
    x_.listener().watch_for_plain_stores(nullptr);
    if (failed.empty()) failed = plain_store;
    if (!failed.empty()) return report(failed, told);
    x_.explore(rec, cache_model(image_), oracle(kept_));
  }
  void report(const std::string& what, const std::string& told) {
    x_.found().violations.push_back({what, told, {}});
  }

  const subject_kind& kind_;
  const maker& make_;
  const bytes& image_;
  explorer x_;
  std::vector<present_value> kept_;
};

}  // namespace

findings explore_moments(const subject_kind& kind, const maker& make, const plan& how,
                         const program& what, std::size_t images, const std::string& told,
                         std::mt19937_64& random) {
  explorer x(kind, make, how, random());
  x.memory().load({});
  recording rec;
  rec.before.resize(what.keys);
  x.listener().limit(~std::uint64_t{0}, nullptr);
  std::string failed = record(kind, make, x.memory(), x.listener(), true, what, rec);
  ++x.found().programs;
  if (!failed.empty()) x.found().violations.push_back({failed, told, {}});
  findings all = std::move(x.found());
  auto begins = [](const event& e) { return e.kind == event::what::begin; };
  // The pool has a name once it is whole.
  auto first = static_cast<std::size_t>(std::find_if(rec.events.begin(), rec.events.end(), begins) -
                                        rec.events.begin());
  for (std::size_t n = 0; n < images && all.violations.empty(); ++n) {
    std::size_t one = first + random() % (rec.events.size() - first),
                other = first + random() % (rec.events.size() - first);
    // Words carry no checksum: of two moments any key may be there, with any value.
    bool of_two = !kind.words() && n % 3 != 0;
    if (!of_two) one = other;
    replay run(rec, x.sources(), how.stops);
    run.go_to(std::min(one, other));
    const moment early = run.drawn(random);
    run.go_to(std::max(one, other));
    moment late = run.drawn(random);
    std::size_t early_pages = 0;
    auto share = random() % 10;  // of ten pages
    std::uint64_t common = std::min(late.content.size(), early.content.size());
    for (std::uint64_t at = 0; of_two && at + page_bytes <= common; at += page_bytes) {
      if (random() % 10 > share) continue;
      std::memcpy(&late.content[at], &early.content[at], page_bytes);
      ++early_pages;
    }
    distrust_root(late.content);
    mix few{.operations = 5, .keys = what.keys};
    program more = random_program(few, random);
    for (operation& o : more.operations) o.version += 3000;
    std::string longer =
        told + "\n  salvaged: the pool after event " + std::to_string(std::max(one, other));
    if (of_two)
      longer += ", with " + std::to_string(early_pages) + " pages as they were after event " +
                std::to_string(std::min(one, other));
    salvaging s(kind, make, how, late.content, random());
    all.add(s.run(of_two ? run.history() : late.promised, more, longer + "\n"));
  }
  return all;
}

}  // namespace durahash::crash
