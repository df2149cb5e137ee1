#include "bench/popularity.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

namespace durahash::bench {
namespace {

std::vector<std::uint64_t> sorted_keys(std::span<const operations> drawn) {
  std::vector<std::uint64_t> keys;
  for (const operations& one : drawn) keys.insert(keys.end(), one.keys.begin(), one.keys.end());
  std::sort(keys.begin(), keys.end());
  return keys;
}

/// How often each key comes; takes the place of the keys, which are sorted.
void count_runs(std::vector<std::uint64_t>& keys) {
  std::size_t runs = 0;
  for (std::size_t begin = 0, end = 0; begin < keys.size(); begin = end) {
    while (end < keys.size() && keys[end] == keys[begin]) ++end;
    keys[runs++] = end - begin;  // runs <= begin: nothing is overwritten that is still to be read
  }
  keys.resize(runs);
}

}  // namespace

popularity popularity_of(std::span<const operations> drawn) {
  std::vector<std::uint64_t> counts = sorted_keys(drawn);
  popularity found;
  found.operations = counts.size();
  count_runs(counts);
  found.different_keys = counts.size();
  auto top = counts.begin() + static_cast<std::ptrdiff_t>((counts.size() + 99) / 100);
  std::nth_element(counts.begin(), top, counts.end(), std::greater<>());
  found.on_top = std::accumulate(counts.begin(), top, std::uint64_t{0});
  return found;
}

}  // namespace durahash::bench
