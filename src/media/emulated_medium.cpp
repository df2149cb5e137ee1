#include "media/emulated_medium.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>

namespace durahash {
namespace {

/// The 256-byte blocks a device keeps near: least recently used leaves first.
template <std::size_t Blocks>
class block_buffer {
 public:
  /// Returns whether the block had to be brought in, so that another one left.
  bool touch(std::uintptr_t block) noexcept {
    auto found = std::find(blocks_.begin(), blocks_.end(), block);
    bool missed = found == blocks_.end();
    if (missed) found = blocks_.end() - 1;
    std::move_backward(blocks_.begin(), found, found + 1);
    blocks_.front() = block;
    return missed;
  }

 private:
  std::array<std::uintptr_t, Blocks> blocks_{};
};

std::atomic<std::uint64_t> next_id{1};

std::uintptr_t block_of(const void* at) {
  return reinterpret_cast<std::uintptr_t>(at) / block_bytes;
}

}  // namespace

// A counter has one writer, its thread; others read it.
struct emulated_medium::thread_counts {
  std::atomic<std::uint64_t> flushes{0}, fences{0}, blocks_read{0}, blocks_written{0};
  block_buffer<8> written, read;
  static void add(std::atomic<std::uint64_t>& counter) noexcept {
    counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
};

emulated_medium::emulated_medium(latency added)
    : added_(added), how_(best_flush_instruction()), id_(next_id.fetch_add(1)) {}

emulated_medium::~emulated_medium() = default;

emulated_medium::thread_counts& emulated_medium::mine() noexcept {
  thread_local std::uint64_t owner = 0;
  thread_local thread_counts* counts = nullptr;
  if (owner != id_) [[unlikely]] {
    std::scoped_lock lock(registering_);
    all_.push_back(std::make_unique<thread_counts>());
    counts = all_.back().get();
    owner = id_;
  }
  return *counts;
}

void emulated_medium::will_read(const void* at, std::size_t bytes) noexcept {
  if (bytes == 0) return;
  thread_counts& counts = mine();
  auto last = block_of(static_cast<const std::byte*>(at) + bytes - 1);
  for (auto block = block_of(at); block <= last; ++block)
    if (counts.read.touch(block)) {
      thread_counts::add(counts.blocks_read);
      wait(added_.read_ns);
    }
}

void emulated_medium::flush(const void* at, std::size_t bytes) noexcept {
  thread_counts& counts = mine();
  for_each_line(at, bytes, [&](const void* line) {
    write_back(how_, line);
    thread_counts::add(counts.flushes);
    wait(added_.flush_ns);
    if (counts.written.touch(block_of(line))) {
      thread_counts::add(counts.blocks_written);
      wait(added_.block_ns);
    }
  });
}

void emulated_medium::fence() noexcept {
  store_fence();
  thread_counts::add(mine().fences);
}

void emulated_medium::wait(std::uint64_t nanoseconds) const noexcept {
  if (nanoseconds == 0) return;
  auto until = std::chrono::steady_clock::now() + std::chrono::nanoseconds(nanoseconds);
  while (std::chrono::steady_clock::now() < until) {}
}

media_counts emulated_medium::counts() const {
  std::scoped_lock lock(registering_);
  media_counts sum;
  for (const auto& counts : all_) {
    sum.flushes += counts->flushes;
    sum.fences += counts->fences;
    sum.media_read_blocks += counts->blocks_read;
    sum.media_write_blocks += counts->blocks_written;
  }
  return sum;
}

}  // namespace durahash
