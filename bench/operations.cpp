#include "bench/operations.hpp"

#include <algorithm>

#include "bench/embedding_tables.hpp"
#include "bench/rmat_graph.hpp"
#include "bench/thread_group.hpp"

namespace durahash::bench {
namespace {

/// Draws an index below `n`: where in load order the next record lies.
class index_source {
 public:
  index_source(const drawing& what, std::uint64_t n)
      : uniform_(what.distribution == distribution_kind::uniform),
        n_(n),
        hot_(n, uniform_ ? 0 : what.theta),
        order_(n, what.seed) {}

  std::uint64_t operator()(random_source& random) const noexcept {
    return uniform_ ? random.below(n_) : order_(hot_.rank(random));
  }

 private:
  bool uniform_;
  std::uint64_t n_;
  zipfian_ranks hot_;
  permutation order_;
};

// Every index of a range once: in order where the keys are new anyway, shuffled where they were
// loaded in that order.
void draw_distinct(const drawing& what, std::uint64_t begin, std::uint64_t count,
                   operations& drawn) {
  key_space space(what.seed);
  permutation order(what.records, what.seed);
  for (std::uint64_t i = begin; i < begin + count; ++i) {
    if (what.workload == workload_kind::churn) {
      const bool erases = i % 2 != 0;
      drawn.kinds.push_back(erases ? operation_kind::erase : operation_kind::insert);
      drawn.keys.push_back(space.key(erases ? order(i / 2) : key_space::fresh + i));
    } else if (is_load(what.workload)) {
      drawn.keys.push_back(space.key(i));
    } else if (is_apart(what.workload)) {
      drawn.keys.push_back(space.key(key_space::fresh + i));
    } else {
      drawn.keys.push_back(space.key(order(i)));
    }
  }
}

// YCSB D: inserts go on at the end, gets look back from there. A thread looks back over its own
// inserts, then over the load.
void draw_latest(const drawing& what, std::uint64_t begin, std::uint64_t count,
                 random_source& random, operations& drawn) {
  const workload_traits& traits = traits_of(what.workload);
  key_space space(what.seed);
  zipfian_ranks recency(what.records, what.theta);
  std::uint64_t inserted = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (random.unit() < traits.second_share) {
      drawn.kinds.push_back(traits.second);
      drawn.keys.push_back(space.key(key_space::fresh + begin + inserted++));
      continue;
    }
    std::uint64_t back = recency.rank(random);
    drawn.kinds.push_back(traits.first);
    drawn.keys.push_back(space.key(back < inserted
                                       ? key_space::fresh + begin + inserted - 1 - back
                                       : what.records - 1 - (back - inserted) % what.records));
  }
}

// DLRM: a sample looks up a row of each table.
void draw_look_ups(const drawing& what, std::uint64_t begin, std::uint64_t count,
                   operations& drawn) {
  key_space space(what.seed);
  embedding_tables tables(what.records, what.seed);
  for (std::uint64_t i = begin; i < begin + count; ++i)
    drawn.keys.push_back(space.key(tables.look_up(i)));
}

// PageRank: an iteration goes through the edges in the order of their numbers and looks at the rank
// of each one's source; after every 36 of them, the average that a vertex has, the next vertex gets
// a new rank. Every iteration is the same.
void draw_iterations(const drawing& what, std::uint64_t begin, std::uint64_t count,
                     operations& drawn) {
  constexpr std::uint64_t turn = rmat_graph::edge_factor + 1;
  const workload_traits& traits = traits_of(what.workload);
  key_space space(what.seed);
  rmat_graph graph(what.records, what.seed);
  // low numbers have most edges: let them lie anywhere in load order
  permutation order(what.records, what.seed);
  for (std::uint64_t i = begin; i < begin + count; ++i) {
    std::uint64_t vertex = i / turn % graph.vertices(), at = i % turn;
    bool searches = at < rmat_graph::edge_factor;
    std::uint64_t asked =
        searches ? graph.edge(vertex * rmat_graph::edge_factor + at).source : vertex;
    drawn.kinds.push_back(searches ? traits.first : traits.second);
    drawn.keys.push_back(space.key(order(asked)));
  }
}

void draw_asked(const drawing& what, std::uint64_t count, random_source& random,
                operations& drawn) {
  const workload_traits& traits = traits_of(what.workload);
  key_space space(what.seed);
  index_source next(what, what.records);
  std::uint64_t first_index = what.workload == workload_kind::negative ? key_space::absent : 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    drawn.keys.push_back(space.key(first_index + next(random)));
    if (traits.second_share > 0)
      drawn.kinds.push_back(random.unit() < traits.second_share ? traits.second : traits.first);
  }
}

}  // namespace

std::uint64_t share_begin(std::uint64_t ops, unsigned threads, unsigned thread) noexcept {
  return ops / threads * thread + std::min<std::uint64_t>(thread, ops % threads);
}

std::uint64_t share_of(std::uint64_t ops, unsigned threads, unsigned thread) noexcept {
  return share_begin(ops, threads, thread + 1) - share_begin(ops, threads, thread);
}

operations draw(const drawing& what, unsigned thread) {
  std::uint64_t begin = share_begin(what.ops, what.threads, thread);
  std::uint64_t count = share_of(what.ops, what.threads, thread);
  random_source random(what.seed, static_cast<std::uint64_t>(what.workload) << 32 | thread);

  operations drawn;
  drawn.kind = traits_of(what.workload).first;
  drawn.keys.reserve(count);
  switch (what.distribution) {
    case distribution_kind::distinct: draw_distinct(what, begin, count, drawn); break;
    case distribution_kind::latest: draw_latest(what, begin, count, random, drawn); break;
    case distribution_kind::tables: draw_look_ups(what, begin, count, drawn); break;
    case distribution_kind::rmat: draw_iterations(what, begin, count, drawn); break;
    case distribution_kind::uniform:
    case distribution_kind::zipfian: draw_asked(what, count, random, drawn); break;
  }
  return drawn;
}

std::vector<operations> draw_all(const drawing& what) {
  std::vector<operations> drawn(what.threads);
  run_threads(what.threads, [&](unsigned t) { drawn[t] = draw(what, t); });
  return drawn;
}

}  // namespace durahash::bench
