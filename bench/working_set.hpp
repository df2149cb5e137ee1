// Memory for the limits: lines at random places, and a walk through them.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <numeric>
#include <vector>

#include "bench/random.hpp"

namespace durahash::bench {

/// One cache line: the first word is written, the second names the next line of a walk through all.
struct alignas(64) memory_line {
  std::uint64_t word;
  std::uint64_t next;
  std::uint64_t rest[6];
};
static_assert(sizeof(memory_line) == 64);

/// Lines on 4 KiB pages (huge pages are refused, so that figures of different machines mean the
/// same), all of them faulted.
class working_set {
 public:
  working_set(std::uint64_t bytes, std::uint64_t seed)
      : count_(bytes / sizeof(memory_line)), lines_(allocate(count_)), log_(allocate(log_lines)) {
    link_one_cycle(seed);
    for (std::uint64_t i = 0; i < log_lines; ++i) log_[i].word = i;
  }
  ~working_set() {
    munmap(lines_, count_ * sizeof(memory_line));
    munmap(log_, log_lines * sizeof(memory_line));
  }
  working_set(const working_set&) = delete;
  working_set& operator=(const working_set&) = delete;

  std::uint64_t count() const noexcept { return count_; }
  memory_line& operator[](std::uint64_t i) noexcept { return lines_[i]; }

  /// Lines apart from the walk, for writing one after the other; they come round again after 64
  /// MiB.
  memory_line& log_line(std::uint64_t i) noexcept { return log_[i % log_lines]; }

 private:
  static constexpr std::uint64_t log_lines = (std::uint64_t{64} << 20) / sizeof(memory_line);

  static memory_line* allocate(std::uint64_t lines) {
    std::size_t bytes = lines * sizeof(memory_line);
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    madvise(memory, bytes, MADV_NOHUGEPAGE);
    return static_cast<memory_line*>(memory);
  }

  // Sattolo's shuffle: a permutation that is one cycle, so that a walk visits every line.
  void link_one_cycle(std::uint64_t seed) {
    random_source random(seed, 0x6379'636c'65);
    for (std::uint64_t i = 0; i < count_; ++i) lines_[i].next = i;
    for (std::uint64_t i = count_ - 1; i > 0; --i)
      std::swap(lines_[i].next, lines_[random.below(i)].next);
  }

  std::uint64_t count_;
  memory_line* lines_;
  memory_line* log_;
};

}  // namespace durahash::bench
