// A disk that loses power: what this process writes to chosen files, and when it waits for it, is
// recorded; then each moment can be cut out, as a disk may stand after it. A sector of 512 bytes
// that nobody waited for is old or new, each for itself.
//
// pwritev2, fdatasync, fsync, posix_fallocate and ftruncate of the program are its own: this file
// stands between it and libc.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "store/random.hpp"

namespace durahash::test {

class disk_recorder {
 public:
  static constexpr std::uint64_t sector_bytes = 512;

  /// From here on, until `stop`, of the files of these names.
  explicit disk_recorder(const std::vector<std::string>& paths);
  /// Goes on where another one's process was killed, at that moment: nothing of the disk is lost,
  /// and what nobody had waited for is still not waited for.
  disk_recorder(const disk_recorder& before, std::uint64_t killed_at);
  ~disk_recorder();
  disk_recorder(const disk_recorder&) = delete;

  /// Moments so far: each write, and each end of one, is one.
  std::uint64_t now() const;
  void stop();

  enum class unwaited { all_old, all_new, drawn };
  /// Sectors of these offsets are no whole ones: a new one is so in its first bytes alone.
  void tear(std::uint64_t from, std::uint64_t to);

  /// The files, by their names, as a cut at that moment may leave them.
  std::map<std::string, std::string> after_cut(std::uint64_t moment, unwaited how,
                                               random_stream& draw) const;
  /// Likewise, with a word for each sector and each length that nobody had waited for, in the order
  /// of the writes.
  std::map<std::string, std::string> after_cut(std::uint64_t moment,
                                               const std::vector<bool>& is_new) const;
  /// How many sectors and lengths that nobody had waited for there were at that moment.
  std::size_t unwaited_at(std::uint64_t moment) const;

 private:
  template <class Draw>
  std::map<std::string, std::string> cut_at(std::uint64_t moment, Draw&& is_new) const;
  friend struct recorded_calls;
  struct recording;
  recording* made_;
};

/// While one lives, a write takes a millisecond for each of so many bytes, and one more.
class slow_disk {
 public:
  explicit slow_disk(std::uint64_t bytes_each_millisecond);
  ~slow_disk();
  slow_disk(const slow_disk&) = delete;
};

/// While one lives, a sync answers at once. What is recorded, or killed, is the process: that the
/// disk has what it waited for is nothing that it could see. With DURAHASH_LONG=1 it waits.
class no_waits {
 public:
  no_waits();
  ~no_waits();
  no_waits(const no_waits&) = delete;
};

/// The n-th of these calls from here on, and all behind it where `for_good`, fails; not those of
/// files in memory.
class disk_fault {
 public:
  disk_fault(std::uint64_t nth, int error_number, bool for_good);
  ~disk_fault();
  disk_fault(const disk_fault&) = delete;
  /// How many have failed.
  static std::uint64_t failed();
};

}  // namespace durahash::test
