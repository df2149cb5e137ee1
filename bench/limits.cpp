#include "bench/limits.hpp"

#ifdef __x86_64__
#include <cpuid.h>
#else
#include <sys/auxv.h>
#endif

#include <algorithm>
#include <chrono>

#include "bench/clock.hpp"
#include "bench/working_set.hpp"

namespace durahash::bench {
namespace {

constexpr std::uint64_t ahead = 16;  // lines requested before the one in hand

// ---- The three ways to write a line back. Every pattern is compiled once for each.

#ifdef __x86_64__

struct with_clwb {
  static constexpr std::string_view name = "clwb";
  [[gnu::target("clwb")]] static void flush(memory_line& line) noexcept { _mm_clwb(&line); }
};
struct with_clflushopt {
  static constexpr std::string_view name = "clflushopt";
  [[gnu::target("clflushopt")]] static void flush(memory_line& line) noexcept {
    _mm_clflushopt(&line);
  }
};
struct with_clflush {
  static constexpr std::string_view name = "clflush";
  static void flush(memory_line& line) noexcept { _mm_clflush(&line); }
};

void fence() noexcept { _mm_sfence(); }

bool cpu_has(unsigned ebx_bit) noexcept {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && (ebx >> ebx_bit & 1);
}

/// Calls run.operator()<how>() with the best that this processor has.
template <class Run>
auto with_the_best(Run&& run) {
  if (cpu_has(24)) return run.template operator()<with_clwb>();
  if (cpu_has(23)) return run.template operator()<with_clflushopt>();
  return run.template operator()<with_clflush>();
}

#else

struct with_cvap {
  static constexpr std::string_view name = "dc cvap";
  static void flush(memory_line& line) noexcept {
    asm volatile("sys #3, c7, c12, #1, %0" : : "r"(&line) : "memory");
  }
};
struct with_civac {
  static constexpr std::string_view name = "dc civac";
  static void flush(memory_line& line) noexcept {
    asm volatile("dc civac, %0" : : "r"(&line) : "memory");
  }
};

void fence() noexcept { asm volatile("dsb sy" ::: "memory"); }

template <class Run>
auto with_the_best(Run&& run) {
  if ((::getauxval(AT_HWCAP) & HWCAP_DCPOP) != 0) return run.template operator()<with_cvap>();
  return run.template operator()<with_civac>();
}

#endif

/// Random line numbers, drawn before the clock starts; `ahead` more than there are operations.
using places = std::vector<std::uint32_t>;

void keep(std::uint64_t value) noexcept { asm volatile("" : : "r"(value)); }
void write(memory_line& line, std::uint64_t value) noexcept {
  *static_cast<volatile std::uint64_t*>(&line.word) = value;
}
void fetch(memory_line& line) noexcept { __builtin_prefetch(&line, 0); }
void fetch_for_write(memory_line& line) noexcept { __builtin_prefetch(&line, 1); }
// same 256-byte block
memory_line& neighbour(working_set& set, std::uint32_t at) noexcept { return set[at ^ 1]; }

// ---- Patterns without write-back

void read_prefetched(working_set& set, const places& at, std::uint64_t ops) {
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < ops; ++i) {
    fetch(set[at[i + ahead]]);
    sum += set[at[i]].word;
  }
  keep(sum);
}

void read_dependent(working_set& set, const places& at, std::uint64_t ops) {
  std::uint64_t here = at[0];
  for (std::uint64_t i = 0; i < ops; ++i) here = set[here].next;
  keep(here);
}

void read_two_lines_prefetched(working_set& set, const places& at, std::uint64_t ops) {
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < ops; ++i) {
    fetch(set[at[i + ahead]]);
    fetch(neighbour(set, at[i + ahead]));
    sum += set[at[i]].word + neighbour(set, at[i]).word;
  }
  keep(sum);
}

void write_unflushed(working_set& set, const places& at, std::uint64_t ops) {
  for (std::uint64_t i = 0; i < ops; ++i) write(set[at[i]], i);
}

// ---- Patterns with write-back

template <class Flush>
struct durable {
  static void persist(memory_line& line, std::uint64_t value) noexcept {
    write(line, value);
    Flush::flush(line);
    fence();
  }

  static void write_blind(working_set& set, const places& at, std::uint64_t ops) {
    for (std::uint64_t i = 0; i < ops; ++i) persist(set[at[i]], i);
  }

  static void write_fetched(working_set& set, const places& at, std::uint64_t ops) {
    // the store waits for the line
    for (std::uint64_t i = 0; i < ops; ++i) persist(set[at[i]], set[at[i]].word + 1);
  }

  static void write_prefetched(working_set& set, const places& at, std::uint64_t ops) {
    for (std::uint64_t i = 0; i < ops; ++i) {
      if (i % ahead == 0)
        for (std::uint64_t j = 0; j < ahead; ++j) fetch_for_write(set[at[i + j]]);
      persist(set[at[i]], i);
    }
  }

  template <std::uint64_t Group>
  static void write_group(working_set& set, const places& at, std::uint64_t ops) {
    for (std::uint64_t i = 0; i + Group <= ops; i += Group) {
      for (std::uint64_t j = i; j < i + Group; ++j) fetch_for_write(set[at[j]]);
      for (std::uint64_t j = i; j < i + Group; ++j) write(set[at[j]], j);
      for (std::uint64_t j = i; j < i + Group; ++j) Flush::flush(set[at[j]]);
      fence();
    }
  }

  static void ordered_same_line(working_set& set, const places& at, std::uint64_t ops) {
    for (std::uint64_t i = 0; i < ops; ++i) {
      persist(set[at[i]], i);
      persist(set[at[i]], i + 1);
    }
  }

  static void ordered_two_lines(working_set& set, const places& at, std::uint64_t ops) {
    for (std::uint64_t i = 0; i < ops; ++i) {
      persist(set[at[i]], i);
      persist(neighbour(set, at[i]), i);
    }
  }

  static void two_lines_one_fence(working_set& set, const places& at, std::uint64_t ops) {
    for (std::uint64_t i = 0; i < ops; ++i) {
      write(set[at[i]], i);
      write(neighbour(set, at[i]), i);
      Flush::flush(set[at[i]]);
      Flush::flush(neighbour(set, at[i]));
      fence();
    }
  }

  static void clean_hot_line(working_set& set, const places& at, std::uint64_t ops) {
    memory_line& line = set[at[0]];
    persist(line, 1);
    for (std::uint64_t i = 0; i < ops; ++i) {
      keep(line.word);
      Flush::flush(line);
      fence();
    }
  }

  // One operation is a record of 16 bytes; 16 of them fill 4 lines and share a fence.
  static void sequential_log(working_set& set, const places&, std::uint64_t ops) {
    constexpr std::uint64_t records_per_line = 4, records_per_fence = 16;
    for (std::uint64_t i = 0; i + records_per_fence <= ops; i += records_per_fence) {
      for (std::uint64_t j = i; j < i + records_per_fence; j += records_per_line) {
        memory_line& line = set.log_line(j / records_per_line);
        write(line, j);
        for (volatile std::uint64_t& word : line.rest) word = j;
        *static_cast<volatile std::uint64_t*>(&line.next) = j;
        Flush::flush(line);
      }
      fence();
    }
  }
};

// ---- The table of patterns

struct pattern {
  std::string_view name;
  std::string_view help;
  void (*run)(working_set&, const places&, std::uint64_t);
  std::uint64_t ops;  // enough for a few hundredths of a second
};

constexpr std::uint64_t many = 1 << 20, some = 1 << 18, few = 1 << 17;

template <class Flush>
std::vector<pattern> patterns() {
  using d = durable<Flush>;
  return {
      {"read_prefetched_16", "random read of one line, prefetched 16 ahead", read_prefetched, many},
      {"read_dependent", "random read that depends on the one before", read_dependent, some},
      {"read_two_lines_prefetched_16", "two lines of one 256-byte block, prefetched 16 ahead",
       read_two_lines_prefetched, many},
      {"write_unflushed", "write of one line, no flush", write_unflushed, many},
      {"persist", "write + flush + fence", d::write_blind, few},
      {"persist_fetched", "... line fetched before the store", d::write_fetched, few},
      {"persist_prefetched_16", "... prefetched for write, 16 ahead", d::write_prefetched, few},
      {"persist_group_2", "2 writes, prefetched, one fence, per write", d::template write_group<2>,
       some},
      {"persist_group_4", "4 writes, prefetched, one fence, per write", d::template write_group<4>,
       some},
      {"persist_group_8", "8 writes, prefetched, one fence, per write", d::template write_group<8>,
       some},
      {"persist_group_16", "16 writes, prefetched, one fence, per write",
       d::template write_group<16>, many},
      {"ordered_same_line", "two ordered persists of one line", d::ordered_same_line, few},
      {"ordered_two_lines", "two ordered persists, two lines of a block", d::ordered_two_lines,
       few},
      {"two_lines_one_fence", "two lines of a block, one fence", d::two_lines_one_fence, few},
      {"clean_hot_line", "flush + fence of a clean line in cache", d::clean_hot_line, few},
      {"sequential_log", "log of 16-byte records, 16 per fence, per record", d::sequential_log,
       many},
  };
}

double run_once(const pattern& what, working_set& set, const places& at) {
  auto from = std::chrono::steady_clock::now();
  what.run(set, at, what.ops);
  fence();
  return seconds_between(from, std::chrono::steady_clock::now()) * 1e9 /
         static_cast<double>(what.ops);
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

}  // namespace

double limits_report::ns_of(std::string_view name) const noexcept {
  for (const limit& row : rows)
    if (row.name == name) return row.ns;
  return 0;
}

limits_report measure_limits(std::uint64_t working_set_bytes, unsigned rounds, std::uint64_t seed) {
  std::string_view write_back;
  std::vector<pattern> all = with_the_best([&]<class Flush>() {
    write_back = Flush::name;
    return patterns<Flush>();
  });
  working_set set(working_set_bytes, seed);
  random_source random(seed, 0x6c69'6d69'7473);
  std::vector<std::vector<double>> ns(all.size());
  for (unsigned round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      places at(all[i].ops + ahead);
      for (std::uint32_t& place : at) place = static_cast<std::uint32_t>(random.below(set.count()));
      ns[i].push_back(run_once(all[i], set, at));
    }
  }

  limits_report report{working_set_bytes, rounds, write_back, {}};
  for (std::size_t i = 0; i < all.size(); ++i)
    report.rows.push_back({all[i].name, all[i].help, median(ns[i])});
  return report;
}

limit_names limits_of(durability_level durability, std::uint64_t batch) noexcept {
  std::string_view write = durability != durability_level::power ? "write_unflushed"
                           : batch > 1                           ? "persist_group_16"
                                                                 : "persist_fetched";
  return {"read_prefetched_16", write};
}

double limit_ns(const limits_report& limits, workload_kind workload, durability_level durability,
                std::uint64_t batch) noexcept {
  limit_names names = limits_of(durability, batch);
  double writes = write_share(workload);
  return (1 - writes) * limits.ns_of(names.read) + writes * limits.ns_of(names.write);
}

}  // namespace durahash::bench
