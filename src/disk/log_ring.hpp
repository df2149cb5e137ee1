// The memory in which a log's entries are written before the disk has them: a ring of slots, and
// the two places between which its entries lie.
//
// At the level power_buffered an operation returns before the disk has its entries; they must
// outlive the process, and the ring is a file on tmpfs. Its name cannot be guessed, and what
// another user has put there is not trusted.
//
// The ring grows while it is in use: from some place on, entries stand in another order, the new
// slots first. That place is the first for which nobody may have a slot yet (`limit`). The next
// growth waits until the disk has all before it; so of two orders each place knows its own.
#pragma once

#include <sys/stat.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "disk/log_format.hpp"
#include "disk/planted.hpp"
#include "durahash/status.hpp"

namespace durahash {

class log_ring {
 public:
  using id = std::array<std::uint8_t, 16>;
  static constexpr std::uint64_t max_slots = 1 << 18;

  /// Gone with the process. `slots` is a power of two, page_of_entries at least. Throws
  /// std::bad_alloc.
  static log_ring in_memory(std::uint64_t slots, std::uint64_t first);

  /// A file of tmpfs, which outlives the process and not the machine, for those who may use the
  /// file `like`. It has no name until `appear`.
  static result<log_ring> on_tmpfs(const std::string& path, int like, std::uint64_t slots,
                                   const id& log_id, std::uint64_t key, std::uint64_t first);
  error appear();

  /// That of a killed process: of this log, in the opening with that key, by somebody who may write
  /// to `pool`. Nothing if there is none; an error where that cannot be told: what was acknowledged
  /// may be in it.
  static result<std::optional<log_ring>> left_behind(const std::string& path,
                                                     const struct stat& pool, const id& log_id,
                                                     std::uint64_t key);

  /// Likewise of a process that may be at work in it: to be looked at, and not to be stored to.
  static result<std::optional<log_ring>> of_a_writer(const std::string& path,
                                                     const struct stat& pool, const id& log_id,
                                                     std::uint64_t key);
  /// Nobody guesses it who cannot read the pool.
  static std::string path_of(const struct stat& pool, const id& log_id, std::uint64_t key);
  /// Removes those of the pool's logs, of whatever opening: the pool goes.
  static void remove_all(const struct stat& pool) noexcept;

  log_ring(log_ring&& other) noexcept;
  log_ring& operator=(log_ring&&) = delete;
  ~log_ring();

  std::uint64_t slots() const noexcept { return order().now.slots(); }
  log_entry& slot(std::uint64_t place) const noexcept {
    return entries_[order().of(place).index(place)];
  }
  /// How many places from that one on stand one after the other.
  std::uint64_t run_from(std::uint64_t place) const noexcept;
  /// Never 0, which a slot that was never written says; nor that of what stood there before.
  std::uint64_t lap(std::uint64_t place) const noexcept {
    return order().of(place).laps(place) % lap_mask + 1;
  }
  /// Whether the slot holds the entry of that place, and not that of a lap before.
  bool is_written(std::uint64_t place) const noexcept {
    std::uint64_t seal = __atomic_load_n(&slot(place).seal, __ATOMIC_ACQUIRE);
    return (seal & lap_mask) == lap(place);
  }
  /// Places before it have a slot: a multiple of page_of_entries. Those of the page that the disk
  /// has in part keep theirs.
  std::uint64_t limit() const noexcept;

  /// The first place that nobody has taken.
  std::atomic<std::uint64_t>& head() const noexcept { return control_->head; }
  /// The first place that the disk does not have.
  std::atomic<std::uint64_t>& durable() const noexcept { return control_->durable; }

  /// Memory for so many slots; may be called beside all else, by one thread. Returns false where
  /// there is none.
  bool provide(std::uint64_t slots) noexcept;
  /// Whether the disk has all that stands in the order before.
  bool may_grow() const noexcept { return durable() >= order().first; }
  /// Whether what is mapped has all of its slots: another process has it grow.
  bool has_its_slots() const noexcept;
  /// Has the places from `limit()` on stand in so many slots, for which there is memory. Before
  /// anybody is told of a greater limit.
  void grow(std::uint64_t slots) noexcept;

  /// Nobody needs it after this process.
  void remove_at_end() noexcept { removed_at_end_ = true; }

 private:
  struct view {
    std::uint64_t log2_slots;
    std::uint64_t shift;  // from a place to where it stands, modulo the slots
    std::uint64_t laps_before;

    std::uint64_t slots() const noexcept { return std::uint64_t{1} << log2_slots; }
    std::uint64_t index(std::uint64_t place) const noexcept {
      return (place + shift) & (slots() - 1);
    }
    std::uint64_t laps(std::uint64_t place) const noexcept {
      return ((place + shift) >> log2_slots) + laps_before;
    }
  };
  struct slot_order {
    std::uint64_t first;  // place: from there on, `now`
    view before, now;
    const view& of(std::uint64_t place) const noexcept {
      return place < first && !disk_bug("a-ring-whose-places-move") ? before : now;
    }
  };
  struct control {
    std::array<char, 8> magic;
    id log_id;
    std::uint64_t key;
    std::uint64_t checksum;
    slot_order orders[2];              // written in turn
    std::atomic<std::uint64_t> which;  // of them is in force, modulo 2
    alignas(line_bytes) std::atomic<std::uint64_t> head;
    alignas(line_bytes) std::atomic<std::uint64_t> durable;
  };
  static_assert(sizeof(control) <= page_bytes);

  enum class use { alone, beside };
  static result<std::optional<log_ring>> find(const std::string& path, const struct stat& pool,
                                              const id& log_id, std::uint64_t key, use how);
  log_ring(void* memory, std::uint64_t mapped_bytes, std::string path, int file) noexcept;
  void begin(std::uint64_t slots, std::uint64_t first) noexcept;
  bool has_slots_in(std::uint64_t bytes) const noexcept;
  /// Whoever is at work at a place sees the order in force or the one before, and either says
  /// where that place stands.
  const slot_order& order() const noexcept {
    return control_->orders[control_->which.load(std::memory_order_acquire) & 1];
  }
  static std::uint64_t bytes_for(std::uint64_t slots) {
    return page_bytes + slots * sizeof(log_entry);
  }

  control* control_;
  log_entry* entries_;
  std::uint64_t mapped_bytes_;
  std::string path_;
  int file_;  // of tmpfs, or -1
  bool named_ = false, removed_at_end_ = false;
};

}  // namespace durahash
