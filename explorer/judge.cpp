#include "explorer/judge.hpp"

#include <algorithm>

namespace durahash::crash {
namespace {

std::string text_of(const present_value& v) {
  if (!v) return "nothing";
  std::uint64_t version = *v >> 16;
  return version != 0 && version < 1 << 20 ? "#" + std::to_string(version)
                                           : "value " + std::to_string(*v);
}

std::string text_of(const std::vector<present_value>& values) {
  std::string text;
  for (const present_value& v : values) text += (text.empty() ? "" : " or ") + text_of(v);
  return text;
}

/// One examination.
class examination {
 public:
  examination(const subject_kind& kind, const maker& make, region& r, tracer& t,
              const oracle& promise)
      : kind_(kind), make_(make), region_(r), tracer_(t), promise_(promise) {}

  bool opens() {
    table_.reset();
    std::string why;
    table_ = make_(kind_, region_, tracer_, false, why);
    return table_ != nullptr || wrong("it does not open: " + why);
  }

  bool holds_what_was_promised() {
    result_.found.resize(promise_.keys());
    for (key_number k = 0; k < promise_.keys(); ++k) {
      fact();
      if (promise_.allowed(k).empty())
        return wrong("no order of the calls of key " + std::to_string(k) +
                     " explains what they answered");
      if (table_->identify(k, promise_.allowed(k), result_.found[k])) continue;
      return wrong("key " + std::to_string(k) + " must hold " + text_of(promise_.allowed(k)) +
                   ", and does not (" +
                   (table_->holds(k, std::nullopt) ? "it is absent" : "it holds something else") +
                   ")");
    }
    for (key_number k = promise_.keys(); k < promise_.keys() + 3; ++k) {
      fact();
      if (!table_->holds(k, std::nullopt))
        return wrong("key " + std::to_string(k) + ", which nobody put, is there");
    }
    return true;
  }

  bool still_holds(const char* when) {
    for (key_number k = 0; k < promise_.keys(); ++k) {
      fact();
      if (!table_->holds(k, result_.found[k]))
        return wrong("key " + std::to_string(k) + " held " + text_of(result_.found[k]) +
                     ", and does not " + when);
    }
    return true;
  }

  /// Iteration, count, the engine's own invariants, and every byte of the pool.
  bool is_whole(const std::vector<key_number>& more, const char* when) {
    std::vector<std::string> expected, scanned;
    for (key_number k = 0; k < promise_.keys(); ++k)
      if (result_.found[k]) expected.push_back(table_->key_text(k));
    for (key_number k : more) expected.push_back(table_->key_text(k));
    if (!table_->scan(scanned)) return wrong(std::string("an iteration meets damage ") + when);
    std::sort(expected.begin(), expected.end());
    std::sort(scanned.begin(), scanned.end());
    fact(4);
    if (std::adjacent_find(scanned.begin(), scanned.end()) != scanned.end())
      return wrong(std::string("an iteration finds a key twice ") + when);
    if (scanned != expected)
      return wrong("an iteration finds " + std::to_string(scanned.size()) +
                   " keys, and gets find " + std::to_string(expected.size()) + " " + when);
    if (table_->size() != expected.size())
      return wrong("the count says " + std::to_string(table_->size()) + " records, and there are " +
                   std::to_string(expected.size()) + " " + when);
    check_report report = table_->check();
    if (!report.ok)
      return wrong("the check " + std::string(when) + " says: " + report.violations.front());
    if (std::uint64_t lost = table_->unaccounted_bytes(); lost != 0)
      return wrong(std::to_string(static_cast<std::int64_t>(lost)) +
                   " bytes of the pool are neither reachable nor free " + when);
    return true;
  }

  /// New keys until the table has grown, updates, erases.
  bool goes_on() {
    constexpr key_number fresh = 26;
    auto first = static_cast<key_number>(promise_.keys() + 8);
    std::vector<key_number> added;
    std::uint32_t version = 7001;
    auto change = [&](act what, key_number k) {
      operation o{what, {k}, ++version};
      call c{o, 0, {key_call{what, k, value_of(k, version, kind_.words())}}};
      table_->perform(c);
      return c.parts.front().ok;
    };
    for (key_number k = 0; k < promise_.keys(); k = static_cast<key_number>(k + 3)) {
      present_value& now = result_.found[k];
      act what = now ? (k % 2 == 0 ? act::update : act::erase) : act::insert;
      fact();
      if (!change(what, k))
        return wrong(std::string(name_of(what)) + " of key " + std::to_string(k) +
                     " is refused after recovery");
      now = what == act::erase ? std::nullopt : present_value(value_of(k, version, kind_.words()));
    }
    for (key_number k = first; k < first + fresh; ++k) {
      fact();
      if (!change(act::insert, k)) return wrong("a new key is refused after recovery");
      added.push_back(k);
    }
    return still_holds("after more was written") && is_whole(added, "after more was written");
  }

  void drop() { table_.reset(); }
  verdict& result() { return result_; }

 private:
  void fact(std::uint64_t count = 1) { result_.facts += count; }
  bool wrong(std::string what) {
    result_.violation = std::move(what);
    return false;
  }

  const subject_kind& kind_;
  const maker& make_;
  region& region_;
  tracer& tracer_;
  const oracle& promise_;
  std::unique_ptr<subject> table_;
  verdict result_;
};

}  // namespace

verdict judge(const subject_kind& kind, const maker& make, region& r, tracer& t,
              const oracle& promise, const thoroughness& how,
              const std::function<void()>& first_look_done) {
  examination e(kind, make, r, t, promise);
  bool good = e.opens() && e.holds_what_was_promised() && e.is_whole({}, "after recovery");
  std::vector<present_value> found = e.result().found;
  first_look_done();
  if (good && how.again)
    good = e.opens() && e.still_holds("after a second recovery") &&
           e.is_whole({}, "after a second recovery");
  if (good && how.go_on) e.goes_on();
  e.drop();
  e.result().found = std::move(found);
  return std::move(e.result());
}

}  // namespace durahash::crash
