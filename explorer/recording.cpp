#include "explorer/recording.hpp"

namespace durahash::crash {

void trace_hash::add(const event& e, const recording& rec) {
  // Groups have other numbers in every run: what counts is which pieces are of one, and which
  // stores are ordered behind none.
  bool goes_on = e.kind == event::what::piece && e.group == group_;
  bool unordered = e.kind == event::what::store && e.group != 0;
  group_ = e.group;
  add(static_cast<std::uint64_t>(e.kind) | std::uint64_t{e.thread} << 8 |
      std::uint64_t{e.size} << 16 | std::uint64_t{goes_on} << 24 | std::uint64_t{unordered} << 25 |
      std::uint64_t{e.where} << 32);
  add(e.offset);
  add(e.value);
  if (e.kind != event::what::end) return;
  for (const key_call& part : rec.calls[e.value].parts)
    add(part.ok), add(part.read.has_value()), add(part.read.value_or(0));
}

std::uint64_t hash_of(const recording& rec) {
  trace_hash made;
  for (const event& e : rec.events) made.add(e, rec);
  return made.value();
}

call prepare(const operation& o, bool words, const std::vector<present_value>& believed,
             unsigned thread) {
  call made{o, thread, {}};
  std::vector<key_number> keys = o.keys;
  const bool scans = o.what == act::scan || o.what == act::scan_beside;
  for (std::size_t k = 0; scans && k < believed.size(); ++k)
    keys.push_back(static_cast<key_number>(k));
  for (key_number k : keys) {
    key_call part;
    part.what = scans || o.what == act::get_beside ? act::get : o.what;
    if (part.what == act::add && !words) part.what = act::put;
    part.key = k;
    part.argument = value_of(k, o.version, words);
    if (part.what == act::exchange) part.expected = believed[k].value_or(nobodys_value);
    made.parts.push_back(part);
  }
  return made;
}

void learn(const call& c, std::vector<present_value>& believed) {
  for (const key_call& part : c.parts) {
    bool reads = part.what == act::get || part.what == act::get_many;
    bool erases = part.what == act::erase || part.what == act::erase_many;
    if (erases || (reads && !part.ok)) believed[part.key].reset();
    if (reads && part.ok) believed[part.key] = part.read;
    if (part.what == act::add) believed[part.key] = part.read.value_or(0) + part.argument;
    if (!reads && !erases && part.what != act::add && part.ok) believed[part.key] = part.argument;
  }
}

namespace {

/// One thread opens the pool, another one uses it: what the first flushed and did not fence, no
/// fence of the second covers.
class two_threads final : public scheduler {
 public:
  unsigned thread() override { return now; }
  void yield() override {}
  unsigned now = 0;
};

}  // namespace

std::string record(const subject_kind& kind, const maker& make, region& r, tracer& t, bool create,
                   const program& what, recording& into) {
  std::string why, failed;
  std::vector<present_value> believed = into.before;
  t.write_to(&into.events);
  two_threads client;
  t.use(&client);
  std::unique_ptr<subject> table = make(kind, r, t, create, why);
  for (const operation& o : what.operations) {
    if (table == nullptr || !failed.empty()) break;
    client.now = 1;
    std::uint64_t number = into.calls.size();
    call& c = into.calls.emplace_back(prepare(o, kind.words(), believed));
    t.begin(number);
    table->perform(c);
    t.end(number);
    learn(c, believed);
    failed = c.fault;
    if (o.what != act::reopen || !failed.empty()) continue;
    table.reset();
    client.now = 0;
    table = make(kind, r, t, false, why);
  }
  t.compare_now();
  table.reset();
  t.use(nullptr);
  t.write_to(nullptr);
  return why.empty() ? failed : "it does not open after a clean close: " + why;
}

}  // namespace durahash::crash
