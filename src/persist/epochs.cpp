#include "persist/epochs.hpp"

#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <mutex>
#include <optional>

#include "base/bits.hpp"
#include "base/turns.hpp"

namespace durahash {

namespace detail {

constinit thread_local reader_record* this_readers_record = nullptr;

}  // namespace detail

namespace {

using detail::reader_record;
using detail::this_readers_record;

/// Records in blocks that are never freed. The first block needs no memory, so that a program
/// without any can read.
struct record_block {
  static constexpr std::size_t size = 64;
  reader_record records[size];
  std::atomic<bool> taken[size] = {};
  std::atomic<record_block*> next{nullptr};
};
constinit record_block first_block;

template <class Visit>
void for_each_record(Visit&& visit) noexcept {
  for (record_block* b = &first_block; b != nullptr; b = b->next.load(std::memory_order_acquire))
    for (std::size_t i = 0; i < record_block::size; ++i)
      if (visit(b->records[i], b->taken[i])) return;
}

bool take(reader_record& record, std::atomic<bool>& taken) noexcept {
  bool free = false;
  if (taken.load(std::memory_order_relaxed) ||
      !taken.compare_exchange_strong(free, true, std::memory_order_acq_rel))
    return false;
  this_readers_record = &record;
  return true;
}

void give_back(reader_record& record, std::atomic<bool>& taken) noexcept {
  for (auto& reading : record.readings) reading.of.store(nullptr, std::memory_order_release);
  record.deeper.store(0, std::memory_order_release);
  record.depth = 0;
  taken.store(false, std::memory_order_release);
}

/// When the thread ends, wherever it does.
void leave_record(void*) noexcept {
  for_each_record([](reader_record& record, std::atomic<bool>& taken) {
    if (&record != this_readers_record) return false;
    this_readers_record = nullptr;
    give_back(record, taken);
    return true;
  });
}

/// In a child: the other threads that read have stayed behind.
void forget_other_readers() noexcept {
  for_each_record([](reader_record& record, std::atomic<bool>& taken) {
    if (&record != this_readers_record) give_back(record, taken);
    return false;
  });
}

/// Nothing where the process has used up its keys: records of threads that end are not used again.
std::optional<pthread_key_t> end_of_thread() noexcept {
  static const std::optional<pthread_key_t> key = [] {
    pthread_key_t made{};
    bool is_there = pthread_key_create(&made, leave_record) == 0;
    pthread_atfork(nullptr, nullptr, forget_other_readers);
    return is_there ? std::optional(made) : std::nullopt;
  }();
  return key;
}

/// A page whose protection is changed where membarrier is not to be had: every processor that runs
/// a thread of ours is interrupted for it.
void interrupt_processors() noexcept {
  alignas(page_bytes) static char page[page_bytes];
  static std::mutex one_at_a_time;
  std::scoped_lock lock(one_at_a_time);
  ::mprotect(page, sizeof page, PROT_READ | PROT_WRITE);
  *static_cast<volatile char*>(page) = 1;  // a page that is not there interrupts nobody
  ::mprotect(page, sizeof page, PROT_READ);
}

/// What other threads stored before this is seen after it; what they load after it, they load anew.
void order_with_readers() noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (!keeps_order) return;                 // readers have a barrier of their own
  if (turns::current() != nullptr) return;  // one thread runs at a time
  auto order = [](int command) { return ::syscall(SYS_membarrier, command, 0, 0); };
  if (order(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0) return;
  if (errno == EPERM && order(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0 &&
      order(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0)
    return;
  interrupt_processors();
}

}  // namespace

/// Threads beyond all records share their memory's luck: they wait for one.
reader_record& detail::enrol() noexcept {
  // any value but null: the destructor is called
  if (auto key = end_of_thread()) pthread_setspecific(*key, &first_block);
  while (true) {  // ends: a block is added, or a thread ends
    record_block* last = nullptr;
    for_each_record(
        [](reader_record& record, std::atomic<bool>& taken) { return take(record, taken); });
    if (this_readers_record != nullptr) return *this_readers_record;
    for (record_block* b = &first_block; b != nullptr; b = b->next.load(std::memory_order_acquire))
      last = b;
    void* memory = ::mmap(nullptr, sizeof(record_block), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
      sched_yield();
      continue;
    }
    auto* made = new (memory) record_block;
    record_block* none = nullptr;
    while (!last->next.compare_exchange_strong(none, made, std::memory_order_acq_rel))
      last = none, none = nullptr;
  }
}

namespace {

/// An outer reading of the same pool is older, and keeps back what an inner one needs.
bool reads(const reader_record& mine, const epochs* pool) noexcept {
  return std::any_of(std::begin(mine.readings), std::end(mine.readings),
                     [&](const reader_record::reading& r) {
                       return r.of.load(std::memory_order_relaxed) == pool;
                     });
}

}  // namespace

void detail::read_deeper(reader_record& mine, const epochs& e, unsigned depth) noexcept {
  if (mine.deeper.load(std::memory_order_relaxed) == 0 && !reads(mine, &e))
    mine.deeper.store(depth, std::memory_order_release);
}

void detail::leave_deeper(reader_record& mine, unsigned depth) noexcept {
  if (mine.deeper.load(std::memory_order_relaxed) == depth)
    mine.deeper.store(0, std::memory_order_release);
}

std::uint64_t epochs::oldest_reader() const noexcept {
  std::uint64_t oldest = now_.load(std::memory_order_acquire);
  order_with_readers();
  for_each_record([&](const reader_record& record, const std::atomic<bool>&) {
    for (const reader_record::reading& reading : record.readings)
      if (reading.of.load(std::memory_order_acquire) == this)
        oldest = std::min(oldest, reading.since.load(std::memory_order_acquire));
    if (record.deeper.load(std::memory_order_acquire) != 0) oldest = 0;
    return false;
  });
  return oldest;
}

bool epochs::read_by_this_thread() const noexcept {
  const reader_record* mine = this_readers_record;
  if (mine == nullptr) return false;
  return mine->deeper.load(std::memory_order_relaxed) != 0 || reads(*mine, this);  // perhaps
}

}  // namespace durahash
