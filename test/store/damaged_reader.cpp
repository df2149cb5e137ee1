// The process that opens damaged pools for damaged_pool_test.cpp: what it does not survive is the
// library's fault, and its parent goes on behind it.
#include <fcntl.h>

#include <cstdio>
#include <cstdlib>

#include "child.hpp"
#include "damage.hpp"
#include "damaged_reader.hpp"
#include "random.hpp"
#include "scratch.hpp"
#include "subject.hpp"

namespace durahash::test {
namespace {

/// How many records of the image come back as another value, as absent, or too often.
struct differences {
  std::uint64_t lookups = 0;
  std::uint64_t scanned = 0;
};

differences read_everything(subject& pool, const setup& with, std::uint64_t records) {
  differences found;
  std::string value;
  for (std::uint64_t n = 0; n < records; ++n) {
    status answer = pool.get(nth_key(with, n), value);
    if (answer != status::damaged)
      found.lookups += answer != status::ok || value != image_value(with, n);
  }
  for (std::uint64_t n = records; n < 2 * records; ++n)
    found.lookups += pool.contains(nth_key(with, n));
  strings keys, values(records);
  for (std::uint64_t n = 0; n < records; ++n) keys.push_back(nth_key(with, n));
  pool.get_many(keys, values);
  std::uint64_t visited = 0;
  cursor at;
  status answer = status::ok;
  while (!at.done && answer == status::ok && visited < 10 * records + 1000)
    answer = pool.scan(at, 100, [&](std::string_view, std::string_view) { ++visited; });
  if (answer != status::damaged) found.scanned = visited != records;
  return found;
}

void write_something(subject& pool, const setup& with, std::uint64_t records) {
  std::uint64_t previous = 0;
  for (std::uint64_t n = 0; n < records; ++n) {
    switch (n % 4) {
      case 0: pool.erase(nth_key(with, n)); break;
      case 1: pool.put(nth_key(with, n), image_value(with, n + 1)); break;
      case 2: pool.fetch_add(nth_key(with, n), 1, previous); break;
      default: break;
    }
  }
  strings keys, values;
  for (std::uint64_t n = records; n < 3 * records; ++n)
    keys.push_back(nth_key(with, n)), values.push_back(image_value(with, n));
  pool.put_many(keys, values);
  pool.pool().compact();
  pool.erase_many(keys);
}

damage_outcome try_one(const setup& with, const std::string& path, std::uint64_t records,
                       bool write, std::atomic<std::uint64_t>& phase) {
  options plain;
  plain.medium = with.medium();
  phase = static_cast<std::uint64_t>(damage_phase::open);
  auto opened = open_subject(with, path, plain);
  if (!opened)
    return opened.failure().message.size() < 20 ? damage_outcome::refused_without_reason
                                                : damage_outcome::refused;
  subject& pool = **opened;
  phase = static_cast<std::uint64_t>(damage_phase::read);
  differences found = read_everything(pool, with, records);
  phase = static_cast<std::uint64_t>(damage_phase::check);
  check_report report = pool.pool().check();
  (void)pool.pool().info();
  (void)pool.pool().stats();
  if (write) {
    phase = static_cast<std::uint64_t>(damage_phase::write);
    write_something(pool, with, records);
    phase = static_cast<std::uint64_t>(damage_phase::close);
    pool.pool().close();
  }
  phase = static_cast<std::uint64_t>(damage_phase::close);
  if (!report.ok && report.violations.empty()) return damage_outcome::noticed_without_reason;
  if (!report.ok) return damage_outcome::noticed;
  return found.lookups + found.scanned > 0 ? damage_outcome::wrong_and_unnoticed
                                           : damage_outcome::harmless;
}

/// setup, image file, folder for the damaged copy, told file, seed, first damage, records, whether
/// to write too
int open_damaged_pools(const child_arguments& arguments) {
  setup with = setup_named(arguments.at(0));
  std::string image = read_file(arguments.at(1)), path = arguments.at(2) + "/damaged";
  shared_words told(arguments.at(3), damage_told::words);
  std::uint64_t seed = std::stoull(arguments.at(4)), first = std::stoull(arguments.at(5)),
                records = std::stoull(arguments.at(6));
  bool write = arguments.at(7) == "write";
  // An invariant that stops the program says so on stderr; hundreds of them would drown the test's
  // own words.
  if (!std::getenv("DURAHASH_DAMAGE_VERBOSE")) (void)!std::freopen("/dev/null", "w", stderr);
  damage damages(image);
  for (std::uint64_t which = first; which < damages.count(); ++which) {
    if (!is_tried(which, seed)) continue;
    std::string copy = image;
    damages.apply(which, seed, copy);
    write_file(path, copy);
    told[damage_told::current] = which;
    told[damage_told::outcome] =
        static_cast<std::uint64_t>(try_one(with, path, records, write, told[damage_told::phase]));
    told[damage_told::finished] = which + 1;
    if (auto outcome = static_cast<damage_outcome>(told[damage_told::outcome].load());
        is_fault(outcome))
      return 1;
    told[damage_told::counts + told[damage_told::outcome]].fetch_add(1);
  }
  return 0;
}

const child_role damaged_reader_role("open_damaged_pools", open_damaged_pools);

}  // namespace
}  // namespace durahash::test
