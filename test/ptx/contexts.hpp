// Which device a thread's calls are for, as the CUDA driver and runtime have it: a stack of
// contexts for each thread. A call that needs one and finds none makes that of the thread's device.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <mutex>
#include <set>
#include <vector>

struct CUctx_st {
  int number;
};

namespace durahash::ptx {

/// Of all threads.
class contexts {
 public:
  static contexts& all() {
    static auto* one = new contexts;
    return *one;
  }
  /// How many devices there are; none has a context, but for what threads have current already.
  void restart(int devices) {
    std::scoped_lock hold(lock_);
    devices_ = devices;
    made_.clear(), used_.clear();
  }
  int devices() const { return devices_; }
  /// Devices that have a context; those whose context a call has used.
  std::set<int> made() const { return locked(made_); }
  std::set<int> used() const { return locked(used_); }

  CUcontext of(int number) {
    static CUctx_st one[most] = {{0}, {1}, {2}, {3}};
    std::scoped_lock hold(lock_);
    made_.insert(number);
    return &one[number];
  }
  void use() {
    std::vector<CUcontext>& mine = of_thread();
    if (mine.empty()) mine.push_back(of(chosen()));
    std::scoped_lock hold(lock_);
    used_.insert(mine.back()->number);
  }
  int current() const { return of_thread().empty() ? chosen() : of_thread().back()->number; }
  bool set(int number) {
    if (number < 0 || number >= devices_) return false;
    chosen() = number;
    if (!of_thread().empty()) of_thread().pop_back();
    of_thread().push_back(of(number));
    return true;
  }
  bool push(CUcontext context) { return of_thread().push_back(context), true; }
  bool pop() {
    if (of_thread().empty()) return false;
    return of_thread().pop_back(), true;
  }

 private:
  static constexpr int most = 4;
  static std::vector<CUcontext>& of_thread() {
    static thread_local std::vector<CUcontext> mine;
    return mine;
  }
  static int& chosen() {
    static thread_local int mine = 0;
    return mine;
  }
  std::set<int> locked(const std::set<int>& what) const {
    std::scoped_lock hold(lock_);
    return what;
  }

  mutable std::mutex lock_;
  int devices_ = 1;
  std::set<int> made_, used_;
};

}  // namespace durahash::ptx
