#include "explorer/failure_report.hpp"

#include <algorithm>
#include <unordered_set>

namespace durahash::crash {
namespace {

std::string hex(std::uint64_t n) {
  char text[20];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(n));
  return text;
}

/// Where the last call before the crash began, or what comes after its end.
std::size_t last_boundary(const trace& events, std::size_t last) {
  for (std::size_t i = last + 1; i-- > 0;) {
    if (events[i].kind == event::what::begin) return i;
    if (events[i].kind == event::what::end) return i + 1;
  }
  return last;
}

std::string verbs_of(const trace& events, std::size_t last, const places& where) {
  std::size_t begin = last_boundary(events, last);
  if (begin > last) return {};
  constexpr std::size_t shown = 24;
  std::string text = "\n  since the last call returned or began:";
  std::size_t from = last - std::min(last - begin, shown);
  for (std::size_t i = from; i <= last; ++i) {
    const event& e = events[i];
    bool same_group = e.kind == event::what::piece && i > from && events[i - 1].group == e.group;
    if (e.kind == event::what::begin || e.kind == event::what::end || same_group) continue;
    text += "\n    " + where[e.where].told();
    if (e.kind == event::what::fence) text += " (fence)";
    if (e.kind == event::what::flush)
      text += " (flush of " + hex(e.offset) + ", " + std::to_string(e.value) + " bytes)";
    if (e.kind == event::what::store || e.kind == event::what::piece ||
        e.kind == event::what::exchange)
      text += " at " + hex(e.offset);
  }
  return text;
}

std::string image_of(const crash_site& at, const places& where) {
  std::string text = "\n  the image: what is durable, and of " +
                     std::to_string(at.model.pending().size()) +
                     " lines with stores that may be lost:";
  constexpr std::size_t shown = 12;
  std::size_t told = 0;
  for (auto& [line, pending] : at.model.pending()) {
    if (++told > shown) return text + "\n    ...";
    auto c = std::find_if(at.chosen.begin(), at.chosen.end(),
                          [l = line](const choice& x) { return x.line == l; });
    std::size_t kept =
        c == at.chosen.end() || pending.options.empty() ? 0 : pending.options[c->option].kept;
    text += "\n    line " + hex(std::uint64_t{line} * line_bytes) + " keeps " +
            std::to_string(kept) + " of " + std::to_string(pending.stores.size()) +
            ", the last from " + where[pending.stores.back().where].told();
  }
  return text;
}

}  // namespace

std::size_t calls_begun(const recording& rec, std::size_t index) {
  for (std::size_t i = index + 1; i < rec.events.size(); ++i)
    // the first that had not
    if (rec.events[i].kind == event::what::begin) return rec.events[i].value;
  return rec.calls.size();
}

std::string calls_of(const recording& rec, std::size_t count) {
  constexpr std::size_t shown = 16;
  std::size_t from = count > shown ? count - shown : 0;
  std::string text = "\n  calls:";
  if (from != 0) text += " ... and " + std::to_string(from) + " before,";
  for (std::size_t i = from; i < count; ++i) {
    const call& c = rec.calls[i];
    text += (c.thread != 0 ? "  [thread " + std::to_string(c.thread) + "]" : "") + "  " +
            text_of(c.what) + ";";
  }
  return text;
}

std::string report_of(const crash_site& at, const places& where) {
  const trace& events = at.rec.events;
  std::string text = calls_of(at.rec, calls_begun(at.rec, at.index)) +
                     "\n  the crash: after event " + std::to_string(at.index) + " of " +
                     std::to_string(events.size());
  if (!events.empty()) {
    std::size_t last = std::min(at.index, events.size() - 1);
    text += events[last].kind == event::what::end ? ", when the last of these calls had returned"
                                                  : ", " + where[events[last].where].told();
    text += verbs_of(events, last, where);
  }
  return text + image_of(at, where);
}

void note_commits(const crash_site& at, const places& where,
                  std::map<std::string, commit_coverage>& commits) {
  if (at.rec.events.empty()) return;
  for (auto& [line, pending] : at.model.pending()) {
    auto c = std::find_if(at.chosen.begin(), at.chosen.end(),
                          [l = line](const choice& x) { return x.line == l; });
    for (std::size_t i = 0; i < pending.stores.size(); ++i) {
      if (!pending.stores[i].commits) continue;
      commit_coverage& seen = commits[where[pending.stores[i].where].text()];
      ++(c != at.chosen.end() && pending.options[c->option].kept > i ? seen.kept : seen.lost);
    }
  }
}

void note_places(const trace& events, const places& where,
                 std::map<std::string, std::uint64_t>& found) {
  // lines stored to since the last fence, by thread
  std::map<unsigned, std::unordered_set<std::uint64_t>> stored;
  for (const event& e : events) {
    const place& p = where[e.where];
    auto note = [&](elision::what kind) { ++found[elision{kind, p.text()}.text()]; };
    if (e.kind == event::what::flush) note(elision::what::flush);
    if (e.kind == event::what::fence) note(elision::what::fence);
    // Order counts where the commit word's line holds something that was stored before it, and is
    // not fenced.
    if (e.kind == event::what::store && p.commits() &&
        stored[e.thread].contains(e.offset / line_bytes))
      note(elision::what::order);
    if (e.kind == event::what::store || e.kind == event::what::piece)
      stored[e.thread].insert(e.offset / line_bytes);
    if (e.kind == event::what::fence) stored[e.thread].clear();
  }
}

}  // namespace durahash::crash
