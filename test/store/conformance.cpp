#include "conformance.hpp"

#include <ostream>
#include <stdexcept>

namespace durahash {

void PrintTo(status code, std::ostream* out) {
  *out << "status " << static_cast<int>(code) << " (" << message(code) << ")";
}

}  // namespace durahash

namespace durahash::test {

model contents_of(subject& pool) {
  model found;
  cursor at;
  while (!at.done) {
    status answer = pool.scan(at, 1000, [&](std::string_view key, std::string_view value) {
      EXPECT_TRUE(found.emplace(key, value).second)
          << "the scan visits a key of " << key.size() << " bytes twice";
    });
    EXPECT_EQ(answer, status::ok);
    if (answer != status::ok) break;
  }
  return found;
}

void expect_sound(subject& pool) {
  check_report report = pool.pool().check();
  EXPECT_TRUE(report.ok);
  for (const std::string& violation : report.violations) ADD_FAILURE() << violation;
  EXPECT_EQ(report.records, pool.pool().size());
  EXPECT_EQ(report.records, pool.pool().info().records);
  EXPECT_EQ(report.records, contents_of(pool).size());
}

void expect_contents(subject& pool, const model& expected) {
  EXPECT_EQ(pool.pool().size(), expected.size());
  std::size_t wrong = 0;
  for (const auto& [key, value] : expected)
    if (pool.get(key) != value) ++wrong;
  EXPECT_EQ(wrong, 0u) << "of " << expected.size() << " lookups";
  EXPECT_TRUE(contents_of(pool) == expected) << "a full scan gives other records than were written";
}

conformance::conformance() : folder_(with().folder()), path_(folder_.file("pool")) {
  auto opened = try_open(how());
  if (!opened) throw std::runtime_error("cannot create the pool: " + opened.failure().message);
  pool_ = std::move(*opened);
}

strings conformance::keys(std::uint64_t first, std::uint64_t last) const {
  strings all;
  for (std::uint64_t n = first; n < last; ++n) all.push_back(key(n));
  return all;
}

strings conformance::values(std::uint64_t first, std::uint64_t last) const {
  strings all;
  for (std::uint64_t n = first; n < last; ++n) all.push_back(value(n));
  return all;
}

model conformance::fill(std::uint64_t first, std::uint64_t last, std::uint64_t version) {
  model written;
  for (std::uint64_t n = first; n < last; ++n) {
    status answer = pool().put(key(n), value(n + version));
    EXPECT_EQ(answer, status::ok) << "at record " << n;
    if (answer != status::ok) break;
    written[key(n)] = value(n + version);
  }
  return written;
}

void conformance::reopen(const options& how) {
  if (pool_) {
    status answer = pool_->pool().close();
    ASSERT_TRUE(answer == status::ok || answer == status::closed) << message(answer);
  }
  pool_.reset();
  auto opened = try_open(how);
  ASSERT_TRUE(opened) << opened.failure().message;
  pool_ = std::move(*opened);
}

void conformance::reopen() {
  options nothing_named;
  nothing_named.medium = with().medium();
  reopen(nothing_named);
}

}  // namespace durahash::test
