// Streams of CUDA devices, and events in them.
#include "gpu/cuda_backend.hpp"
#include "gpu/on_device.hpp"

namespace durahash::gpu {
namespace {

error said(cudaError_t code, const std::string& what) {
  if (code == cudaSuccess) return {status::ok, {}};
  cudaGetLastError();  // told here, and to nobody else
  return {status::io_error,
          what + ": " + cudaGetErrorString(code) + " (" + cudaGetErrorName(code) + ")"};
}
cudaStream_t cuda(stream s) { return static_cast<cudaStream_t>(s); }
cudaEvent_t cuda_event(void* e) { return static_cast<cudaEvent_t>(e); }

/// Of a device that cannot be used there is none.
error find_context(int number, CUcontext& context) {
  const cudaError_t code = context_of(number, context);
  if (code == cudaSuccess) return {status::ok, {}};
  return {status::unusable, "cannot use the CUDA device " + std::to_string(number) + ": " +
                                cudaGetErrorString(code) + " (" + cudaGetErrorName(code) + ")"};
}
/// What stands in the way of a wait for the stream, or of a mark in it.
error is_ready(int number, stream on, CUcontext& context) {
  if (error e = find_context(number, context); e.code != status::ok) return e;
  if (!captures_now(context, cuda(on))) return {status::ok, {}};
  return {status::invalid_argument, "the stream is being captured into a CUDA graph"};
}

stream make(int number) {
  CUcontext context = nullptr;
  if (context_of(number, context) != cudaSuccess) return nullptr;
  const on_device here(context);
  cudaStream_t made = nullptr;
  if (cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking) == cudaSuccess) return made;
  cudaGetLastError();  // told by the null
  return nullptr;
}
void free_it(int number, stream made) {
  CUcontext context = nullptr;
  if (context_of(number, context) != cudaSuccess) return;
  const on_device here(context);
  cudaStreamSynchronize(cuda(made));
  cudaStreamDestroy(cuda(made));
  cudaGetLastError();  // of the work before: who waited for it was told
}
error wait(int number, stream on) {
  CUcontext context = nullptr;
  if (error e = is_ready(number, on, context); e.code != status::ok) return e;
  const on_device here(context);
  return said(cudaStreamSynchronize(cuda(on)), "the CUDA device failed");
}
bool is_being_captured(int number, stream on) {
  CUcontext context = nullptr;
  return context_of(number, context) == cudaSuccess && captures_now(context, cuda(on));
}
bool reaches_it(int number, const void* memory, std::size_t bytes) {
  CUcontext context = nullptr;
  return context_of(number, context) == cudaSuccess &&
         reaches_memory(context, reaches_all_memory(number), memory, bytes);
}

result<void*> set_mark(int number, stream on) {
  CUcontext context = nullptr;
  if (error e = is_ready(number, on, context); e.code != status::ok) return e;
  const on_device here(context);
  cudaEvent_t made = nullptr;
  error e = said(cudaEventCreateWithFlags(&made, cudaEventDisableTiming),
                 "cannot make an event of the CUDA device");
  if (e.code != status::ok) return e;
  e = said(cudaEventRecord(made, cuda(on)), "cannot mark a stream of the CUDA device");
  if (e.code == status::ok) return static_cast<void*>(made);
  cudaEventDestroy(made);
  return e;
}
bool mark_is_reached(int number, void* event) {
  CUcontext context = nullptr;
  if (context_of(number, context) != cudaSuccess) return true;
  const on_device here(context);
  const cudaError_t code = cudaEventQuery(cuda_event(event));
  if (code != cudaSuccess) cudaGetLastError();  // told by the answer, or by the next wait
  return code != cudaErrorNotReady;
}
error wait_for_mark(int number, void* event) {
  CUcontext context = nullptr;
  if (error e = find_context(number, context); e.code != status::ok) return e;
  const on_device here(context);
  return said(cudaEventSynchronize(cuda_event(event)), "the CUDA device failed");
}
void free_mark(int number, void* event) {
  CUcontext context = nullptr;
  if (context_of(number, context) != cudaSuccess) return;
  const on_device here(context);
  cudaEventDestroy(cuda_event(event));
}

}  // namespace

const stream_calls cuda_streams = {
    make,     free_it,         wait,          is_being_captured, reaches_it,
    set_mark, mark_is_reached, wait_for_mark, free_mark};

}  // namespace durahash::gpu
