// Starts kernels that use gpu::ref and gpu::row_ref, on the default stream. Arrays as of gpu.hpp.
#pragma once

#include "durahash/gpu_table.hpp"

namespace durahash::test {

void run_count_up(gpu::map& m, std::size_t n, const std::uint64_t* keys, status* answers,
                  std::uint64_t* there);
/// Adds each key's number in the array, and then looks whether it can insert it: what is there
/// instead goes to `values`.
void run_add(gpu::map& m, std::size_t n, const std::uint64_t* keys, std::uint64_t* values,
             status* added, status* found);
/// For each record, by its key: the value, and one added to how often it was visited. Keys are less
/// than `most`, or counted as strange.
void run_visit(gpu::map& m, std::uint64_t most, std::uint64_t* values, std::uint64_t* visits,
               std::uint64_t* strange, status* answer);
/// Erases records whose value is that of their key times 3, and the key odd.
void run_erase_odd(gpu::map& m, std::uint64_t* erased, status* answer);
void run_look_rows_up(gpu::table& t, std::size_t n, const std::uint64_t* keys, std::uint64_t* sums,
                      std::uint64_t* rooms, std::uint32_t* lengths, status* answers);

}  // namespace durahash::test
