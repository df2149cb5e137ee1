// What the memory alone allows: a random line for each operation, on huge pages as the tables'.
#include <immintrin.h>
#include <sys/mman.h>

#include <new>

#include "bench/peers/tables/table.hpp"
#include "bench/working_set.hpp"

namespace durahash::peers {
namespace {

using bench::memory_line;

class random_lines final : public any_table {
 public:
  random_lines() {
    void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) throw std::bad_alloc();
    ::madvise(at, bytes, MADV_HUGEPAGE);
    lines_ = static_cast<memory_line*>(at);
    for (std::uint64_t i = 0; i < bytes / sizeof(memory_line); ++i) lines_[i].word = i;
  }
  ~random_lines() override { ::munmap(lines_, bytes); }

  bool has(operation) const override { return true; }

  std::uint64_t run(operation what, words keys, bench::generation g) override {
    switch (what) {
      case operation::get:
      case operation::get_many: read(keys); break;
      case operation::put_many: write_groups(keys, g); break;
      case operation::half_updates:
        write(keys.first(keys.size() / 2), g);
        read(keys.subspan(keys.size() / 2));
        break;
      default: write(keys, g);
    }
    return keys.size();
  }

 private:
  static constexpr std::uint64_t bytes = std::uint64_t{512} << 20;
  static constexpr std::size_t ahead = 16;

  memory_line& of(std::uint64_t key) noexcept {
    return lines_[key % (bytes / sizeof(memory_line))];
  }
  static void flush(memory_line& line) noexcept {
#ifdef __CLWB__
    _mm_clwb(&line);
#else
    _mm_clflushopt(&line);
#endif
  }

  /// Each line is asked for 16 operations before it is read.
  void read(words keys) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (i + ahead < keys.size()) __builtin_prefetch(&of(keys[i + ahead]), 0);
      sum += of(keys[i]).word;
    }
    asm volatile("" : : "r"(sum));
  }
  /// A write waits for its line; then the line is written back.
  void write(words keys, std::uint64_t value) {
    for (std::uint64_t key : keys) {
      memory_line& line = of(key);
      *static_cast<volatile std::uint64_t*>(&line.word) = line.word + value;
      flush(line);
      _mm_sfence();
    }
  }
  /// 16 writes share a fence, and are asked for beforehand.
  void write_groups(words keys, std::uint64_t value) {
    for (std::size_t i = 0; i < keys.size(); i += ahead) {
      const words group = keys.subspan(i, std::min(ahead, keys.size() - i));
      for (std::uint64_t key : group) __builtin_prefetch(&of(key), 1);
      for (std::uint64_t key : group) {
        *static_cast<volatile std::uint64_t*>(&of(key).word) = value;
        flush(of(key));
      }
      _mm_sfence();
    }
  }

  memory_line* lines_;
};

std::unique_ptr<any_table> make(const std::string&) { return std::make_unique<random_lines>(); }

}  // namespace

std::vector<entry> speed_of_light() { return {{"limit", entry::limit, make}}; }

}  // namespace durahash::peers
