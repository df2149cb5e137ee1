#include "bench/baselines/access_groups.hpp"

#include <random>

#include "base/check.hpp"
#include "bench/baselines/space.hpp"
#include "media/emulated_medium.hpp"

namespace durahash::baselines {
namespace {

constexpr std::uint64_t bytes = std::uint64_t{64} << 20, lines = bytes / line_bytes;
constexpr unsigned groups = 2'000;

}  // namespace

access_costs cost_of_accesses(unsigned group, bool sequential, bool writes, std::uint64_t seed) {
  mapping_request request;
  request.medium = medium_kind::memory;
  request.address_space_bytes = request.max_bytes = bytes;
  auto memory = mapping::open(request);
  check(memory && (*memory)->grow(bytes) == status::ok, "no memory for a measurement");
  emulated_medium medium{{}};
  std::mt19937_64 random(seed);
  for (unsigned g = 0; g < groups; ++g) {
    std::uint64_t line = random() % (lines - group);
    for (unsigned i = 0; i < group; ++i, ++line) {
      if (i != 0 && !sequential) line = random() % lines;
      auto& word = *reinterpret_cast<pm<std::uint64_t>*>((*memory)->base() + line * line_bytes);
      if (!writes) {
        (void)load(medium, word);
        continue;
      }
      store(medium, word, random());
      (void)flush(medium, extent_of(word));
    }
    if (writes) medium.fence();
  }
  const media_counts seen = medium.counts();
  constexpr double all = groups;
  return {static_cast<double>(seen.media_read_blocks) / (all * group),
          static_cast<double>(seen.media_write_blocks) / (all * group)};
}

}  // namespace durahash::baselines
