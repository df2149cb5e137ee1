#include "ledger.hpp"

#include <algorithm>
#include <utility>

#include "life.hpp"

namespace durahash::test {

ledger::ledger(const setup& with, std::uint64_t keys, std::size_t value_bytes)
    : with_(with),
      keys_(keys),
      value_bytes_(value_bytes),
      versions_(static_cast<std::uint32_t*>(shared_memory((max_keys + 1) * sizeof(std::uint32_t)))),
      other_versions_(
          static_cast<std::uint32_t*>(shared_memory((max_keys + 1) * sizeof(std::uint32_t)))) {
  clear();
}

void ledger::clear() {
  std::fill_n(versions_, max_keys + 1, 0);
  std::fill_n(other_versions_, max_keys, no_other);
  any_doubt() = 0;
}

std::uint64_t ledger::records() const {
  return max_keys - static_cast<std::uint64_t>(std::count(versions_, versions_ + max_keys, 0u));
}

void ledger::settle_doubts(numbered_pool& pool) const {
  for (std::uint64_t n = 0; n < max_keys && has_doubts(); ++n) {
    if (!in_doubt(n)) continue;
    step("reads a record that was perhaps written", n);
    std::uint32_t other = std::exchange(other_versions_[n], no_other);
    if (version(n) == 0 ? pool.lacks(now(n)) : pool.holds(now(n))) continue;
    versions_[n] = other;  // as what comes next will find
  }
  any_doubt() = 0;
}

void ledger::expect_records_in(numbered_pool& pool) const {
  settle_doubts(pool);
  std::uint64_t lost = 0, first_lost = 0, risen = 0;
  for (std::uint64_t n = 0; n < max_keys; ++n) {
    if (version(n) == 0 && n >= keys_) continue;  // never written
    step("reads each record", n);
    if (version(n) == 0 ? pool.lacks(now(n)) : pool.holds(now(n))) continue;
    if (version(n) == 0) ++risen;
    else if (lost++ == 0) first_lost = n;
  }
  if (lost != 0)
    complain(std::to_string(lost) + " of " + std::to_string(records()) +
             " acknowledged records are lost, first key " + std::to_string(first_lost));
  if (risen != 0)
    complain(std::to_string(risen) +
             " records are there whose writes were refused, or which were erased");
}

void ledger::expect_all_in(numbered_pool& pool) const {
  expect_records_in(pool);
  step("counts the records");
  std::uint64_t visited = 0;
  require(pool.for_each(visited) == status::ok, "a scan of a pool without faults is answered ok");
  if (visited != records())
    complain("a scan visits " + std::to_string(visited) + " of " + std::to_string(records()) +
             " records");
  if (pool.pool().size() != records())
    complain("size is " + std::to_string(pool.pool().size()) + " of " + std::to_string(records()));
  step("checks the pool");
  check_report report = pool.pool().check();
  if (!report.ok)
    complain("check: " + (report.violations.empty() ? std::string() : report.violations.front()));
}

void ledger::expect_nothing_is_overwritten(numbered_pool& pool, std::uint64_t count) {
  expect_records_in(pool);
  std::uint64_t first = record::first_counter - count;  // keys that nothing else uses
  for (std::uint64_t n = first; n < first + count; ++n) {
    step("writes new records", n);
    record r = of(n, 1);
    if (status answer = pool.put(r); answer != status::ok)
      complain("a put without a fault is answered: " + std::string(message(answer)));
  }
  expect_records_in(pool);
  for (std::uint64_t n = first; n < first + count; ++n) {
    step("erases them", n);
    require(pool.erase(of(n, 1)) == status::ok, "an erasure without a fault is answered ok");
  }
}

options reopening(const setup& with) {
  options how;
  how.medium = with.medium();
  how.mode = open_mode::open_existing;
  return how;
}

numbered_pool open_or_report(const setup& with, const std::string& path, const options& how) {
  step("opens while nothing fails");
  auto opened = numbered_pool::open(with, path, how);
  if (!opened) complain(opened.failure().message);
  return std::move(*opened);
}

/// Writes come before counts: a wrong count is still wrong behind them.
std::string judged(ledger& known, const std::string& path) {
  std::string why = live([&] {
    numbered_pool pool = open_or_report(known.with(), path, reopening(known.with()));
    known.expect_nothing_is_overwritten(pool, known.records() / 2 + 200);
    known.expect_all_in(pool);
    step("closes");
    require(pool.pool().close() == status::ok, "a close without a fault is answered ok");
  });
  return why.empty() ? why : "after it: " + why;
}

}  // namespace durahash::test
