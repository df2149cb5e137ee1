// A CUDA device: kernels of gpu/batch.hpp, and the pool's memory registered.
#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <vector>

#include "gpu/cuda_backend.hpp"
#include "gpu/cuda_side.cuh"
#include "gpu/device.hpp"
#include "gpu/on_device.hpp"

namespace durahash::gpu {
namespace {

constexpr unsigned threads_per_block = 256;

enum class half : std::uint8_t {
  find,
  write,
  stage,
  commit,
  retry_full,
  copy_up,
  copies,
  export_records
};

/// Of kernels that are no batch, or more than one.
struct extra_work {
  staged_changes staged = {};
  leased_level top = {};
  copies_step step = {};
  const copy_task* tasks = nullptr;
  std::size_t count = 0;
  std::uint64_t first_bucket = 0, buckets = 0;
  exported to = {};
};

/// Numbers of a kernel's tiles, of so many lanes.
template <unsigned Width>
struct tiles {
  static constexpr unsigned per_block = threads_per_block / Width;
  __device__ static std::size_t number() {
    return blockIdx.x * std::size_t{per_block} + threadIdx.x / Width;
  }
  __device__ static std::size_t all() { return gridDim.x * std::size_t{per_block}; }
};

/// How many lanes an operation has: a few, but where one may wait for what another one of its warp
/// holds.
constexpr unsigned width_of(half h, bool copies) {
  return copies || h == half::copy_up || h == half::copies || h == half::export_records ? 32 : 8;
}

template <half Half, class Shape, bool Copies>
__global__ void __launch_bounds__(threads_per_block)
    run(const __grid_constant__ leased_table table, const __grid_constant__ batch b,
        const __grid_constant__ extra_work more, const __grid_constant__ bucket_copies copies,
        std::uint32_t* turns, tallies* total) {
  constexpr unsigned width = width_of(Half, Copies);
  using side_of_all = cuda_side<width, Copies>;
  side_of_all side(turns, copies);
  batch_run<side_of_all, Shape> all(side, table, b, *total);
  std::size_t first = tiles<width>::number(), step = tiles<width>::all();
  if constexpr (Half == half::find) all.find(first, step);
  if constexpr (Half == half::write) all.write(first, step);
  if constexpr (Half == half::stage) all.stage(first, step, more.staged);
  if constexpr (Half == half::commit) all.commit(first, step, more.staged, more.count);
  if constexpr (Half == half::retry_full) all.retry_full(first, step);
  if constexpr (Half == half::copy_up) all.copy_up(first, step, table.bottom_buckets(), more.top);
  if constexpr (Half == half::copies) all.copies(more.step, more.tasks, more.count, first, step);
  if constexpr (Half == half::export_records)
    all.export_records(more.first_bucket, more.buckets, more.to, first, step);
}

template <bool Copies>
__global__ void __launch_bounds__(threads_per_block)
    run_find_rows(const __grid_constant__ leased_rows rows, const __grid_constant__ row_batch b,
                  const __grid_constant__ bucket_copies copies, tallies* total) {
  using side_of_rows = cuda_side<32, Copies>;
  side_of_rows side(nullptr, copies);
  row_search<side_of_rows>(side, rows).find_all(b, *total, tiles<32>::number(), tiles<32>::all());
}

template <bool Copies>
__global__ void __launch_bounds__(threads_per_block)
    run_gather_rows(const __grid_constant__ leased_rows rows,
                    const __grid_constant__ gather_batch b,
                    const __grid_constant__ bucket_copies copies, tallies* total) {
  using side_of_rows = cuda_side<32, Copies>;
  side_of_rows side(nullptr, copies);
  row_gather<side_of_rows>(side, rows).gather_all(b, *total, tiles<32>::number(), tiles<32>::all());
}

template <row_step Step, bool Copies>
__global__ void __launch_bounds__(threads_per_block)
    run_write_rows(const __grid_constant__ leased_rows rows, const __grid_constant__ row_writes all,
                   const __grid_constant__ bucket_copies copies) {
  using side_of_rows = cuda_side<32, Copies>;
  side_of_rows side(nullptr, copies);
  row_writer<side_of_rows>(side, rows, all)
      .template run<Step>(tiles<32>::number(), tiles<32>::all());
}

__global__ void __launch_bounds__(threads_per_block)
    run_spread(const __grid_constant__ changed_blocks blocks) {
  spread_blocks(cuda_warp<32>(), blocks, tiles<32>::number(), tiles<32>::all());
}

// what a new pool has, and the paper's others
using default_shape = fixed_shape<2, 2, 3>;
using one_level = fixed_shape<1, 2, 4>;
using four_levels = fixed_shape<4, 2, 2>;
using four_hashes = fixed_shape<4, 4, 1>;

class cuda_gpu final : public device {
 public:
  ~cuda_gpu() override {
    if (turns_ == nullptr) return;  // it did not start
    const on_device here(context_);
    for (cudaStream_t made : {stream_for_copies_, transfers_})
      if (made != nullptr) cudaStreamDestroy(made);
    for (auto [name, event] : last_of_) cudaEventDestroy(event);
    cudaFree(turns_);
    cudaFree(total_);
  }

  error start(int number) {
    int count = 0;
    if (error e = said(cudaGetDeviceCount(&count), "cannot use CUDA"); e.code != status::ok)
      return e;
    if (number < 0 || number >= count)
      return {status::invalid_argument, "there is no CUDA device " + std::to_string(number) +
                                            ": this machine has " + std::to_string(count)};
    if (error e = said(context_of(number, context_),
                       "cannot use the CUDA device " + std::to_string(number));
        e.code != status::ok)
      return e;
    const on_device here(context_);
    for (auto [attribute, what] :
         {std::pair{cudaDevAttrHostRegisterSupported, "register host memory"},
          std::pair{cudaDevAttrCanUseHostPointerForRegisteredMem,
                    "use registered host memory at its own address"}}) {
      int can = 0;
      if (error e =
              said(cudaDeviceGetAttribute(&can, attribute, number), "cannot ask the CUDA device");
          e.code != status::ok)
        return e;
      if (can == 0)
        return {status::unusable, "the CUDA device " + std::to_string(number) + " cannot " + what};
    }
    int major = 0, minor = 0;
    reaches_all_memory_ = gpu::reaches_all_memory(number);
    cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, number);
    cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, number);
    cudaFuncAttributes facts;
    const cudaError_t code = cudaFuncGetAttributes(
        &facts, reinterpret_cast<const void*>(&run<half::find, any_shape, false>));
    if (code == cudaErrorNoKernelImageForDevice || code == cudaErrorInvalidDeviceFunction) {
      cudaGetLastError();  // told here
      return {status::unusable, "the CUDA device " + std::to_string(number) +
                                    " has compute capability " + std::to_string(major) + "." +
                                    std::to_string(minor) +
                                    ", for which this build of durahash has no code"};
    }
    if (error e = said(code, "cannot ask for the kernels' code"); e.code != status::ok) return e;
    int processors = 0;
    cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, number);
    processors_ = static_cast<unsigned>(std::max(processors, 1));
    std::size_t turns_bytes = sizeof(std::uint32_t) << side_of_a_warp::stripe_bits;
    if (error e = said(cudaMalloc(&turns_, turns_bytes), "no device memory for the stripes' turns");
        e.code != status::ok)
      return e;
    if (error e = said(cudaMalloc(&total_, sizeof(tallies)), "no device memory for counters");
        e.code != status::ok)
      return e;
    for (cudaStream_t* made : {&stream_for_copies_, &transfers_})
      if (error e = said(cudaStreamCreateWithFlags(made, cudaStreamNonBlocking),
                         "no stream of the CUDA device");
          e.code != status::ok)
        return e;
    clear(turns_, turns_bytes);
    clear(total_, sizeof(tallies));
    return said(failure_.exchange(cudaSuccess), "cannot write to the CUDA device");
  }

  bool reaches(const void* memory, std::size_t bytes) const override {
    return reaches_memory(context_, reaches_all_memory_, memory, bytes);
  }
  error take(std::span<std::byte> memory) override {
    const on_device here(context_);
    return said(cudaHostRegister(memory.data(), memory.size(),
                                 cudaHostRegisterPortable | cudaHostRegisterMapped),
                "cannot pin " + std::to_string(memory.size()) +
                    " bytes of the pool for the device (use a pool in /dev/shm, in a memfd or on "
                    "device DAX)");
  }
  void release(std::span<std::byte> memory) override {
    const on_device here(context_);
    note(cudaHostUnregister(memory.data()));
  }
  void* allocate(std::size_t bytes, memory_kind kind) override {
    const on_device here(context_);
    void* memory = nullptr;
    cudaError_t got =
        kind == memory_kind::own
            ? cudaMalloc(&memory, bytes)
            : cudaHostAlloc(&memory, bytes, cudaHostAllocPortable | cudaHostAllocMapped);
    if (got != cudaSuccess) cudaGetLastError();  // told by the null
    return got == cudaSuccess ? memory : nullptr;
  }
  void free(void* memory, memory_kind kind) override {
    const on_device here(context_);
    if (memory != nullptr) note(kind == memory_kind::own ? cudaFree(memory) : cudaFreeHost(memory));
  }
  void clear(void* memory, std::size_t bytes) override {
    const on_device here(context_);
    note(cudaMemsetAsync(memory, 0, bytes, transfers_));
    note(cudaStreamSynchronize(transfers_));
  }
  error copy(void* to, const void* from, std::size_t bytes) override {
    const on_device here(context_);
    cudaError_t done = cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, transfers_);
    if (done == cudaSuccess) done = cudaStreamSynchronize(transfers_);
    return said(done, "cannot copy " + std::to_string(bytes) +
                          " bytes between the pool and the CUDA device");
  }

  bool find(const leased_table& table, const batch& b, stream on) override {
    return launch<half::find, default_shape, one_level, four_levels, four_hashes>(table, b, {}, on);
  }
  void write(const leased_table& table, const batch& b, stream on) override {
    launch<half::write, default_shape>(table, b, {}, on);
  }
  void copy_up(const leased_table& table, const leased_level& top, stream on) override {
    start_kernel<half::copy_up, any_shape, false>(table, {}, {.top = top}, table.bottom_buckets(),
                                                  on);
  }
  void export_records(const leased_table& table, std::uint64_t first_bucket, std::uint64_t buckets,
                      const exported& to, stream on) override {
    if (buckets != 0)
      start_kernel<half::export_records, any_shape, false>(
          table, {}, {.first_bucket = first_bucket, .buckets = buckets, .to = to}, buckets, on);
  }
  bool find_rows(const leased_rows& rows, const row_batch& b, stream on) override {
    auto kernel = copies_.copy_of == nullptr ? &run_find_rows<false> : &run_find_rows<true>;
    return b.count == 0 || start(kernel, b.count, 32, on, rows, b, copies_, total_);
  }
  bool gather_rows(const leased_rows& rows, const gather_batch& b, stream on) override {
    auto kernel = copies_.copy_of == nullptr ? &run_gather_rows<false> : &run_gather_rows<true>;
    return b.bags() == 0 || start(kernel, b.bags(), 32, on, rows, b, copies_, total_);
  }
  void write_rows(row_step step, const leased_rows& rows, const row_writes& all, std::size_t count,
                  stream on) override {
    if (count == 0) return;
    copies_.copy_of == nullptr ? start_step<false>(step, rows, all, count, on)
                               : start_step<true>(step, rows, all, count, on);
  }
  void spread(const changed_blocks& blocks, stream on) override {
    if (blocks.count != 0) start(&run_spread, blocks.count, 32, on, blocks);
  }
  void use_copies(const bucket_copies& copies) override { copies_ = copies; }
  void run_copies(copies_step step, const leased_table& table, const copy_task* tasks,
                  std::size_t count, stream on) override {
    if (count != 0)
      start_kernel<half::copies, any_shape, false>(
          table, {}, {.step = step, .tasks = tasks, .count = count}, count, on);
  }
  stream stream_for_copies() override { return stream_for_copies_; }
  void describe(device_view& into) override {
    has_handles_ = true;
    into.turns = turns_, into.total = total_, into.copies = copies_;
  }
  void fill(void* memory, std::uint8_t byte, std::size_t bytes, stream on) override {
    const on_device here(context_);
    if (bytes != 0) note(cudaMemsetAsync(memory, byte, bytes, static_cast<cudaStream_t>(on)));
  }
  void stage(const leased_table& table, const batch& b, const staged_changes& staged,
             stream on) override {
    launch<half::stage, default_shape>(table, b, {.staged = staged}, on);
  }
  void commit(const leased_table& table, const staged_changes& staged, std::size_t count,
              stream on) override {
    launch_any<half::commit>(table, {}, {.staged = staged, .count = count}, count, on);
  }
  void retry_full(const batch& b, stream on) override {
    start_kernel<half::retry_full, any_shape, false>(leased_table::none(), b, {}, b.count, on);
  }

  bool captures(stream on) const override {
    return captures_now(context_, static_cast<cudaStream_t>(on));
  }
  bool sound() const override { return failure_ == cudaSuccess; }
  error wait(stream on) override {
    const on_device here(context_);
    return counted_after(cudaStreamSynchronize(static_cast<cudaStream_t>(on)));
  }
  error wait_for_all() override {
    const on_device here(context_);
    return counted_after(has_handles_ ? cudaDeviceSynchronize() : wait_for_own_kernels());
  }
  tallies counted() override {
    std::scoped_lock lock(counting_);
    return counted_;
  }

 private:
  static error said(cudaError_t code, const std::string& what) {
    if (code == cudaSuccess) return {status::ok, {}};
    cudaGetLastError();  // told here, and to nobody else
    return {status::io_error,
            what + ": " + cudaGetErrorString(code) + " (" + cudaGetErrorName(code) + ")"};
  }
  bool note(cudaError_t code) {
    if (code == cudaSuccess) return true;
    cudaGetLastError();
    cudaError_t none = cudaSuccess;
    failure_.compare_exchange_strong(none, code);  // the first one is told
    return false;
  }

  /// The kernel for this table's shape: one of these, or one for any.
  template <half Half, class Known, class... More>
  bool launch(const leased_table& table, const batch& b, const extra_work& more, stream on) {
    if (copies_.copy_of == nullptr && table.where.form() == Known::of(table))
      return start_kernel<Half, Known, false>(table, b, more, b.count, on);
    if constexpr (sizeof...(More) != 0) return launch<Half, More...>(table, b, more, on);
    else return launch_any<Half>(table, b, more, b.count, on);
  }
  template <half Half>
  bool launch_any(const leased_table& table, const batch& b, const extra_work& more,
                  std::uint64_t work, stream on) {
    return copies_.copy_of == nullptr
               ? start_kernel<Half, any_shape, false>(table, b, more, work, on)
               : start_kernel<Half, any_shape, true>(table, b, more, work, on);
  }
  template <half Half, class Shape, bool Copies>
  bool start_kernel(const leased_table& table, const batch& b, const extra_work& more,
                    std::uint64_t work, stream on) {
    if (work == 0) return true;
    // of a batch each lane takes an operation; of the rest each tile
    constexpr bool is_batch = width_of(Half, false) != 32;
    return start(&run<Half, Shape, Copies>, work, is_batch ? 1 : width_of(Half, Copies), on, table,
                 b, more, copies_, turns_, total_);
  }
  template <bool Copies>
  void start_step(row_step step, const leased_rows& rows, const row_writes& all, std::size_t count,
                  stream on) {
    // a key is looked for by a warp; of all else each lane takes one
    auto step_of = [&](auto kernel, unsigned threads_for_one) {
      start(kernel, count, threads_for_one, on, rows, all, copies_);
    };
    switch (step) {
      case row_step::lead: return step_of(&run_write_rows<row_step::lead, Copies>, 1);
      case row_step::look: return step_of(&run_write_rows<row_step::look, Copies>, 32);
      case row_step::write: return step_of(&run_write_rows<row_step::write, Copies>, 1);
      case row_step::commit: return step_of(&run_write_rows<row_step::commit, Copies>, 1);
    }
  }
  /// As many threads as there is work for, and the device runs at a time.
  template <class... Parameters>
  bool start(void (*kernel)(Parameters...), std::uint64_t work, unsigned threads_for_one, stream on,
             const std::remove_cv_t<Parameters>&... parameters) {
    const on_device here(context_);
    const unsigned per_block = threads_per_block / threads_for_one;
    auto blocks = static_cast<unsigned>(
        std::min<std::uint64_t>((work + per_block - 1) / per_block,
                                blocks_at_a_time(reinterpret_cast<const void*>(kernel))));
    // Its own answer, and not the last error of this thread, which may be somebody else's.
    const void* all[] = {&parameters...};
    // Whoever waits meanwhile knows of the kernel, or it begins later (B3).
    std::scoped_lock lock(marking_);
    return note(cudaLaunchKernel(reinterpret_cast<const void*>(kernel), dim3(blocks),
                                 dim3(threads_per_block), const_cast<void**>(all), 0,
                                 static_cast<cudaStream_t>(on))) &&
           note(mark(static_cast<cudaStream_t>(on)));
  }
  /// An event behind what was asked of this stream. It stays good when the stream is destroyed.
  /// Under `marking_`.
  cudaError_t mark(cudaStream_t on) {
    auto known = last_of_.find(on);
    if (known == last_of_.end()) {
      cudaEvent_t made = nullptr;
      const cudaError_t code = cudaEventCreateWithFlags(&made, cudaEventDisableTiming);
      if (code != cudaSuccess) return code;
      known = last_of_.emplace(on, made).first;
    }
    return cudaEventRecord(known->second, on);
  }
  /// And not for those of others, which may wait for who called.
  cudaError_t wait_for_own_kernels() {
    std::vector<cudaEvent_t> all;
    {
      std::scoped_lock lock(marking_);
      for (auto [name, event] : last_of_) all.push_back(event);
    }
    for (cudaEvent_t event : all)
      if (const cudaError_t code = cudaEventSynchronize(event); code != cudaSuccess) return code;
    return cudaSuccess;
  }
  /// Of this kernel, as its registers allow.
  unsigned blocks_at_a_time(const void* kernel) {
    std::scoped_lock lock(counting_);
    unsigned& known = blocks_at_a_time_[kernel];
    int of_a_processor = 0;
    if (known == 0 && note(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&of_a_processor, kernel,
                                                                         threads_per_block, 0)))
      known = processors_ * static_cast<unsigned>(std::max(of_a_processor, 1));
    return std::max(known, 1u);
  }
  error counted_after(cudaError_t waited) {
    note(waited);
    std::scoped_lock lock(counting_);
    if (failure_ == cudaSuccess)
      note(cudaMemcpyAsync(&counted_, total_, sizeof counted_, cudaMemcpyDeviceToHost, transfers_));
    note(cudaStreamSynchronize(transfers_));
    return said(failure_.exchange(cudaSuccess), "the CUDA device failed");
  }

  CUcontext context_ = nullptr;
  unsigned processors_ = 1;
  bool reaches_all_memory_ = false;  // pageable memory, too
  // none waits for the default stream, nor that for it
  cudaStream_t stream_for_copies_ = nullptr, transfers_ = nullptr;
  bucket_copies copies_;
  std::uint32_t* turns_ = nullptr;
  tallies* total_ = nullptr;
  bool has_handles_ = false;  // of kernels that are not the library's, in streams that nobody named
  std::mutex marking_;        // of what follows, and from a launch to its mark
  std::map<cudaStream_t, cudaEvent_t> last_of_;
  std::mutex counting_;  // loads of copies wait in a thread of their own; of what follows
  tallies counted_;
  std::map<const void*, unsigned> blocks_at_a_time_;  // by kernel
  std::atomic<cudaError_t> failure_{cudaSuccess};
};

}  // namespace

result<std::unique_ptr<device>> open_cuda_device(int number) {
  auto made = std::make_unique<cuda_gpu>();
  if (error e = made->start(number); e.code != status::ok) return e;
  return std::unique_ptr<device>(std::move(made));
}

}  // namespace durahash::gpu
