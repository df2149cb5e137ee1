// What scans have read of a stretch of hashes and not visited yet, so that a call with a small
// limit need not read, and sort, a whole stretch.
//
// A call that stops within a stretch leaves the keys behind it here. The next one from there takes
// them, and looks each up as any search does: it visits what is there then, durably. A record that
// was there from a scan's first call to its last one is among them if they were read in that scan,
// or later. So who has read a stretch anew drops what lies here of it; and by the count of such
// readings what others hold of it just now is not left here again.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/bits.hpp"
#include "base/spin_lock.hpp"
#include "engine/kinds.hpp"

namespace durahash {

/// Keys in hash order that are still to be visited.
template <class Kind>
class rest_of_stretch {
 public:
  using key_type = typename Kind::key_type;
  static constexpr std::size_t most = 1024;  // keys

  /// `end` is where the stretch ends; 0: with all hashes.
  explicit rest_of_stretch(std::uint64_t end = 0) noexcept : end_(end) {}

  void add(std::uint64_t hash, key_type key) { ahead_.push_back({hash, owned_key(key)}); }
  bool is_over() const noexcept { return next_ == ahead_.size(); }
  std::size_t size() const noexcept { return ahead_.size() - next_; }
  std::uint64_t hash() const noexcept { return ahead_[next_].hash; }
  key_type key() const noexcept { return ahead_[next_].key; }
  void pass() noexcept { ++next_; }
  std::uint64_t position() const noexcept { return is_over() ? end_ : hash(); }
  std::uint64_t end() const noexcept { return end_; }
  /// It is as long as it may get: behind the key with this hash another begins.
  void end_at(std::uint64_t hash) noexcept { end_ = hash; }

 private:
  using owned_key = std::conditional_t<Kind::in_slot, key_type, std::string>;
  struct unvisited {
    std::uint64_t hash;
    owned_key key;
  };
  std::vector<unvisited> ahead_;
  std::size_t next_ = 0;
  std::uint64_t end_;
};

/// Those of a few scans at a time.
template <class Kind>
class rests_of_scans {
 public:
  using rest = rest_of_stretch<Kind>;

  /// How many stretches were read anew and left in part.
  std::uint64_t readings() noexcept {
    std::scoped_lock lock(lock_);
    return readings_;
  }
  /// Nothing where no call has stopped just there.
  std::optional<rest> take(std::uint64_t position, std::uint64_t& readings);
  /// What was taken, or is left of it.
  void put_back(rest r, std::uint64_t readings_then);
  /// Of a stretch up to `end` that was read since there were so many readings. None, if it could
  /// not be noted.
  void leave(std::optional<rest> r, std::uint64_t from, std::uint64_t end,
             std::uint64_t readings_then);

 private:
  /// Stretches begin and end at hashes whose low bits are 0: a scan that comes from the stretch in
  /// front may not take what an earlier one has left there.
  static bool may_begin_a_stretch(std::uint64_t hash) noexcept {
    return (hash & low_bits(20)) == 0;
  }
  void keep(rest r);

  spin_lock lock_;  // guards what follows
  std::array<rest, 4> rests_;
  std::size_t next_victim_ = 0;
  std::uint64_t readings_ = 0;
};

template <class Kind>
auto rests_of_scans<Kind>::take(std::uint64_t position, std::uint64_t& readings)
    -> std::optional<rest> {
  std::scoped_lock lock(lock_);
  readings = readings_;
  for (rest& r : rests_)
    if (!r.is_over() && r.hash() == position) return std::exchange(r, rest());
  return std::nullopt;
}

template <class Kind>
void rests_of_scans<Kind>::put_back(rest r, std::uint64_t readings_then) {
  std::scoped_lock lock(lock_);
  if (readings_ == readings_then) keep(std::move(r));
}

template <class Kind>
void rests_of_scans<Kind>::leave(std::optional<rest> r, std::uint64_t from, std::uint64_t end,
                                 std::uint64_t readings_then) {
  std::scoped_lock lock(lock_);
  for (rest& other : rests_)  // 0 is behind all hashes
    if (!other.is_over() && other.hash() <= end - 1 && from <= other.end() - 1) other = rest();
  const bool latest = readings_++ == readings_then;
  if (latest && r) keep(std::move(*r));
}

template <class Kind>
void rests_of_scans<Kind>::keep(rest r) {
  if (r.is_over() || may_begin_a_stretch(r.hash())) return;
  for (rest& free : rests_)
    if (free.is_over()) return static_cast<void>(free = std::move(r));
  rests_[next_victim_++ % rests_.size()] = std::move(r);
}

extern template class rests_of_scans<word_records>;
extern template class rests_of_scans<byte_records>;
extern template class rests_of_scans<fixed_records>;

}  // namespace durahash
