// What the conformance suites share: a fresh pool of the setup under test, and the contract's words
// in a test's mouth.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <unordered_map>

#include "random.hpp"
#include "scratch.hpp"
#include "setup.hpp"
#include "subject.hpp"

namespace durahash {

/// For gtest's messages.
void PrintTo(status code, std::ostream* out);

}  // namespace durahash

namespace durahash::test {

using model = std::unordered_map<std::string, std::string>;

/// Every record of the pool by a full scan; a key that comes twice fails the test.
model contents_of(subject& pool);

/// Expects no violation, and that check, size, info and a full scan count the same records.
void expect_sound(subject& pool);

/// Expects exactly these records, by lookup, by scan and by count.
void expect_contents(subject& pool, const model& expected);

class conformance : public testing::TestWithParam<setup> {
 protected:
  conformance();

  subject& pool() { return *pool_; }
  const setup& with() const { return GetParam(); }
  const std::string& path() const { return path_; }
  options how() const { return with().create_options(); }

  std::string key(std::uint64_t n) const { return nth_key(with(), n); }
  std::string value(std::uint64_t n) const { return nth_value(with(), n); }
  strings keys(std::uint64_t first, std::uint64_t last) const;    ///< [first, last)
  strings values(std::uint64_t first, std::uint64_t last) const;  ///< [first, last)

  /// Puts records first..last-1, each with the value of its number plus `version`, and returns them
  /// as a model.
  model fill(std::uint64_t first, std::uint64_t last, std::uint64_t version = 0);

  /// Opens the path again, after a clean close where the pool is still open; fails the test where
  /// it cannot.
  void reopen(const options& how);
  void reopen();  ///< with nothing named: the pool's own kinds, the setup's medium
  /// The same, as a result.
  result<std::unique_ptr<subject>> try_open(const options& how) {
    return open_subject(with(), path_, how);
  }
  void drop() { pool_.reset(); }

  bool keys_are_bytes() const { return with().key() == data_kind::bytes; }
  bool keys_have_one_length() const { return !keys_are_bytes() || with().key_bytes != 0; }
  bool values_are_bytes() const { return with().value() == data_kind::bytes; }
  bool through_table() const { return with().api != api_kind::words; }

 private:
  scratch_folder folder_;
  std::string path_;
  std::unique_ptr<subject> pool_;
};

}  // namespace durahash::test
