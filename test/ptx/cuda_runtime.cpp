// The CUDA runtime's functions that the library and its tests call, over the interpreter. What a
// real one refuses is refused here: a second registration, a free of what is not there, a launch of
// a kernel without code, anything after a fault.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>
#include <utility>

#include "test/ptx/captures.hpp"
#include "test/ptx/contexts.hpp"
#include "test/ptx/device.hpp"
#include "test/ptx/load.hpp"

#undef cudaGetDeviceProperties

using durahash::ptx::captures;
using durahash::ptx::contexts;
using durahash::ptx::device;

namespace {

std::map<const void*, std::string>& functions() {
  static auto* all = new std::map<const void*, std::string>;
  return *all;
}

thread_local cudaError_t last_error = cudaSuccess;

cudaError_t answer(cudaError_t code) {
  if (code != cudaSuccess) last_error = code;
  return code;
}

/// A call that has the device to itself, once its kernels are there and while none has failed.
template <class Call>
cudaError_t without_context(Call&& call) {
  device& d = device::the_one();
  std::scoped_lock hold(d.lock);
  if (!durahash::ptx::load_once(d)) return answer(cudaErrorInvalidPtx);
  if (!d.failure().empty()) return answer(cudaErrorLaunchFailure);
  d.get_on();
  cudaError_t code = call(d);
  return answer(d.failure().empty() ? code : cudaErrorLaunchFailure);
}

template <class Call>
cudaError_t with_device(Call&& call) {
  contexts::all().use();
  return without_context(call);
}
/// Work for a stream, which may be recorded instead.
template <class Call>
cudaError_t on_stream(cudaStream_t on, Call&& call) {
  cudaError_t code = cudaSuccess;
  return captures::all().takes(on, code) ? answer(code) : with_device(call);
}
/// What a capture may forbid.
template <class Call>
cudaError_t beside_captures(Call&& call) {
  cudaError_t code = cudaSuccess;
  return captures::all().forbids_unsafe(code) ? answer(code) : with_device(call);
}

int capability() {
  int chosen = device::the_one().settings().capability;
  return chosen != 0 ? chosen : durahash::ptx::architecture();
}
std::uint64_t number(const void* p) { return reinterpret_cast<std::uint64_t>(p); }

cudaError_t allocate(void** to, std::size_t bytes, durahash::ptx::owner of) {
  if (to == nullptr) return answer(cudaErrorInvalidValue);
  if (bytes == 0) return *to = nullptr, cudaSuccess;
  return beside_captures([&](device& d) {
    constexpr std::size_t alignment = 256, red_zone = 256;
    std::size_t whole = (bytes + red_zone + alignment - 1) / alignment * alignment;
    void* made = std::aligned_alloc(alignment, whole);
    if (made == nullptr) return cudaErrorMemoryAllocation;
    std::memset(made, 0xa5, whole);
    d.pieces.add(number(made), bytes, of, false);
    *to = made;
    return cudaSuccess;
  });
}
cudaError_t release(void* memory, durahash::ptx::owner of) {
  if (memory == nullptr) return contexts::all().use(), answer(cudaSuccess);
  return beside_captures([&](device& d) {
    d.wait_for_all();  // as cudaFree does
    auto gone = d.pieces.remove(number(memory), false);
    if (!gone || gone->of != of) return cudaErrorInvalidValue;
    d.weak().forget(gone->first, gone->end - gone->first);
    std::free(memory);
    return cudaSuccess;
  });
}
void store(device& d, void* to, std::size_t bytes, const std::function<void()>& how) {
  how();
  d.weak().forget(number(to), bytes);
}

}  // namespace

extern "C" {

// --------------------------------------------------------------- what nvcc's own code calls

void** __cudaRegisterFatBinary(void*) {
  static void* none = nullptr;
  return &none;
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
void __cudaRegisterFunction(void**, const char* host, char*, const char* name, int, uint3*, uint3*,
                            dim3*, dim3*, int*) {
  functions()[host] = durahash::ptx::stable_name(name);
}
char __cudaInitModule(void**) { return 0; }
cudaError_t __cudaGetKernel(cudaKernel_t* k, const void* f) {
  *k = static_cast<cudaKernel_t>(const_cast<void*>(f));
  return cudaSuccess;
}
namespace {
struct configuration {
  dim3 grid, block;
  std::size_t shared;
  cudaStream_t on;
};
thread_local std::vector<configuration> configurations;
}  // namespace
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared, cudaStream_t on) {
  configurations.push_back({grid, block, shared, on});
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared, void* on) {
  if (configurations.empty()) return cudaErrorMissingConfiguration;
  configuration c = configurations.back();
  configurations.pop_back();
  *grid = c.grid, *block = c.block, *shared = c.shared;
  *static_cast<cudaStream_t*>(on) = c.on;
  return cudaSuccess;
}

// ---------------------------------------------------------------------------------- launches

cudaError_t cudaLaunchKernel(const void* f, dim3 grid, dim3 block, void** arguments,
                             std::size_t shared, cudaStream_t on) {
  return on_stream(on, [&](device& d) {
    auto named = functions().find(f);
    if (named == functions().end()) return cudaErrorInvalidDeviceFunction;
    auto found = d.kernels.find(named->second);
    if (found == d.kernels.end()) return cudaErrorInvalidDeviceFunction;
    if (grid.x == 0 || grid.y != 1 || grid.z != 1 || block.y != 1 || block.z != 1 || block.x == 0 ||
        block.x > 1024 || block.x % durahash::ptx::lanes != 0 || shared != 0)
      return cudaErrorInvalidConfiguration;
    d.launch(found->second, grid.x, block.x, arguments, on);
    return cudaSuccess;
  });
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* facts, const void* f) {
  return with_device([&](device& d) {
    std::memset(facts, 0, sizeof *facts);
    if (capability() < durahash::ptx::architecture()) return cudaErrorNoKernelImageForDevice;
    auto named = functions().find(f);
    return named != functions().end() && d.kernels.contains(named->second)
               ? cudaSuccess
               : cudaErrorInvalidDeviceFunction;
  });
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* f, int,
                                                                   std::size_t, unsigned) {
  return with_device([&](device& d) {
    *blocks = static_cast<int>(d.settings().blocks_per_processor);
    return functions().contains(f) ? cudaSuccess : cudaErrorInvalidDeviceFunction;
  });
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* f, int threads,
                                                          std::size_t shared) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, f, threads, shared, 0);
}
cudaError_t __cudaLaunchKernel(cudaKernel_t k, dim3 grid, dim3 block, void** arguments,
                               std::size_t shared, cudaStream_t on) {
  return cudaLaunchKernel(k, grid, block, arguments, shared, on);
}

// ----------------------------------------------------------------------------------- devices

cudaError_t cudaGetDeviceCount(int* count) {
  *count = contexts::all().devices();
  return without_context([](device&) { return cudaSuccess; });
}
cudaError_t cudaGetDevice(int* number_of) {
  *number_of = contexts::all().current();
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int wanted) {
  return contexts::all().set(wanted) ? cudaSuccess : answer(cudaErrorInvalidDevice);
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr what, int) {
  switch (what) {
    case cudaDevAttrMultiProcessorCount:
      *value = static_cast<int>(device::the_one().settings().processors);
      return cudaSuccess;
    case cudaDevAttrComputeCapabilityMajor: *value = capability() / 10; return cudaSuccess;
    case cudaDevAttrComputeCapabilityMinor: *value = capability() % 10; return cudaSuccess;
    case cudaDevAttrPageableMemoryAccess: *value = 0; return cudaSuccess;
    case cudaDevAttrHostRegisterSupported:
    case cudaDevAttrCanUseHostPointerForRegisteredMem: *value = 1; return cudaSuccess;
    default: return answer(cudaErrorInvalidValue);
  }
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* facts, int) {
  std::memset(facts, 0, sizeof *facts);
  std::strcpy(facts->name, "interpreter of PTX");
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
  cudaError_t code = cudaSuccess;
  if (captures::all().forbids_wait_for_all(code)) return answer(code);
  return with_device([](device& d) { return d.wait_for_all(), cudaSuccess; });
}
const char* cudaGetErrorName(cudaError_t code) {
  switch (code) {
    case cudaSuccess: return "cudaSuccess";
    case cudaErrorInvalidPtx: return "cudaErrorInvalidPtx";
    case cudaErrorLaunchFailure: return "cudaErrorLaunchFailure";
    case cudaErrorInvalidDeviceFunction: return "cudaErrorInvalidDeviceFunction";
    default: return "cudaError";
  }
}
const char* cudaGetErrorString(cudaError_t code) {
  static thread_local std::string said;
  if (code == cudaErrorInvalidPtx) said = durahash::ptx::why_not_loaded();
  else if (code == cudaErrorLaunchFailure) said = device::the_one().failure();
  else said = "error " + std::to_string(static_cast<int>(code));
  return said.c_str();
}
cudaError_t cudaGetLastError() {
  cudaError_t last = last_error;
  last_error = cudaSuccess;
  return last;
}

// ------------------------------------------------------------------------------------ memory

cudaError_t cudaMalloc(void** to, std::size_t bytes) {
  return allocate(to, bytes, durahash::ptx::owner::device);
}
cudaError_t cudaFree(void* memory) { return release(memory, durahash::ptx::owner::device); }
cudaError_t cudaHostAlloc(void** to, std::size_t bytes, unsigned) {
  return allocate(to, bytes, durahash::ptx::owner::host);
}
cudaError_t cudaFreeHost(void* memory) { return release(memory, durahash::ptx::owner::host); }
cudaError_t cudaHostRegister(void* memory, std::size_t bytes, unsigned) {
  return beside_captures([&](device& d) {
    return d.pieces.add(number(memory), bytes, durahash::ptx::owner::host, true)
               ? cudaSuccess
               : cudaErrorHostMemoryAlreadyRegistered;
  });
}
cudaError_t cudaHostUnregister(void* memory) {
  return beside_captures([&](device& d) {
    auto gone = d.pieces.remove(number(memory), true);
    if (!gone) return cudaErrorHostMemoryNotRegistered;
    d.weak().forget(gone->first, gone->end - gone->first);
    return cudaSuccess;
  });
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* facts, const void* p) {
  return with_device([&](device& d) {
    std::memset(facts, 0, sizeof *facts);
    const durahash::ptx::piece* found = d.pieces.find(number(p), 1);
    facts->type = found == nullptr                            ? cudaMemoryTypeUnregistered
                  : found->of == durahash::ptx::owner::device ? cudaMemoryTypeDevice
                                                              : cudaMemoryTypeHost;
    if (found == nullptr) return facts->device = -2, cudaSuccess;
    facts->devicePointer = const_cast<void*>(p);
    facts->hostPointer = found->of == durahash::ptx::owner::host ? const_cast<void*>(p) : nullptr;
    return cudaSuccess;
  });
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind,
                            cudaStream_t on) {
  return on_stream(on, [&](device& d) {
    d.then(on, [=, &d] { store(d, to, bytes, [=] { std::memcpy(to, from, bytes); }); });
    return cudaSuccess;
  });
}
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  cudaError_t asked = beside_captures([](device&) { return cudaSuccess; });
  if (asked == cudaSuccess) asked = cudaMemcpyAsync(to, from, bytes, kind, nullptr);
  return asked == cudaSuccess ? cudaStreamSynchronize(nullptr) : asked;
}
cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t on) {
  return on_stream(on, [&](device& d) {
    if (d.pieces.find(number(to), bytes) == nullptr) return cudaErrorInvalidValue;
    d.then(on, [=, &d] { store(d, to, bytes, [=] { std::memset(to, value, bytes); }); });
    return cudaSuccess;
  });
}

// ----------------------------------------------------------------------------------- streams

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* made, unsigned flags) {
  contexts::all().use();
  *made = static_cast<cudaStream_t>(std::malloc(1));
  captures::all().add(*made, (flags & cudaStreamNonBlocking) == 0);
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t s) {
  cudaError_t waited = cudaStreamSynchronize(s);
  std::free(s);
  return waited;
}
cudaError_t cudaStreamSynchronize(cudaStream_t s) {
  cudaError_t code = cudaSuccess;
  if (captures::all().forbids_wait(s, code)) return answer(code);
  code = with_device([](device&) { return cudaSuccess; });
  if (code != cudaSuccess) return code;
  device::the_one().wait(s);  // other threads' calls go on meanwhile
  return with_device([](device&) { return cudaSuccess; });
}
}  // extern "C"

/// A mark that a stream comes to.
struct CUevent_st {
  cudaStream_t on = nullptr;
  std::shared_ptr<bool> reached = std::make_shared<bool>(true);
};

extern "C" {

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* made, unsigned) {
  contexts::all().use();
  *made = new CUevent_st;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t on) {
  if (auto what = std::exchange(device::the_one().before_a_record, nullptr)) what();
  return on_stream(on, [&](device& d) {
    auto reached = std::make_shared<bool>(false);
    *event = {on, reached};
    d.then(on, [reached] { *reached = true; });
    return cudaSuccess;
  });
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  CUevent_st mark;
  cudaError_t code = beside_captures([&](device&) { return mark = *event, cudaSuccess; });
  if (code != cudaSuccess) return code;
  device::the_one().wait_until(mark.on, [&] { return *mark.reached; });
  return with_device([](device&) { return cudaSuccess; });
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  return beside_captures(
      [&](device&) { return *event->reached ? cudaSuccess : cudaErrorNotReady; });
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}
cudaError_t cudaStreamQuery(cudaStream_t s) {
  cudaError_t code = cudaSuccess;
  if (captures::all().forbids_wait(s, code)) return answer(code);
  return with_device([&](device& d) { return d.idle(s) ? cudaSuccess : cudaErrorNotReady; });
}

// ------------------------------------------------------------------------------------ graphs

cudaError_t cudaStreamBeginCapture(cudaStream_t s, cudaStreamCaptureMode mode) {
  return answer(captures::all().begin(s, mode));
}
/// The graph is the number of calls that were recorded, and one.
cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t* made) {
  std::size_t recorded = 0;
  cudaError_t code = captures::all().end(s, recorded);
  *made = code == cudaSuccess ? reinterpret_cast<cudaGraph_t>(recorded + 1) : nullptr;
  return answer(code);
}
cudaError_t cudaStreamIsCapturing(cudaStream_t s, cudaStreamCaptureStatus* now) {
  return answer(captures::all().ask(s, *now));
}
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  std::swap(*mode, captures::mode_of_thread());
  return cudaSuccess;
}

// ------------------------------------------------------------------------------------ driver

cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** to, unsigned,
                                             unsigned long long,
                                             cudaDriverEntryPointQueryResult* found) {
  static CUresult (*const init)(unsigned) = [](unsigned) { return CUDA_SUCCESS; };
  static CUresult (*const retain)(CUcontext*, CUdevice) = [](CUcontext* made, CUdevice number) {
    if (number < 0 || number >= contexts::all().devices()) return CUDA_ERROR_INVALID_DEVICE;
    return *made = contexts::all().of(number), CUDA_SUCCESS;
  };
  static CUresult (*const push)(CUcontext) = [](CUcontext context) {
    return contexts::all().push(context) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
  };
  static CUresult (*const pop)(CUcontext*) = [](CUcontext*) {
    return contexts::all().pop() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
  };
  const std::string wanted = name;
  *to = wanted == "cuInit"                     ? reinterpret_cast<void*>(init)
        : wanted == "cuDevicePrimaryCtxRetain" ? reinterpret_cast<void*>(retain)
        : wanted == "cuCtxPushCurrent"         ? reinterpret_cast<void*>(push)
        : wanted == "cuCtxPopCurrent"          ? reinterpret_cast<void*>(pop)
                                               : nullptr;
  *found = *to != nullptr ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}

}  // extern "C"
