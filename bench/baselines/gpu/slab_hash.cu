// The kernel of slab lists: warp-cooperative, as SlabHash's paper has it. Departs from it: 16 lanes
// read 8 bytes each, where the published kernel has 32 lanes of 4, so that a pair is not torn.
// Slabs come from a counter; the published allocator has bitmaps, and takes one atomic, too.
#include "bench/baselines/gpu/slab_hash.hpp"

#include <algorithm>

namespace durahash::baselines {
namespace {

constexpr unsigned all = ~0u, next_word = slab_lists::pairs;

// Words that other warps change meanwhile: each is read and written whole, in no order.
__device__ std::uint64_t load(const std::uint64_t& word) {
  return *const_cast<const volatile std::uint64_t*>(&word);
}
__device__ void store(std::uint64_t& word, std::uint64_t value) {
  *const_cast<volatile std::uint64_t*>(&word) = value;
}
__device__ bool store_if(std::uint64_t& word, std::uint64_t old, std::uint64_t value) {
  return atomicCAS(reinterpret_cast<unsigned long long*>(&word),
                   static_cast<unsigned long long>(old),
                   static_cast<unsigned long long>(value)) == old;
}

/// The operations of one warp, each by all its lanes.
class slab_warp {
 public:
  __device__ slab_warp(const slab_lists& lists, unsigned number)
      : lists_(lists), log_(lists.log + 2 * number), lane_(threadIdx.x % 32) {}

  __device__ status perform(slab_operation does, std::uint32_t key, std::uint32_t& value) {
    std::uint32_t slab = lists_.bucket_of(key);
    for (;;) {  // a list ends; a failed swap means that another warp's succeeded
      const std::uint64_t mine = read(slab);
      const unsigned same = which(mine, key);
      if (same != 0) {
        const unsigned at = __ffs(static_cast<int>(same)) - 1;
        const std::uint64_t old = __shfl_sync(all, mine, static_cast<int>(at));
        if (does == slab_operation::insert) return status::exists;
        if (does == slab_operation::find) {
          value = slab_lists::value_of(old);
          return status::ok;
        }
        const bool erases = does == slab_operation::erase;
        if (change(slab, at, old,
                   slab_lists::pair_of(erases ? slab_lists::erased_key : key, value)))
          return status::ok;
        continue;
      }
      if (does == slab_operation::insert) {
        if (const unsigned empty = which(mine, slab_lists::empty_key); empty != 0) {
          if (change(slab, __ffs(static_cast<int>(empty)) - 1, slab_lists::nothing,
                     slab_lists::pair_of(key, value)))
            return status::ok;
          continue;
        }
      }
      const std::uint64_t next = __shfl_sync(all, mine, next_word);
      if (next != slab_lists::nothing) slab = static_cast<std::uint32_t>(next);
      else if (does != slab_operation::insert) return status::not_found;
      else if (!append(slab)) return status::no_space;
    }
  }

 private:
  __device__ std::uint64_t read(std::uint32_t slab) const {
    std::uint64_t mine = 0;
    if (lane_ < slab_lists::words_per_slab)
      mine = load(lists_.slabs[slab * slab_lists::words_per_slab + lane_]);
    return mine;
  }
  __device__ unsigned which(std::uint64_t mine, std::uint32_t key) const {
    return __ballot_sync(all, lane_ < slab_lists::pairs && slab_lists::key_of(mine) == key);
  }
  // crash before the swap: the log takes back what was not done. Behind it: the pair is the old one
  //   again. A batch that has ended leaves no entry.
  __device__ bool change(std::uint32_t slab, unsigned at, std::uint64_t old, std::uint64_t made) {
    bool done = false;
    if (lists_.logs) __syncwarp();  // another lane wrote the entry before
    if (lane_ == at) {
      const std::uint32_t place = slab * slab_lists::words_per_slab + at;
      if (lists_.logs) {
        store(log_[0], old);
        store(log_[1], slab_lists::log_mark(old, place));
        __threadfence_system();
      }
      done = store_if(lists_.slabs[place], old, made);
      if (lists_.logs) {
        __threadfence_system();
        store(log_[1], 0);
      }
    }
    return __shfl_sync(all, static_cast<int>(done), static_cast<int>(at)) != 0;
  }
  /// A slab behind this one, of this warp or another. A slab that was not needed is kept.
  __device__ bool append(std::uint32_t slab) {
    bool there = true;
    if (lane_ == 0) {
      if (spare_ == 0) spare_ = atomicAdd(lists_.slabs_in_use, 1);
      there = spare_ < lists_.capacity;
      std::uint64_t& next = lists_.slabs[slab * slab_lists::words_per_slab + next_word];
      if (there && store_if(next, slab_lists::nothing, spare_)) spare_ = 0;
    }
    return __shfl_sync(all, static_cast<int>(there), 0) != 0;
  }

  const slab_lists& lists_;
  std::uint64_t* log_;
  unsigned lane_;
  std::uint32_t spare_ = 0;
};

template <slab_operation Does>
__global__ void __launch_bounds__(32 * slab_warps_per_block)
    run(const __grid_constant__ slab_lists lists, std::size_t n, const std::uint32_t* keys,
        std::uint32_t* values, status* answers) {
  const unsigned number = blockIdx.x * slab_warps_per_block + threadIdx.x / 32;
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  slab_warp warp(lists, number);
  for (std::size_t first = std::size_t{number} * 32; first < n; first += step) {
    const std::size_t own = first + threadIdx.x % 32;
    std::uint32_t key = 0, value = 0;
    if (own < n) key = keys[own];
    if (own < n && Does != slab_operation::find && Does != slab_operation::erase)
      value = values[own];
    status answer = status::ok;
    for (unsigned left = __ballot_sync(all, own < n); left != 0; left &= left - 1) {
      const int whose = __ffs(static_cast<int>(left)) - 1;
      std::uint32_t its_value = __shfl_sync(all, value, whose);
      const status its = warp.perform(Does, __shfl_sync(all, key, whose), its_value);
      if (static_cast<int>(threadIdx.x % 32) == whose) answer = its, value = its_value;
    }
    if (own < n) answers[own] = answer;
    if (own < n && Does == slab_operation::find) values[own] = value;
  }
}

/// One search by a warp: a slab at once, and then the keys that its pairs name, each whole and by
/// all lanes together, one after another.
__device__ status find_record(const slab_records& r, const std::uint64_t* key,
                              std::uint64_t* value) {
  const unsigned lane = threadIdx.x % 32;
  std::uint64_t slab = r.bucket_of(key);
  do {
    std::uint64_t mine = slab_lists::nothing;
    if (lane < slab_lists::words_per_slab)
      mine = load(r.lists.slabs[slab * slab_lists::words_per_slab + lane]);
    unsigned filled = __ballot_sync(all, lane < slab_lists::pairs && mine != slab_lists::nothing);
    for (; filled != 0; filled &= filled - 1) {
      const int at = __ffs(static_cast<int>(filled)) - 1;
      const std::uint64_t* record = r.record(slab_lists::key_of(__shfl_sync(all, mine, at)));
      const bool same = lane >= r.key_words || record[lane] == key[lane];
      if (__all_sync(all, same) == 0) continue;
      for (unsigned n = lane; n < r.value_words; n += 32) value[n] = record[r.key_words + n];
      return status::ok;
    }
    slab = __shfl_sync(all, mine, next_word);
  } while (slab != slab_lists::nothing);
  return status::not_found;
}

__global__ void __launch_bounds__(32 * slab_warps_per_block)
    run_find_records(const __grid_constant__ slab_records r, std::size_t n,
                     const std::uint64_t* keys, std::uint64_t* values, status* answers) {
  const std::size_t step = std::size_t{gridDim.x} * slab_warps_per_block;
  for (std::size_t i = std::size_t{blockIdx.x} * slab_warps_per_block + threadIdx.x / 32; i < n;
       i += step) {
    const status answer = find_record(r, keys + i * r.key_words, values + i * r.value_words);
    if (threadIdx.x % 32 == 0) answers[i] = answer;
  }
}

}  // namespace

bool find_records(const slab_records& r, unsigned blocks, std::size_t n, const std::uint64_t* keys,
                  std::uint64_t* values, status* answers) {
  run_find_records<<<blocks, 32 * slab_warps_per_block>>>(r, n, keys, values, answers);
  return cudaDeviceSynchronize() == cudaSuccess;
}

bool add_record(const slab_records& r, std::uint32_t number, std::uint32_t& slabs_in_use) {
  for (std::uint64_t slab = r.bucket_of(r.record(number));;) {
    std::uint64_t* words = r.lists.slabs + slab * slab_lists::words_per_slab;
    std::uint64_t* end = words + slab_lists::pairs;
    if (std::uint64_t* empty = std::find(words, end, slab_lists::nothing); empty != end)
      return *empty = slab_lists::pair_of(number, 0), true;
    if (words[next_word] == slab_lists::nothing) {
      if (slabs_in_use == r.lists.capacity) return false;
      words[next_word] = slabs_in_use++;
    }
    slab = words[next_word];
  }
}

bool run_slab_lists(const slab_lists& lists, slab_operation does, unsigned blocks, std::size_t n,
                    const std::uint32_t* keys, std::uint32_t* values, status* answers) {
  constexpr decltype(&run<slab_operation::find>) kernels[] = {
      run<slab_operation::find>, run<slab_operation::insert>, run<slab_operation::update>,
      run<slab_operation::erase>};
  kernels[static_cast<unsigned>(does)]<<<blocks, 32 * slab_warps_per_block>>>(lists, n, keys,
                                                                              values, answers);
  return cudaDeviceSynchronize() == cudaSuccess;
}

void recover_slab_lists(const slab_lists& lists, unsigned warps) {
  for (unsigned w = 0; w < warps; ++w) {
    const std::uint64_t old = lists.log[2 * w], mark = lists.log[2 * w + 1];
    const auto place = static_cast<std::uint32_t>(mark);
    if (mark == 0 || mark != slab_lists::log_mark(old, place)) continue;
    // An empty pair is the end of its list, and others may lie behind it: a tombstone.
    lists.slabs[place] =
        old == slab_lists::nothing ? slab_lists::pair_of(slab_lists::erased_key, 0) : old;
    lists.log[2 * w + 1] = 0;
  }
}

bool find_in_slab_lists(const slab_lists& lists, std::uint32_t key, std::uint32_t& value) {
  for (std::uint64_t slab = lists.bucket_of(key); slab != slab_lists::nothing;) {
    const std::uint64_t* words = lists.slabs + slab * slab_lists::words_per_slab;
    for (unsigned i = 0; i < slab_lists::pairs; ++i)
      if (slab_lists::key_of(words[i]) == key) return value = slab_lists::value_of(words[i]), true;
    slab = words[next_word];
  }
  return false;
}

}  // namespace durahash::baselines
