// A graph with few vertices that have most edges, as a social network has: its edges one by one,
// without a list of them.
#pragma once

#include <bit>
#include <cstdint>

#include "bench/random.hpp"

namespace durahash::bench {

struct rmat_edge {
  std::uint64_t source = 0;
  std::uint64_t target = 0;
};

/// R-MAT (D. Chakrabarti, Y. Zhan, C. Faloutsos, "R-MAT: a recursive model for graph mining",
/// 2004): an edge lies in one of four quadrants of the adjacency matrix, in one of the four
/// quadrants of that, and so on.
class rmat_graph {
 public:
  static constexpr std::uint64_t edge_factor = 36;
  // Probabilities of the quadrants: source and target in the lower half of the vertices, target in
  // the upper half, source there, both.
  static constexpr double both_lower = 0.57, target_upper = 0.19, source_upper = 0.19,
                          both_upper = 0.05;

  /// 2^scale vertices: the largest power of two that is at most `limit` >= 1.
  rmat_graph(std::uint64_t limit, std::uint64_t seed) noexcept
      : scale_(static_cast<unsigned>(std::bit_width(limit)) - 1), seed_(mix(seed) ^ 0x726d'6174) {}

  unsigned scale() const noexcept { return scale_; }
  std::uint64_t vertices() const noexcept { return std::uint64_t{1} << scale_; }
  std::uint64_t edges() const noexcept { return vertices() * edge_factor; }

  /// Edge `number`, in no order. The same number is the same edge.
  rmat_edge edge(std::uint64_t number) const noexcept {
    random_source random(seed_, number);
    rmat_edge drawn;
    for (unsigned level = 0; level < scale_; ++level) {
      double u = random.unit();
      bool source = u >= both_lower + target_upper;
      bool target = source ? u >= 1 - both_upper : u >= both_lower;
      drawn.source = drawn.source << 1 | static_cast<std::uint64_t>(source);
      drawn.target = drawn.target << 1 | static_cast<std::uint64_t>(target);
    }
    return drawn;
  }

 private:
  unsigned scale_;
  std::uint64_t seed_;
};
static_assert(rmat_graph::both_lower + rmat_graph::target_upper + rmat_graph::source_upper +
                  rmat_graph::both_upper >
              0.999999);

}  // namespace durahash::bench
