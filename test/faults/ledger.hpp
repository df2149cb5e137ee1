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
  static constexpr std::uint64_t max_keys = 50'000;

  /// Of keys below `keys`, and of counters.
  ledger(const setup& with, std::uint64_t keys, std::size_t value_bytes = 0);
  void clear();

  const setup& with() const { return with_; }
  std::uint64_t keys() const { return keys_; }
  /// 0: absent.
  std::uint64_t version(std::uint64_t n) const { return versions_[n]; }
  void wrote(std::uint64_t n, std::uint64_t version) {
    versions_[n] = static_cast<std::uint32_t>(version);
    other_versions_[n] = no_other;
  }
  void erased(std::uint64_t n) { wrote(n, 0); }
  /// A write that was answered with an error: of it the pool may hold all, or nothing. The first of
  /// a key stands: where a disk has failed, no later write is begun.
  void perhaps_wrote(std::uint64_t n, std::uint64_t version) {
    if (in_doubt(n)) return;
    other_versions_[n] = static_cast<std::uint32_t>(version);
    any_doubt() = 1;
  }
  bool in_doubt(std::uint64_t n) const { return other_versions_[n] != no_other; }
  bool has_doubts() const { return any_doubt() != 0; }
  /// Ends doubts by what a pool holds that has been opened anew.
  void settle_doubts(numbered_pool& pool) const;
  /// A version that the key never had.
  std::uint64_t fresh_version() { return ++versions_[max_keys]; }
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
  static constexpr std::uint32_t no_other = ~std::uint32_t{0};

  void expect_records_in(numbered_pool& pool) const;
  std::uint32_t& any_doubt() const { return other_versions_[max_keys]; }

  setup with_;
  std::uint64_t keys_;
  std::size_t value_bytes_;
  // Both shared with all lives:
  std::uint32_t* versions_;        // behind the last one the freshest
  std::uint32_t* other_versions_;  // behind the last one whether there is any
};

/// Opens the pool while nothing fails; ends the life where it cannot.
numbered_pool open_or_report(const setup& with, const std::string& path, const options& how);
options reopening(const setup& with);

/// A life of its own that opens what the last one left, and holds it against the ledger. Returns
/// what live() does.
std::string judged(ledger& known, const std::string& path);

}  // namespace durahash::test
