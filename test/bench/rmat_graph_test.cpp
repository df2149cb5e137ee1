#include "bench/rmat_graph.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "bench/popularity.hpp"
#include "chi_square.hpp"

namespace durahash::bench {
namespace {

using graph = rmat_graph;

// Of edges with this seed, the frequencies of the four quadrants, level by level, against `likely`.
chi_square quadrants(const std::vector<double>& likely) {
  constexpr std::uint64_t edges = 200'000;
  graph drawn(1 << 12, 17);
  chi_square test;
  for (unsigned level = 0; level < drawn.scale(); ++level) {
    std::vector<std::uint64_t> seen(4);
    for (std::uint64_t e = 0; e < edges; ++e) {
      auto [source, target] = drawn.edge(e);
      ++seen[(source >> level & 1) * 2 + (target >> level & 1)];
    }
    std::vector<double> expected = likely;
    for (double& one : expected) one *= edges;
    test.add(expected, seen);
  }
  return test;
}

// How likely each vertex is the source of an edge: the product over its bits.
std::vector<double> sources(const graph& of) {
  std::vector<double> likely(of.vertices(), 1);
  for (std::uint64_t v = 0; v < of.vertices(); ++v)
    for (unsigned level = 0; level < of.scale(); ++level)
      likely[v] *= (v >> level & 1) != 0 ? 0.24 : 0.76;
  return likely;
}

TEST(RmatGraph, HasTheLargestPowerOfTwoOfVerticesThatThereIsRoomFor) {
  EXPECT_EQ(graph(1, 1).vertices(), 1u);
  EXPECT_EQ(graph(1023, 1).vertices(), 512u);
  EXPECT_EQ(graph(1024, 1).vertices(), 1024u);
  EXPECT_EQ(graph(200'000, 1).scale(), 17u);
  EXPECT_EQ(graph(1024, 1).edges(), 36u * 1024);
  EXPECT_EQ(graph(1, 1).edge(35).source, 0u);
}

TEST(RmatGraph, QuadrantsHaveTheirFrequenciesAtEveryLevel) {
  chi_square right = quadrants({0.57, 0.19, 0.19, 0.05});
  EXPECT_EQ(right.freedom, 12 * 3);
  EXPECT_LT(right.statistic, right.limit());
  chi_square wrong = quadrants({0.565, 0.195, 0.19, 0.05});
  EXPECT_GT(wrong.statistic, wrong.limit());
}

TEST(RmatGraph, LevelsAreIndependentOfEachOther) {
  constexpr std::uint64_t edges = 2'000'000;
  graph drawn(256, 3);
  std::vector<std::uint64_t> seen(drawn.vertices()), seen_as_target(drawn.vertices());
  for (std::uint64_t e = 0; e < edges; ++e) {
    auto [source, target] = drawn.edge(e);
    ++seen.at(source), ++seen_as_target.at(target);
  }
  std::vector<double> expected = sources(drawn);
  for (double& e : expected) e *= edges;
  for (const auto& one : {seen, seen_as_target}) {
    chi_square test;
    test.add(expected, one);
    EXPECT_GT(test.freedom, 200);
    EXPECT_LT(test.statistic, test.limit());
  }
}

TEST(RmatGraph, AnEdgeIsWhatItsNumberAndTheSeedSay) {
  graph one(1 << 20, 1), again(1 << 20, 1), other(1 << 20, 2);
  std::uint64_t same = 0;
  for (std::uint64_t e = 0; e < 10'000; ++e) {
    EXPECT_EQ(one.edge(e).source, again.edge(e).source);
    EXPECT_EQ(one.edge(e).target, again.edge(e).target);
    same +=
        one.edge(e).source == other.edge(e).source && one.edge(e).target == other.edge(e).target;
  }
  EXPECT_LT(same, 100u);
}

TEST(RmatGraph, TheTop1PercentOfPagerankHaveTheShareThatTheQuadrantsGiveThem) {
  constexpr std::uint64_t vertices = 1 << 12, ops = 37 * vertices;  // one iteration
  std::vector<double> likely = sources(graph(vertices, 1));
  for (double& one : likely) one = (36 * one + 1.0 / vertices) / 37;
  std::sort(likely.rbegin(), likely.rend());
  double expected = std::accumulate(likely.begin(), likely.begin() + (vertices + 99) / 100, 0.0);

  popularity found = popularity_of(
      draw_all({workload_kind::pagerank, distribution_kind::rmat, 0, vertices, ops, 1, 1}));
  EXPECT_EQ(found.different_keys, vertices);
  EXPECT_DOUBLE_EQ(found.unique_ratio(), 1.0 / 37);
  EXPECT_NEAR(found.top_1_percent_share(), expected, 0.005);
}

}  // namespace
}  // namespace durahash::bench
