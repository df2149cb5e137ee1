// As persistent memory on any memory: flushes and fences are really executed, counted, and slowed
// down on request. Blocks of 256 bytes are counted as the media would see them, through a small
// write-combining buffer and a small read buffer per thread (TurboHash §2, Figure 2).
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "media/cache_line.hpp"
#include "media/medium.hpp"

namespace durahash {

class emulated_medium : public direct_access {
 public:
  static constexpr bool visible_is_durable = false;
  struct latency {
    std::uint32_t flush_ns = 0;  // added to each line written back
    // added to each 256-byte block that leaves the write-combining buffer
    std::uint32_t block_ns = 0;
    std::uint32_t read_ns = 0;  // added to each 256-byte block that comes into the read buffer
  };

  explicit emulated_medium(latency added);
  emulated_medium(const emulated_medium&) = delete;
  ~emulated_medium();

  template <class T>
  T read(const T* at) noexcept {
    will_read(at, sizeof(T));
    return direct_access::read(at);
  }
  void will_read(const void* at, std::size_t bytes) noexcept;
  void flush(const void* at, std::size_t bytes) noexcept;
  void fence() noexcept;
  media_counts counts() const;  // exact when no operation is under way

 private:
  struct thread_counts;
  thread_counts& mine() noexcept;
  void wait(std::uint64_t nanoseconds) const noexcept;

  latency added_;
  flush_instruction how_;
  // tells this medium's counters from those of an earlier one at the same address
  std::uint64_t id_;
  mutable std::mutex registering_;
  std::vector<std::unique_ptr<thread_counts>> all_;
};

static_assert(medium<emulated_medium>);

}  // namespace durahash
