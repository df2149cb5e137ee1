// The kernel of searches by threads alone. It reads what the library's own reads, in its order, and
// looks at versions as that does.
#include "test/ptx/lone_threads.hpp"

#include "gpu/cuda_side.cuh"
#include "gpu/device_view.hpp"

namespace durahash::ptx {
namespace {

constexpr unsigned threads_per_block = 256;
using shape = gpu::fixed_shape<2, 2, 3>;

/// What one slot has, if it is the key's.
__device__ bool found_in(const gpu::side_of_a_warp& side, pm<std::uint64_t>& state,
                         pm<std::uint64_t>& value_word, std::uint64_t fingerprint,
                         std::uint64_t& value) {
  if (side.load(state) != fingerprint) return false;
  value = side.load(value_word);
  return true;
}

__device__ status find(const gpu::side_of_a_warp& side, const gphash::leased_table& table,
                       std::uint64_t key, std::uint64_t& value) {
  const std::uint64_t hash = table.where.words().mix(key);
  const gphash::target s = gphash::places::target_of(hash, true);
  const gphash::shape form = shape::of(table);
  for (;;) {  // ends: each further round means that a writer got on
    const std::uint32_t before = side.version(hash);
    bool found = false;
    if (s.escape >= 0)
      found = found_in(side, table.escapes[s.escape].state, table.escapes[s.escape].value,
                       s.fingerprint, value);
    for (unsigned lane = 0; s.escape < 0 && !found && lane < form.lanes(); ++lane)
      found = found_in(side, table.state_of(form, hash, lane), table.value_of(form, hash, lane),
                       s.fingerprint, value);
    side.fence_loads();
    if (side.version_again(hash) == before) return found ? status::ok : status::not_found;
  }
}

__global__ void __launch_bounds__(threads_per_block)
    run_find_alone(const __grid_constant__ gphash::leased_table table, std::uint32_t* turns,
                   std::size_t n, const std::uint64_t* keys, std::uint64_t* values,
                   status* answers) {
  const gpu::bucket_copies none;
  const gpu::side_of_a_warp side(turns, none);
  const std::size_t step = std::size_t{gridDim.x} * threads_per_block;
  for (std::size_t i = std::size_t{blockIdx.x} * threads_per_block + threadIdx.x; i < n;
       i += step) {
    std::uint64_t value = 0;
    answers[i] = find(side, table, keys[i], value);
    if (answers[i] == status::ok) values[i] = value;
  }
}

}  // namespace

bool find_by_lone_threads(gpu::map& m, unsigned blocks, std::size_t n, const std::uint64_t* keys,
                          std::uint64_t* values, status* answers) {
  gpu::device_view view;
  m.view(view);
  const gphash::shape form = view.table.where.form(), known = shape::of(view.table);
  if (view.turns == nullptr || form.levels != known.levels || form.hashes != known.hashes ||
      form.slots != known.slots)
    return false;
  run_find_alone<<<blocks, threads_per_block>>>(view.table, view.turns, n, keys, values, answers);
  return cudaDeviceSynchronize() == cudaSuccess;
}

}  // namespace durahash::ptx
