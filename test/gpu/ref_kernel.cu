// gpu::ref in a kernel: for each key, add one to its value, or insert it with one; the keys that
// were there are counted. And gpu::row_ref.
#include "test/gpu/ref_kernel.hpp"

#include "durahash/gpu_ref.cuh"

namespace durahash::test {
namespace {

__global__ void count_up(gpu::ref table, std::size_t n, const std::uint64_t* keys, status* answers,
                         unsigned long long* there) {
  std::size_t warp = (blockIdx.x * std::size_t{blockDim.x} + threadIdx.x) / 32,
              warps = gridDim.x * std::size_t{blockDim.x} / 32;
  for (std::size_t i = warp; i < n; i += warps) {
    std::uint64_t value = 0;
    bool found = table.find(keys[i], value) == status::ok;
    status answer = table.put(keys[i], found ? value + 1 : 1);
    bool still = table.contains(keys[i]);
    if (threadIdx.x % 32 != 0) continue;
    answers[i] = answer;
    if (found && still) atomicAdd(there, 1ull);
  }
}

/// For each key the sum of its row's two words, which different lanes have copied, and the length.
__global__ void look_rows_up(const __grid_constant__ gpu::row_ref rows, std::size_t n,
                             const std::uint64_t* keys, std::uint64_t* sums, std::uint64_t* rooms,
                             std::uint32_t* lengths, status* answers) {
  std::size_t warp = (blockIdx.x * std::size_t{blockDim.x} + threadIdx.x) / 32,
              warps = gridDim.x * std::size_t{blockDim.x} / 32;
  for (std::size_t i = warp; i < n; i += warps) {
    std::uint32_t length = 0;
    status answer = rows.find(keys + i, rooms + 2 * i, 2 * sizeof *rooms, length);
    if (threadIdx.x % 32 == 0)
      answers[i] = answer, lengths[i] = length, sums[i] = rooms[2 * i] + rooms[2 * i + 1];
  }
}

__device__ std::size_t number_of_warp() {
  return (blockIdx.x * std::size_t{blockDim.x} + threadIdx.x) / 32;
}
__device__ std::size_t number_of_warps() { return gridDim.x * std::size_t{blockDim.x} / 32; }

__global__ void add(gpu::ref table, std::size_t n, const std::uint64_t* keys, std::uint64_t* values,
                    status* added, status* found) {
  for (std::size_t i = number_of_warp(); i < n; i += number_of_warps()) {
    std::uint64_t value = i;
    status of_add = table.add(keys[i], i), of_find = table.find_or_insert(keys[i], value);
    if (threadIdx.x % 32 == 0) added[i] = of_add, found[i] = of_find, values[i] = value;
  }
}

__global__ void visit(gpu::ref table, std::uint64_t most, std::uint64_t* values,
                      unsigned long long* visits, unsigned long long* strange, status* answer) {
  status done = table.for_each(number_of_warp(), number_of_warps(),
                               [&](std::uint64_t key, std::uint64_t value) {
                                 if (key >= most)
                                   return static_cast<void>(atomicAdd(strange, 1ull));
                                 values[key] = value;
                                 atomicAdd(visits + key, 1ull);
                               });
  if (number_of_warp() == 0 && threadIdx.x == 0) *answer = done;
}

__global__ void erase_odd(gpu::ref table, unsigned long long* erased, status* answer) {
  std::uint64_t mine = 0;
  status done = table.erase_if(
      number_of_warp(), number_of_warps(),
      [](std::uint64_t key, std::uint64_t value) { return key % 2 == 1 && value == 3 * key; },
      mine);
  if (threadIdx.x % 32 == 0) atomicAdd(erased, static_cast<unsigned long long>(mine));
  if (number_of_warp() == 0 && threadIdx.x == 0) *answer = done;
}

}  // namespace

void run_add(gpu::map& m, std::size_t n, const std::uint64_t* keys, std::uint64_t* values,
             status* added, status* found) {
  add<<<4, 256>>>(gpu::ref(m), n, keys, values, added, found);
}
void run_visit(gpu::map& m, std::uint64_t most, std::uint64_t* values, std::uint64_t* visits,
               std::uint64_t* strange, status* answer) {
  visit<<<4, 256>>>(gpu::ref(m), most, values, reinterpret_cast<unsigned long long*>(visits),
                    reinterpret_cast<unsigned long long*>(strange), answer);
}
void run_erase_odd(gpu::map& m, std::uint64_t* erased, status* answer) {
  erase_odd<<<4, 256>>>(gpu::ref(m), reinterpret_cast<unsigned long long*>(erased), answer);
}

void run_look_rows_up(gpu::table& t, std::size_t n, const std::uint64_t* keys, std::uint64_t* sums,
                      std::uint64_t* rooms, std::uint32_t* lengths, status* answers) {
  look_rows_up<<<16, 256>>>(gpu::row_ref(t), n, keys, sums, rooms, lengths, answers);
}

void run_count_up(gpu::map& m, std::size_t n, const std::uint64_t* keys, status* answers,
                  std::uint64_t* there) {
  count_up<<<16, 256>>>(gpu::ref(m), n, keys, answers,
                        reinterpret_cast<unsigned long long*>(there));
}

}  // namespace durahash::test
