// Which CUDA device a thread's calls are for. Only devices that were asked for get a context.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstddef>

namespace durahash::gpu {

/// Functions of the driver, which the runtime finds: libcuda is not linked.
class driver_calls {
 public:
  static const driver_calls& all() {
    static const driver_calls found;
    return found;
  }
  CUresult (*init)(unsigned) = nullptr;
  CUresult (*retain)(CUcontext*, CUdevice) = nullptr;
  CUresult (*push)(CUcontext) = nullptr;
  CUresult (*pop)(CUcontext*) = nullptr;
  cudaError_t code = cudaSuccess;  // else a function is missing

 private:
  driver_calls() {
    find("cuInit", init);
    find("cuDevicePrimaryCtxRetain", retain);
    find("cuCtxPushCurrent", push);
    find("cuCtxPopCurrent", pop);
  }
  template <class Function>
  void find(const char* name, Function*& to) {
    void* at = nullptr;
    auto there = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
    constexpr unsigned as_of = 12000;
    cudaError_t got = cudaGetDriverEntryPointByVersion(name, &at, as_of, cudaEnableDefault, &there);
#else
    cudaError_t got = cudaGetDriverEntryPoint(name, &at, cudaEnableDefault, &there);
#endif
    if (got == cudaSuccess && (there != cudaDriverEntryPointSuccess || at == nullptr))
      got = cudaErrorSymbolNotFound;
    if (code == cudaSuccess) code = got;
    to = reinterpret_cast<Function*>(at);
  }
};

/// The context that the runtime has for the device of that number; made if there is none. It stays
/// until the process ends, as the runtime's own do: memory of others may be in it.
inline cudaError_t context_of(int number, CUcontext& context) {
  const driver_calls& driver = driver_calls::all();
  if (driver.code != cudaSuccess) return driver.code;
  CUresult got = driver.init(0);
  if (got == CUDA_SUCCESS) got = driver.retain(&context, number);
  return static_cast<cudaError_t>(got);  // they have the same numbers
}

/// This thread's calls are for that context's device, for a while. cudaSetDevice would make a
/// context on the device that the thread had before, also where nobody has asked for that one.
/// Graphs that other threads capture are neither in the way nor spoilt.
class on_device {
 public:
  explicit on_device(CUcontext context)
      : pushed_(context != nullptr && driver_calls::all().push(context) == CUDA_SUCCESS) {
    cudaThreadExchangeStreamCaptureMode(&mode_);
  }
  ~on_device() {
    cudaThreadExchangeStreamCaptureMode(&mode_);
    CUcontext mine;
    if (pushed_) driver_calls::all().pop(&mine);
  }
  on_device(const on_device&) = delete;

 private:
  const bool pushed_;
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

/// Whether what is asked of the stream is recorded for a graph.
inline bool captures_now(CUcontext context, cudaStream_t on) {
  const on_device here(context);
  cudaStreamCaptureStatus now = cudaStreamCaptureStatusNone;
  const cudaError_t code = cudaStreamIsCapturing(on, &now);
  if (code != cudaSuccess) cudaGetLastError();  // any other: the call that follows tells of it
  return code == cudaErrorStreamCaptureImplicit || now != cudaStreamCaptureStatusNone;
}

/// Whether kernels reach that memory, by its first and its last byte. `all`: pageable memory, too.
inline bool reaches_memory(CUcontext context, bool all, const void* memory, std::size_t bytes) {
  if (bytes == 0) return true;
  if (memory == nullptr) return false;
  const on_device here(context);
  auto known = [all](const std::byte* at) {
    cudaPointerAttributes facts;
    const cudaError_t code = cudaPointerGetAttributes(&facts, at);
    if (code != cudaSuccess) cudaGetLastError();  // told by the answer
    // another error is of the device's work before: the call that follows tells of it
    if (code != cudaSuccess) return code != cudaErrorInvalidValue;
    if (facts.type == cudaMemoryTypeUnregistered) return all;
    return facts.devicePointer == at;  // what is mapped elsewhere, or on another device, is not
  };
  auto* first = static_cast<const std::byte*>(memory);
  return known(first) && known(first + bytes - 1);
}

/// Whether the device of that number reaches the memory of processes that nobody pinned.
inline bool reaches_all_memory(int number) {
  int pageable = 0;
  cudaDeviceGetAttribute(&pageable, cudaDevAttrPageableMemoryAccess, number);
  return pageable != 0;
}

}  // namespace durahash::gpu
