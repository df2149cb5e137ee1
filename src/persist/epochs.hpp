// Epochs: memory that a reader may still see is reused only after every reader that could has left.
//
// Each pool has its own: a reader of one keeps back no memory of another. A reader writes plain
// words into a record of its thread; who reclaims pays for the order between the two (membarrier).
//
//   reader      e.enter: the present epoch stored in its thread's record;  reads;  the record
//               cleared
//   reclaimer   unlinks;  t = e.close_epoch();  frees once e.oldest_reader() >= t
//
// Nobody waits in here. Records belong to threads, not to pools, and are never freed: a thread that
// ends leaves its record to the next one.
//
// fork: a child has the thread that forked, and none of the other readers.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "base/processor.hpp"

namespace durahash {

class epochs;

namespace detail {

/// Where a thread says which pools it reads.
struct alignas(64) reader_record {
  static constexpr unsigned nested = 3;  // the outermost readings, which are told apart
  struct reading {
    std::atomic<const epochs*> of{nullptr};
    std::atomic<std::uint64_t> since{0};
  };
  reading readings[nested];
  unsigned depth = 0;  // its thread's
  // The depth of the first reading beyond those that is of yet another pool: until it ends every
  // pool's memory is kept back.
  std::atomic<unsigned> deeper{0};
};
static_assert(sizeof(reader_record) == 64);

extern constinit thread_local reader_record* this_readers_record;
reader_record& enrol() noexcept;
/// Of a reading at a depth beyond those that are told apart.
void read_deeper(reader_record& mine, const epochs& e, unsigned depth) noexcept;
void leave_deeper(reader_record& mine, unsigned depth) noexcept;

}  // namespace detail

class epochs {
 public:
  epochs() = default;
  epochs(const epochs&) = delete;

  /// While one lives in this thread, nothing retired after its construction is reused. It may be
  /// nested, also within guards of other pools: those of four pools or more keep back every pool's
  /// memory. Cost: three plain stores; on aarch64 a barrier, too.
  class guard {
   public:
    [[gnu::always_inline]] explicit guard(const epochs& e) noexcept
        : mine_(detail::this_readers_record) {
      if (mine_ == nullptr) [[unlikely]]
        mine_ = &detail::enrol();
      unsigned depth = mine_->depth++;
      if (depth < detail::reader_record::nested) [[likely]] {
        detail::reader_record::reading& here = mine_->readings[depth];
        // who sees this epoch sees that the reading before it is over
        here.since.store(e.now_.load(std::memory_order_acquire), std::memory_order_release);
        here.of.store(&e, std::memory_order_release);
      } else {
        detail::read_deeper(*mine_, e, depth);
      }
      // on x86 the processor's part is the reclaimer's
      keep_order(std::memory_order_seq_cst);
    }
    [[gnu::always_inline]] ~guard() {
      unsigned depth = --mine_->depth;
      if (depth < detail::reader_record::nested) [[likely]]
        mine_->readings[depth].of.store(nullptr, std::memory_order_release);
      else detail::leave_deeper(*mine_, depth);
    }
    guard(const guard&) = delete;

   private:
    detail::reader_record* mine_;
  };

  /// What was unlinked before this call may be reused when oldest_reader() says at least the
  /// answer.
  std::uint64_t close_epoch() noexcept { return now_.fetch_add(1, std::memory_order_acq_rel) + 1; }

  /// The epoch in which the reader that has been here longest came; the present one if none is
  /// here.
  /// Cost      a system call, and a line for each thread that ever read a pool.
  std::uint64_t oldest_reader() const noexcept;

  /// Of the calling thread. Threads that are there at the same time mostly have others.
  static unsigned thread_number() noexcept {
    if (detail::this_readers_record == nullptr) detail::enrol();
    return known_thread_number();
  }
  /// The same, of a thread that has one already.
  static bool thread_is_known() noexcept { return detail::this_readers_record != nullptr; }
  static unsigned known_thread_number() noexcept {
    const detail::reader_record* mine = detail::this_readers_record;
    return static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(mine) / sizeof *mine);
  }

  /// Whether this thread is under a guard of this pool.
  bool read_by_this_thread() const noexcept;

 private:
  std::atomic<std::uint64_t> now_{1};
};

}  // namespace durahash
