// What was acknowledged: the version of each record, in memory that outlives the life that was told
// so. Judges pools by it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "numbered_pool.hpp"

namespace durahash::test {

class ledger {
 public:
  static constexpr std::uint64_t most_keys = 50'000;

  /// Of keys below `keys`, and of counters.
  ledger(const setup& with, std::uint64_t keys, std::size_t value_bytes = 0);
  void clear();

  const setup& with() const { return with_; }
  std::uint64_t keys() const { return keys_; }
  /// 0: absent.
  std::uint64_t version(std::uint64_t n) const { return versions_[n]; }
  void wrote(std::uint64_t n, std::uint64_t version) {
    versions_[n] = static_cast<std::uint32_t>(version);
  }
  void erased(std::uint64_t n) { versions_[n] = 0; }
  /// A version that the key never had.
  std::uint64_t fresh_version() { return ++versions_[most_keys]; }
  std::uint64_t records() const;
  /// The record as it stands, or as it would be with that version.
  record now(std::uint64_t n) const { return of(n, version(n)); }
  record of(std::uint64_t n, std::uint64_t version) const {
    return record_of(with_, n, version, value_bytes_);
  }

  // In a life; each ends it with a complaint:

  /// The pool holds these records and no others, counts them, and is sound.
  void expect_all_in(numbered_pool& pool) const;
  /// Everything is there; writes `count` records with new keys, all of which must be taken; then
  /// everything is still there.
  void expect_nothing_is_overwritten(numbered_pool& pool, std::uint64_t count);

 private:
  void expect_records_in(numbered_pool& pool) const;

  setup with_;
  std::uint64_t keys_;
  std::size_t value_bytes_;
  std::uint32_t* versions_;  // shared; behind the last one the freshest
};

/// Opens the pool while nothing fails; ends the life where it cannot.
numbered_pool open_or_complain(const setup& with, const std::string& path, const options& how);
options reopening(const setup& with);

/// A life of its own that opens what the last one left, and holds it against the ledger. Returns
/// what live() does.
std::string judged(ledger& known, const std::string& path);

}  // namespace durahash::test
