// Runs what was asked: pools, repetitions, engines in turn.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/outcome.hpp"
#include "bench/request.hpp"
#include "bench/scratch_pool.hpp"

namespace durahash::bench {

/// Says what is being done now, for a progress line. `step` of `steps` passes are behind us.
using narrator =
    std::function<void(const std::string& doing, std::uint64_t step, std::uint64_t steps)>;

/// Each repetition makes a new pool per engine, loads it, runs the workloads in their order, and
/// closes it; engines take turns. An untimed load comes before everything (timed and reported when
/// `cold` is asked for), so that the machine's memory is warm. After the timed repetitions one more
/// runs with every operation timed, for the latencies, and with pauses in the load, to see it grow.
/// On a device: a request of the engine gphash and one thread alone; of bytes with keys of whole
/// words, up to 128 bytes. Throws `failure` when a pool cannot be used, is full, or gives a wrong
/// answer (status::damaged).
std::vector<engine_outcome> run(const request& asked, const narrator& tell);

}  // namespace durahash::bench
