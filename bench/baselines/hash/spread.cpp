// How hashes of words spread keys with a pattern over buckets (docs/lab/hash.md).
//
//   durahash_spread [SEED]         prints a row for each pattern
//   durahash_spread tables [COUNT] of so many tables of numbers: bytes a key, and what is refused
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "base/hash.hpp"
#include "durahash/map.hpp"

namespace {

using durahash::hash_seeds;
using word = std::uint64_t;

struct pattern {
  const char* name;
  word (*key)(word n);
};

template <class T>
word bits_of(T number) {
  word bits = 0;
  std::memcpy(&bits, &number, sizeof number);
  return bits;
}

word digits_of(word n) {
  char digits[9];
  std::snprintf(digits, sizeof digits, "%08llu", static_cast<unsigned long long>(n));
  word bits;
  std::memcpy(&bits, digits, sizeof bits);
  return bits;
}

constexpr pattern patterns[] = {
    {"numbers from 0 on", [](word n) { return n; }},
    {"multiples of 8", [](word n) { return n * 8; }},
    {"multiples of 2^32", [](word n) { return n << 32; }},
    {"addresses of cells of 48 bytes", [](word n) { return 0x7f0012340000 + n * 48; }},
    {"64 columns, 32 bits each", [](word n) { return (n % 64) << 32 | n / 64; }},
    {"256 columns, 16 bits each", [](word n) { return (n % 256) << 16 | n / 256; }},
    {"IPv4 address and port", [](word n) { return (0x0a000000 + n / 16) << 16 | (1024 + n % 16); }},
    {"a time, 22 bits of who and which",
     [](word n) { return (1'700'000'000'000 + n / 3) << 22 | (n % 3) << 12; }},
    {"eight decimal digits", digits_of},
    {"whole numbers as doubles", [](word n) { return bits_of(static_cast<double>(n)); }},
    {"numbers, big-endian", [](word n) { return __builtin_bswap64(n); }},
    {"words without a pattern", [](word n) { return n * n * 0x9e3779b97f4a7c15 ^ n << 31; }},
};

struct sum {
  int tables = 0, half_empty = 0;
  double empty = 0;
  std::uint32_t most = 0;

  template <class Hash>
  void add(const pattern& p, unsigned log2_buckets, Hash hash) {
    std::vector<std::uint32_t> buckets(std::size_t{1} << log2_buckets);
    for (word n = 0; n < 4 * buckets.size(); ++n) ++buckets[hash(p.key(n)) >> (64 - log2_buckets)];
    const double share = static_cast<double>(std::count(buckets.begin(), buckets.end(), 0u)) /
                         static_cast<double>(buckets.size());
    ++tables, half_empty += share > 0.5, empty += share;
    most = std::max(most, *std::max_element(buckets.begin(), buckets.end()));
  }
  void print() const { std::printf(" %.1f %%, %d, %u |", 100 * empty / tables, half_empty, most); }
};

__extension__ using wide = unsigned __int128;

/// With the first hash id.
word folded(word key, const hash_seeds& seeds) {
  return durahash::word_hash(key, {seeds.flip, seeds.multiply, 1});
}

/// A candidate: the upper half of the product reaches the hash's first bits, too.
word with_upper_half(word key, const hash_seeds& seeds) {
  const wide product = static_cast<wide>(key ^ seeds.flip) * seeds.multiply;
  return static_cast<word>(product) ^ static_cast<word>(product >> 64) * (seeds.flip | 1);
}

/// A candidate: folded twice.
word folded_twice(word key, const hash_seeds& seeds) {
  const wide product = static_cast<wide>(folded(key, seeds)) * seeds.spread;
  return static_cast<word>(product) ^ static_cast<word>(product >> 64);
}

void print_patterns(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  constexpr int draws = 500;
  std::vector<hash_seeds> drawn(draws);
  for (hash_seeds& each : drawn) each = {random(), random() | 1};
  for (const pattern& p : patterns) {
    std::printf("| %s |", p.name);
    using hash_function = word (*)(word, const hash_seeds&);
    for (hash_function hash :
         {hash_function{folded}, {with_upper_half}, {folded_twice}, {durahash::word_hash}}) {
      sum all;
      for (unsigned log2_buckets : {8, 11, 13})
        for (const hash_seeds& seeds : drawn)
          all.add(p, log2_buckets, [&](word key) { return hash(key, seeds); });
      all.print();
    }
    std::puts("");
  }
}

/// Of tables in memory, each with seeds of its own, of 20,000 numbers from 0 on.
void print_tables(std::size_t count) {
  constexpr word keys = 20'000;
  for (durahash::engine_kind engine : durahash::all_engines()) {
    std::vector<double> bytes;
    std::size_t refused = 0;
    while (bytes.size() < count) {
      durahash::options how;
      how.engine = engine, how.medium = durahash::medium_kind::memory;
      auto table = durahash::map<word, word>::open("", how);
      if (!table) return static_cast<void>(std::puts(table.failure().message.c_str()));
      for (word n = 0; n < keys; ++n)
        if (table->put(n, n) != durahash::status::ok) {
          ++refused;
          break;
        }
      bytes.push_back(static_cast<double>(table->info().file_bytes) / keys);
    }
    std::sort(bytes.begin(), bytes.end());
    std::printf("%-7s bytes a key: median %.0f, 99 %% %.0f, most %.0f; refused in %zu of %zu\n",
                std::string(durahash::name_of(engine)).c_str(), bytes[count / 2],
                bytes[count * 99 / 100], bytes.back(), refused, count);
  }
}

}  // namespace

int main(int count, char** arguments) {
  const std::string what = count > 1 ? arguments[1] : "1";
  if (what != "tables") return print_patterns(std::strtoull(what.c_str(), nullptr, 10)), 0;
  const std::size_t tables = count > 2 ? std::strtoull(arguments[2], nullptr, 10) : 1000;
  return print_tables(std::max<std::size_t>(tables, 1)), 0;
}
