#include "demo_ledger.hpp"

#include <fmt/format.h>

#include "failure.hpp"
#include "pool.hpp"

namespace durahash::tool {
namespace {

void complain(verdict& result, std::string sentence) {
  constexpr std::size_t shown_complaints = 10;
  if (++result.broken <= shown_complaints) result.complaints.push_back(std::move(sentence));
}

std::string shown_value(const std::string* value) {
  return value ? shown(data_kind::bytes, *value) : "nothing";
}

}  // namespace

ledger::ledger(const std::vector<file_entry>& files) {
  entries_.resize(files.size());
  index_.reserve(files.size());
  for (std::size_t i = 0; i < files.size(); ++i) {
    entries_[i].file = &files[i];
    index_.emplace(files[i].path, i);
  }
}

void ledger::begin(work_kind work, const std::vector<const file_entry*>& targets) {
  work_ = work;
  done_ = 0;
  for (entry& known : entries_) known.target = known.acknowledged = false;
  for (const file_entry* file : targets) entries_[index_.at(file->path)].target = true;
}

void ledger::note(const acknowledgement& ack) {
  const auto found = index_.find(ack.key);
  if (found == index_.end())
    throw failure(exit_not_found,
                  "the worker acknowledged a file that is not in its list: " + ack.key);
  entry& known = entries_[found->second];
  if (!known.acknowledged) ++done_;
  known.acknowledged = known.ever = true;
  known.value = ack.value;
}

verdict ledger::verify(const table& pool, std::uint64_t kills) {
  constexpr std::size_t batch = 64;
  verdict result;
  std::vector<std::string_view> keys;
  std::vector<std::string> values(batch);
  std::vector<status> answers(batch);
  for (std::size_t at = 0; at < entries_.size(); at += batch) {
    const std::size_t count = std::min(batch, entries_.size() - at);
    keys.clear();
    for (std::size_t i = 0; i < count; ++i) keys.push_back(entries_[at + i].file->path);
    pool.get_many(keys, std::span(values).first(count), std::span(answers).first(count));
    for (std::size_t i = 0; i < count; ++i)
      compare(entries_[at + i], answers[i] == status::ok ? &values[i] : nullptr, result);
  }
  if (result.in_flight > kills * worker_batch)
    complain(result, fmt::format("{} records are done but not acknowledged, and {} workers had at "
                                 "most {} each in flight",
                                 result.in_flight, kills, worker_batch));
  visit_all(pool, result);
  return result;
}

void ledger::compare(entry& known, const std::string* found, verdict& result) {
  if (found) ++result.records;
  const bool same = found ? known.value == *found : !known.value.has_value();
  if (same) {
    if (known.ever) ++result.acknowledged;
  } else if (may_be_in_flight(known, found)) {
    ++result.in_flight;
    ++done_;
    known.acknowledged = known.ever = true;
    known.value = found ? std::optional(*found) : std::nullopt;
  } else {
    complain(result,
             fmt::format("{}: acknowledged {}, found {}", shown(data_kind::bytes, known.file->path),
                         shown_value(known.value ? &*known.value : nullptr), shown_value(found)));
  }
}

/// Whether a worker that died before its acknowledgement can have left the record like this.
bool ledger::may_be_in_flight(const entry& known, const std::string* found) const {
  if (!known.target || known.acknowledged) return false;
  if (work_ == work_kind::erase) return found == nullptr;
  const auto facts = found ? parse_facts(*found) : std::nullopt;
  if (!facts) return false;
  const auto now = look_at(known.file->path);
  // a live tree: its content proves nothing any more
  const bool changed_since = !now || !facts->same_file(*now);
  if (work_ == work_kind::index)
    return facts->pass == 1 && facts->same_file(*known.file) &&
           (changed_since || facts->fingerprint == fingerprint(known.file->path));
  const auto before = parse_facts(known.value.value_or(""));
  return facts->pass == 2 && before &&
         (changed_since || !before->same_file(*now) || facts->fingerprint == before->fingerprint);
}

/// Nothing but what was looked up, each exactly once.
void ledger::visit_all(const table& pool, verdict& result) const {
  std::uint64_t visited = 0;
  const status answer = pool.for_each([&](std::string_view key, std::string_view) {
    ++visited;
    if (!index_.contains(key))
      complain(result, "a record that nobody wrote: " + shown(data_kind::bytes, key));
  });
  if (answer != status::ok)
    complain(result, "the visit of all records stopped: " + std::string(message(answer)));
  if (visited != result.records || pool.size() != result.records)
    complain(result,
             fmt::format("{} records are found by their keys, {} by a visit of all, {} by size()",
                         result.records, visited, pool.size()));
}

std::vector<const file_entry*> ledger::present() const {
  std::vector<const file_entry*> files;
  for (const entry& known : entries_)
    if (known.value) files.push_back(known.file);
  return files;
}

const std::string& ledger::value_of(const file_entry& file) const {
  return *entries_[index_.at(file.path)].value;
}

}  // namespace durahash::tool
