// GPHash: whether the table is to grow before a write finds no room, and writes are to help.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "engine/gphash/levels.hpp"

namespace durahash::gphash {

class growth_need {
 public:
  /// Without `early` growth waits until it is needed.
  explicit growth_need(bool early) noexcept : early_(early) {}
  bool is_early() const noexcept { return early_; }

  /// Asked behind each write.
  bool wants_help() const noexcept { return wants_help_.load(std::memory_order_relaxed); }

  /// An insertion finds that few of its key's slots are empty: soon one will find none.
  [[gnu::noinline]] void note(const levels_view& v) noexcept {
    constexpr std::uint64_t one_of = 256, most = 16;  // of small tables one note is enough
    const std::uint64_t bottom = v.bottom().buckets();
    const std::uint64_t enough = std::max(std::min(bottom / one_of, most), in_vain_.load());
    if (early_ && notes_.fetch_add(1) + 1 >= enough) wants_help_ = true;
  }

  /// Growth is under way.
  void begin() noexcept { wants_help_ = true; }
  void end() noexcept {
    wants_help_ = false;
    asked_ = false;
    notes_ = in_vain_ = 0;
  }

  /// Returns false if somebody has asked already, who is yet to be answered.
  bool ask() noexcept { return !asked_.exchange(true); }
  void answered() noexcept { asked_ = false; }
  /// Nothing came of it: twice as many notes are worth asking again.
  void was_in_vain() noexcept {
    in_vain_ = 2 * notes_ + 1;
    wants_help_ = false;
  }

 private:
  bool early_;
  std::atomic<bool> wants_help_{false}, asked_{false};
  // of insertions, since the last growth, that few slots are left; and how many led to nothing
  std::atomic<std::uint64_t> notes_{0}, in_vain_{0};
};

}  // namespace durahash::gphash
