// The memory in which a log's entries are written before the disk has them: a ring of slots, and
// the two places between which its entries lie.
//
// At the level power_buffered an operation returns before the disk has its entries; they must
// outlive the process, and the ring is a file on tmpfs.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "disk/log_format.hpp"
#include "durahash/status.hpp"

namespace durahash {

class log_ring {
 public:
  using id = std::array<std::uint8_t, 16>;

  /// Gone with the process. `slots` is a power of two, page_of_entries at least. Throws
  /// std::bad_alloc.
  static log_ring in_memory(std::uint64_t slots, std::uint64_t first);

  /// A file of tmpfs, which outlives the process and not the machine, for those who may use the
  /// file `like`. One of that name is replaced.
  static result<log_ring> on_tmpfs(const std::string& path, int like, std::uint64_t slots,
                                   const id& log_id, std::uint64_t key, std::uint64_t first);

  /// That of a killed process: of this log, in the opening with that key. Nothing if there is none;
  /// an error where that cannot be told: what was acknowledged may be in it.
  static result<std::optional<log_ring>> left_behind(const std::string& path, const id& log_id,
                                                     std::uint64_t key);

  log_ring(log_ring&& other) noexcept;
  log_ring& operator=(log_ring&&) = delete;
  ~log_ring();

  std::uint64_t slots() const noexcept { return mask_ + 1; }
  log_entry& slot(std::uint64_t place) const noexcept { return entries_[place & mask_]; }
  /// Never 0, which a slot that was never written says.
  std::uint64_t lap(std::uint64_t place) const noexcept { return (place >> shift_) % lap_mask + 1; }
  /// Whether the slot holds the entry of that place, and not that of a lap before.
  bool is_written(std::uint64_t place) const noexcept {
    std::uint64_t seal = __atomic_load_n(&slot(place).seal, __ATOMIC_ACQUIRE);
    return (seal & lap_mask) == lap(place);
  }

  /// The first place that nobody has taken.
  std::atomic<std::uint64_t>& head() const noexcept { return control_->head; }
  /// The first place that the disk does not have.
  std::atomic<std::uint64_t>& durable() const noexcept { return control_->durable; }

  /// Nobody needs it after this process.
  void remove_at_end() noexcept { removed_at_end_ = true; }

 private:
  struct control {
    std::array<char, 8> magic;
    id log_id;
    std::uint64_t key;
    std::uint64_t slots;
    std::uint64_t checksum;
    alignas(line_bytes) std::atomic<std::uint64_t> head;
    alignas(line_bytes) std::atomic<std::uint64_t> durable;
  };
  static_assert(sizeof(control) <= page_bytes);

  log_ring(void* memory, std::uint64_t slots, std::string path) noexcept;
  static std::uint64_t bytes_for(std::uint64_t slots) {
    return page_bytes + slots * sizeof(log_entry);
  }

  control* control_;
  log_entry* entries_;
  std::uint64_t mask_;
  unsigned shift_;
  std::string path_;
  bool removed_at_end_ = false;
};

}  // namespace durahash
