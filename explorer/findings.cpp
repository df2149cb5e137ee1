#include "explorer/findings.hpp"

#include <algorithm>
#include <cstring>

namespace durahash::crash {
namespace {

/// Between processes of one program: lengths and bytes.
class packer {
 public:
  template <class T>
    requires std::is_trivially_copyable_v<T>
  void put(const T& value) { out_.append(reinterpret_cast<const char*>(&value), sizeof value); }
  void put(const std::string& text) {
    put(text.size());
    out_ += text;
  }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

class unpacker {
 public:
  explicit unpacker(const std::string& in) : in_(in) {}
  template <class T>
    requires std::is_trivially_copyable_v<T>
  void get(T& value) {
    if (at_ + sizeof value > in_.size()) return;
    std::memcpy(&value, in_.data() + at_, sizeof value);
    at_ += sizeof value;
  }
  void get(std::string& text) {
    std::size_t size = 0;
    get(size);
    size = std::min(size, in_.size() - at_);
    text.assign(in_, at_, size);
    at_ += size;
  }

 private:
  const std::string& in_;
  std::size_t at_ = 0;
};

template <class F, class Visit>
void for_each_number(F& f, Visit&& visit) {
  visit(f.programs), visit(f.threaded), visit(f.exhausted), visit(f.schedules), visit(f.traces);
  visit(f.cuts), visit(f.whole_cuts), visit(f.images), visit(f.unique_images), visit(f.pruned);
  visit(f.recoveries), visit(f.gone_on), visit(f.killed), visit(f.nested), visit(f.facts_checked),
      visit(f.left_out), visit(f.max_log10);
}

}  // namespace

void findings::add(const findings& other) {
  programs += other.programs;
  threaded += other.threaded;
  exhausted += other.exhausted;
  schedules += other.schedules;
  traces += other.traces;
  cuts += other.cuts;
  whole_cuts += other.whole_cuts;
  images += other.images;
  unique_images += other.unique_images;
  pruned += other.pruned;
  recoveries += other.recoveries;
  gone_on += other.gone_on;
  killed += other.killed;
  nested += other.nested;
  facts_checked += other.facts_checked;
  left_out += other.left_out;
  max_log10 = std::max(max_log10, other.max_log10);
  for (const auto& [place, seen] : other.commits)
    commits[place].kept += seen.kept, commits[place].lost += seen.lost;
  for (const auto& [place, times] : other.places) places[place] += times;
  violations.insert(violations.end(), other.violations.begin(), other.violations.end());
}

std::string findings::packed() const {
  packer p;
  for_each_number(*this, [&](const auto& n) { p.put(n); });
  p.put(commits.size());
  for (const auto& [place, seen] : commits) p.put(place), p.put(seen);
  p.put(places.size());
  for (const auto& [place, times] : places) p.put(place), p.put(times);
  p.put(violations.size());
  for (const violation& v : violations)
    p.put(v.what), p.put(v.report), p.put(v.replay), p.put(v.job), p.put(v.calls);
  return p.take();
}

findings findings::unpacked(const std::string& packed) {
  findings made;
  unpacker u(packed);
  for_each_number(made, [&](auto& n) { u.get(n); });
  std::size_t count = 0;
  std::string text;
  u.get(count);
  for (std::size_t i = 0; i < count; ++i) u.get(text), u.get(made.commits[text]);
  count = 0;
  u.get(count);
  for (std::size_t i = 0; i < count; ++i) u.get(text), u.get(made.places[text]);
  count = 0;
  u.get(count);
  for (std::size_t i = 0; i < count; ++i) {
    violation v;
    u.get(v.what), u.get(v.report), u.get(v.replay), u.get(v.job), u.get(v.calls);
    made.violations.push_back(std::move(v));
  }
  return made;
}

}  // namespace durahash::crash
