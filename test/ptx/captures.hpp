// Streams that are being captured into CUDA graphs, and what spoils a capture: the rules of
// cudaStreamBeginCapture and cudaThreadExchangeStreamCaptureMode.
#pragma once

#include <cuda_runtime_api.h>

#include <map>
#include <mutex>
#include <set>
#include <thread>

namespace durahash::ptx {

class captures {
 public:
  static captures& all() {
    static auto* one = new captures;
    return *one;
  }
  static cudaStreamCaptureMode& mode_of_thread() {
    static thread_local cudaStreamCaptureMode mine = cudaStreamCaptureModeGlobal;
    return mine;
  }

  void add(cudaStream_t s, bool blocking) {
    std::scoped_lock hold(lock_);
    if (blocking) non_blocking_.erase(s);
    else non_blocking_.insert(s);
  }
  cudaError_t begin(cudaStream_t s, cudaStreamCaptureMode mode) {
    std::scoped_lock hold(lock_);
    if (s == nullptr || under_way_.contains(s)) return cudaErrorIllegalState;
    under_way_[s] = {mode, std::this_thread::get_id(), !non_blocking_.contains(s), true, 0};
    return cudaSuccess;
  }
  /// `recorded`: how many calls.
  cudaError_t end(cudaStream_t s, std::size_t& recorded) {
    std::scoped_lock hold(lock_);
    auto at = under_way_.find(s);
    if (at == under_way_.end()) return cudaErrorIllegalState;
    one gone = at->second;
    under_way_.erase(at);
    recorded = gone.recorded;
    return gone.valid ? cudaSuccess : cudaErrorStreamCaptureInvalidated;
  }
  cudaError_t ask(cudaStream_t s, cudaStreamCaptureStatus& now) const {
    std::scoped_lock hold(lock_);
    for (auto& [stream, each] : under_way_)
      if (s == nullptr && each.blocking) return cudaErrorStreamCaptureImplicit;
    auto at = under_way_.find(s);
    now = at == under_way_.end() ? cudaStreamCaptureStatusNone
          : at->second.valid     ? cudaStreamCaptureStatusActive
                                 : cudaStreamCaptureStatusInvalidated;
    return cudaSuccess;
  }

  /// Work for a stream. True: it is not to be done, and `answer` is the call's.
  bool takes(cudaStream_t s, cudaError_t& answer) {
    std::scoped_lock hold(lock_);
    if (s == nullptr) return spoil(cudaErrorStreamCaptureImplicit, answer, blocks_the_default);
    auto at = under_way_.find(s);
    if (at == under_way_.end()) return false;
    ++at->second.recorded;
    answer = cudaSuccess;
    return true;
  }
  /// A wait for a stream, and one for all of them.
  bool forbids_wait(cudaStream_t s, cudaError_t& answer) {
    std::scoped_lock hold(lock_);
    if (s == nullptr) return spoil(cudaErrorStreamCaptureImplicit, answer, blocks_the_default);
    return spoil(cudaErrorStreamCaptureUnsupported, answer,
                 [s](cudaStream_t each, const one&) { return each == s; });
  }
  bool forbids_wait_for_all(cudaError_t& answer) {
    std::scoped_lock hold(lock_);
    return spoil(cudaErrorStreamCaptureUnsupported, answer,
                 [](cudaStream_t, const one&) { return true; });
  }
  /// What no graph would know of, such as memory that comes or goes.
  bool forbids_unsafe(cudaError_t& answer) {
    std::scoped_lock hold(lock_);
    const cudaStreamCaptureMode mine = mode_of_thread();
    if (mine == cudaStreamCaptureModeRelaxed) return false;
    return spoil(cudaErrorStreamCaptureUnsupported, answer, [mine](cudaStream_t, const one& each) {
      return each.by == std::this_thread::get_id()
                 ? each.mode != cudaStreamCaptureModeRelaxed
                 : mine == cudaStreamCaptureModeGlobal && each.mode == cudaStreamCaptureModeGlobal;
    });
  }

 private:
  struct one {
    cudaStreamCaptureMode mode;
    std::thread::id by;
    bool blocking, valid;
    std::size_t recorded;
  };
  static bool blocks_the_default(cudaStream_t, const one& each) { return each.blocking; }
  template <class Which>
  bool spoil(cudaError_t with, cudaError_t& answer, Which&& which) {
    bool any = false;
    for (auto& [stream, each] : under_way_)
      if (which(stream, each)) each.valid = false, any = true;
    if (any) answer = with;
    return any;
  }

  mutable std::mutex lock_;
  std::map<cudaStream_t, one> under_way_;
  std::set<cudaStream_t> non_blocking_;
};

}  // namespace durahash::ptx
