// A CUDA device: kernels of gpu/batch.hpp, and the pool's memory registered.
#include <cuda_runtime_api.h>

#include <algorithm>

#include "gpu/cuda_side.cuh"
#include "gpu/device.hpp"

namespace durahash::gpu {
namespace {

constexpr unsigned threads_per_block = 256, warps_per_block = threads_per_block / cuda_warp::lanes;

enum class half : std::uint8_t { find, write, stage, commit, retry_full };

template <half Half>
__global__ void __launch_bounds__(threads_per_block) run(const __grid_constant__ lent_table table, const __grid_constant__ batch b, change* changes,
                                                         std::uint32_t* turns, tallies* total) {
  cuda_side side(turns);
  batch_run<cuda_side> all(side, table, b, *total);
  std::size_t warp = blockIdx.x * std::size_t{warps_per_block} + threadIdx.x / cuda_warp::lanes, warps = gridDim.x * std::size_t{warps_per_block};
  if constexpr (Half == half::find) all.find(warp, warps);
  if constexpr (Half == half::write) all.write(warp, warps);
  if constexpr (Half == half::stage) all.stage(warp, warps, changes);
  if constexpr (Half == half::commit) all.commit(warp, warps, changes);
  if constexpr (Half == half::retry_full) all.retry_full(warp, warps);
}

class cuda_gpu final : public device {
 public:
  ~cuda_gpu() override {
    cudaFree(turns_);
    cudaFree(total_);
  }

  error start(int number) {
    int count = 0;
    if (error e = said(cudaGetDeviceCount(&count), "cannot use CUDA"); e.code != status::ok) return e;
    if (number < 0 || number >= count)
      return {status::invalid_argument, "there is no CUDA device " + std::to_string(number) + ": this machine has " + std::to_string(count)};
    number_ = number;
    if (error e = said(cudaSetDevice(number), "cannot use the CUDA device " + std::to_string(number)); e.code != status::ok) return e;
    for (auto [attribute, what] : {std::pair{cudaDevAttrHostRegisterSupported, "register host memory"},
                                   std::pair{cudaDevAttrCanUseHostPointerForRegisteredMem, "use registered host memory at its own address"}}) {
      int can = 0;
      if (error e = said(cudaDeviceGetAttribute(&can, attribute, number), "cannot ask the CUDA device"); e.code != status::ok) return e;
      if (can == 0) return {status::unusable, "the CUDA device " + std::to_string(number) + " cannot " + what};
    }
    int processors = 0;
    cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, number);
    constexpr unsigned blocks_per_processor = 8;
    most_blocks_ = static_cast<unsigned>(std::max(processors, 1)) * blocks_per_processor;
    std::size_t turns_bytes = sizeof(std::uint32_t) << cuda_side::stripe_bits;
    if (error e = said(cudaMalloc(&turns_, turns_bytes), "no device memory for the stripes' turns"); e.code != status::ok) return e;
    if (error e = said(cudaMalloc(&total_, sizeof(tallies)), "no device memory for counters"); e.code != status::ok) return e;
    cudaMemset(turns_, 0, turns_bytes);
    return said(cudaMemset(total_, 0, sizeof(tallies)), "cannot write to the CUDA device");
  }

  error take(std::span<std::byte> memory) override {
    cudaSetDevice(number_);
    return said(cudaHostRegister(memory.data(), memory.size(), cudaHostRegisterPortable | cudaHostRegisterMapped),
                "cannot pin " + std::to_string(memory.size()) + " bytes of the pool for the device (use a pool in /dev/shm, hugetlbfs or on device DAX)");
  }
  void release(std::span<std::byte> memory) override { note(cudaHostUnregister(memory.data())); }
  void* allocate(std::size_t bytes) override {
    void* memory = nullptr;
    return cudaHostAlloc(&memory, bytes, cudaHostAllocPortable | cudaHostAllocMapped) == cudaSuccess ? memory : nullptr;
  }
  void free(void* memory) override {
    if (memory != nullptr) note(cudaFreeHost(memory));
  }

  void find(const lent_table& table, const batch& b, stream on) override { launch<half::find>(table, b, nullptr, on); }
  void write(const lent_table& table, const batch& b, stream on) override { launch<half::write>(table, b, nullptr, on); }
  void begin(const batch& b, stream on) override {
    if (b.count != 0) note(cudaMemsetAsync(b.answers, static_cast<int>(pending), b.count, static_cast<cudaStream_t>(on)));
  }
  void stage(const lent_table& table, const batch& b, change* changes, stream on) override { launch<half::stage>(table, b, changes, on); }
  void commit(const lent_table& table, const batch& b, const change* changes, stream on) override {
    launch<half::commit>(table, b, const_cast<change*>(changes), on);
  }
  void retry_full(const batch& b, stream on) override { launch<half::retry_full>(lent_table::none(), b, nullptr, on); }

  error wait(stream on) override { return counted_after(cudaStreamSynchronize(static_cast<cudaStream_t>(on))); }
  error wait_for_all() override { return counted_after(cudaDeviceSynchronize()); }
  tallies counted() override { return counted_; }

 private:
  static error said(cudaError_t code, const std::string& what) {
    if (code == cudaSuccess) return {status::ok, {}};
    return {status::io_error, what + ": " + cudaGetErrorString(code) + " (" + cudaGetErrorName(code) + ")"};
  }
  void note(cudaError_t code) {
    if (code != cudaSuccess && failure_ == cudaSuccess) failure_ = code;
  }

  template <half Half>
  void launch(const lent_table& table, const batch& b, change* changes, stream on) {
    if (b.count == 0) return;
    cudaSetDevice(number_);
    auto blocks = static_cast<unsigned>(std::min<std::size_t>((b.count + warps_per_block - 1) / warps_per_block, most_blocks_));
    run<Half><<<blocks, threads_per_block, 0, static_cast<cudaStream_t>(on)>>>(table, b, changes, turns_, total_);
    note(cudaGetLastError());
  }
  error counted_after(cudaError_t waited) {
    note(waited);
    if (failure_ == cudaSuccess) note(cudaMemcpy(&counted_, total_, sizeof counted_, cudaMemcpyDeviceToHost));
    return said(std::exchange(failure_, cudaSuccess), "the CUDA device failed");
  }

  int number_ = 0;
  unsigned most_blocks_ = 1;
  std::uint32_t* turns_ = nullptr;
  tallies* total_ = nullptr;
  tallies counted_;
  cudaError_t failure_ = cudaSuccess;
};

}  // namespace

result<std::unique_ptr<device>> cuda_device(int number) {
  auto made = std::make_unique<cuda_gpu>();
  if (error e = made->start(number); e.code != status::ok) return e;
  return std::unique_ptr<device>(std::move(made));
}

}  // namespace durahash::gpu
