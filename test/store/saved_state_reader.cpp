// The process that opens pools with a damaged saved state for saved_state_test.cpp: what it does
// not survive is the library's fault, and its parent goes on behind it.
#include <cstdio>
#include <cstdlib>
#include <map>

#include "child.hpp"
#include "damaged_reader.hpp"
#include "random.hpp"
#include "saved_state.hpp"
#include "scratch.hpp"
#include "subject.hpp"

namespace durahash::test {
namespace {

using contents = std::map<std::string, std::string>;

contents contents_at_first(const setup& with) {
  contents made;
  for (std::uint64_t n = 0; n < saved_state_pool::records; ++n)
    made[nth_key(with, n)] = saved_state_pool::value(with, n);
  return made;
}

bool has_all(subject& pool, const contents& expected) {
  for (const auto& [key, value] : expected)
    if (pool.get(key) != value) return false;
  std::uint64_t visited = 0;
  cursor at;
  while (!at.done)
    if (pool.scan(at, 100, [&](std::string_view, std::string_view) { ++visited; }) != status::ok)
      return false;
  return visited == expected.size() && pool.pool().size() == expected.size();
}

/// Takes cells of all classes, gives some back, grows, and moves all to the front.
bool write_something(subject& pool, const setup& with, contents& expected) {
  bool answered = true;
  auto put = [&](std::uint64_t n, std::uint64_t value) {
    std::string bytes = saved_state_pool::value(with, value);
    answered &= pool.put(nth_key(with, n), bytes) == status::ok;
    expected[nth_key(with, n)] = std::move(bytes);
  };
  constexpr std::uint64_t records = saved_state_pool::records;
  for (std::uint64_t n = 0; n < records; n += 3) put(n, n + 1);
  for (std::uint64_t n = 1; n < records; n += 3) {
    answered &= pool.erase(nth_key(with, n)) == status::ok;
    expected.erase(nth_key(with, n));
  }
  for (std::uint64_t n = records; n < 4 * records; ++n) put(n, n);
  answered &= pool.pool().compact() == status::ok;
  for (std::uint64_t n = records; n < 2 * records; ++n) put(n, n + 50);
  return answered;
}

class attempt {
 public:
  attempt(const setup& with, std::string path, std::atomic<std::uint64_t>& phase)
      : with_(with), path_(std::move(path)), phase_(phase), expected_(contents_at_first(with)) {}

  damage_outcome run() {
    std::unique_ptr<subject> pool;
    if (damage_outcome refusal = open(pool); pool == nullptr) return refusal;
    in(damage_phase::read);
    if (!has_all(*pool, expected_)) return damage_outcome::lost;
    in(damage_phase::check);
    const check_report report = pool->pool().check();
    if (!report.ok && report.violations.empty()) return damage_outcome::noticed_without_reason;
    in(damage_phase::write);
    const bool answered = write_something(*pool, with_, expected_);
    if (report.ok && !(answered && is_sound(*pool))) return damage_outcome::lost;
    in(damage_phase::close);
    const status closed = pool->pool().close();
    if (!report.ok) return damage_outcome::noticed;
    if (closed != status::ok) return damage_outcome::lost;
    if (open(pool); pool == nullptr) return damage_outcome::lost;
    return is_sound(*pool) ? damage_outcome::harmless : damage_outcome::lost;
  }

 private:
  void in(damage_phase phase) { phase_ = static_cast<std::uint64_t>(phase); }
  damage_outcome open(std::unique_ptr<subject>& pool) {
    in(damage_phase::open);
    pool.reset();
    options plain;
    plain.medium = with_.medium();
    auto opened = open_subject(with_, path_, plain);
    if (opened) pool = std::move(*opened);
    else if (opened.failure().message.size() < 20) return damage_outcome::refused_without_reason;
    return damage_outcome::refused;
  }
  bool is_sound(subject& pool) { return has_all(pool, expected_) && pool.pool().check().ok; }

  const setup& with_;
  std::string path_;
  std::atomic<std::uint64_t>& phase_;
  contents expected_;
};

/// setup, image file, folder for the damaged copy, told file, seed, first damage
int open_forged_states(const child_arguments& arguments) {
  setup with = setup_named(arguments.at(0));
  const std::string image = read_file(arguments.at(1)), path = arguments.at(2) + "/damaged";
  shared_words told(arguments.at(3), damage_told::words);
  std::uint64_t seed = std::stoull(arguments.at(4)), first = std::stoull(arguments.at(5));
  if (!std::getenv("DURAHASH_DAMAGE_VERBOSE")) (void)!std::freopen("/dev/null", "w", stderr);
  saved_state_damage damages(image);
  for (std::uint64_t which = first; which < damages.count(); ++which) {
    if (!damages.is_tried(which, seed)) continue;
    std::string copy = image;
    damages.apply(which, seed, copy);
    write_file(path, copy);
    told[damage_told::current] = which;
    auto outcome = attempt(with, path, told[damage_told::phase]).run();
    if (damages.must_recover(which) && !is_fault(outcome) && outcome != damage_outcome::harmless)
      outcome = damage_outcome::not_recovered;
    told[damage_told::outcome] = static_cast<std::uint64_t>(outcome);
    if (is_fault(outcome)) return 1;
    told[damage_told::counts + told[damage_told::outcome]].fetch_add(1);
  }
  return 0;
}

const child_role forged_state_reader("open_forged_states", open_forged_states);

}  // namespace
}  // namespace durahash::test
