// What runs batches: a GPU, or in the tests threads in lockstep. Calls of one stream are done in their order; none waits, but `wait`.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "durahash/gpu.hpp"
#include "gpu/batch.hpp"

namespace durahash::gpu {

class device {
 public:
  virtual ~device() = default;

  /// Makes memory of this process the device's too, at the same addresses.
  virtual error take(std::span<std::byte> memory) = 0;
  virtual void release(std::span<std::byte> memory) = 0;
  /// Memory that both sides read and write. Null if there is none.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void free(void* memory) = 0;

  virtual void find(const lent_table& table, const batch& b, stream on) = 0;
  virtual void write(const lent_table& table, const batch& b, stream on) = 0;
  virtual void begin(const batch& b, stream on) = 0;  // all answers pending
  virtual void stage(const lent_table& table, const batch& b, change* changes, stream on) = 0;
  virtual void commit(const lent_table& table, const batch& b, const change* changes, stream on) = 0;
  virtual void retry_full(const batch& b, stream on) = 0;  // answers no_space become pending

  /// Until all of this stream is done, or of every one. Says what went wrong since the last time, if anything did.
  virtual error wait(stream on) = 0;
  virtual error wait_for_all() = 0;

  /// Of all batches that were waited for, since the device was made.
  virtual tallies counted() = 0;
};

/// The CUDA device of that number; or what stands in the way.
result<std::unique_ptr<device>> cuda_device(int number);

}  // namespace durahash::gpu
