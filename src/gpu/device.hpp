// What runs batches: a GPU, or in the tests threads in lockstep. Calls of one stream are done in
// their order; none waits, but `wait`.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "durahash/gpu.hpp"
#include "gpu/device_view.hpp"
#include "gpu/gather.hpp"
#include "gpu/row_writes.hpp"

namespace durahash::gpu {

enum class memory_kind : std::uint8_t {
  shared,  // both sides read and write it
  own,     // the device's alone, but for copies
};

class device_memory {
 public:
  virtual ~device_memory() = default;
  /// Null if there is none.
  virtual void* allocate(std::size_t bytes, memory_kind kind = memory_kind::shared) = 0;
  virtual void free(void* memory, memory_kind kind = memory_kind::shared) = 0;
  virtual void clear(void* memory, std::size_t bytes) = 0;
  /// From any memory to any, at once.
  virtual error copy(void* to, const void* from, std::size_t bytes) = 0;
};

/// Memory of a device for a while; null if there is none.
template <class T>
class lent_array {
 public:
  lent_array(device_memory& d, std::size_t count, memory_kind kind)
      : device_(d), kind_(kind), first_(static_cast<T*>(d.allocate(count * sizeof(T), kind))) {}
  ~lent_array() { device_.free(first_, kind_); }
  lent_array(const lent_array&) = delete;
  T* data() const noexcept { return first_; }

 private:
  device_memory& device_;
  memory_kind kind_;
  T* first_;
};

/// What copies of hot buckets need of a device (gpu/cache.hpp).
class copies_device : public device_memory {
 public:
  /// From now on.
  virtual void use_copies(const bucket_copies& copies) = 0;
  virtual void run_copies(copies_step step, const leased_table& table, const copy_task* tasks,
                          std::size_t count, stream on) = 0;
  virtual stream stream_for_copies() = 0;

  /// Until all of this stream is done; or all that this device was asked for, in any stream, and
  /// kernels that have a handle (`describe`). Says what went wrong since the last time, if anything
  /// did.
  virtual error wait(stream on) = 0;
  virtual error wait_for_all() = 0;
};

/// What batches of rows need of a device (gpu/row_batches.hpp).
class rows_device : public copies_device {
 public:
  /// A step of a batch, for so many operations or changes.
  virtual void write_rows(row_step step, const leased_rows& rows, const row_writes& all,
                          std::size_t count, stream on) = 0;
  virtual void fill(void* memory, std::uint8_t byte, std::size_t bytes, stream on) = 0;
};

class device : public rows_device {
 public:
  /// Whether kernels reach that memory, by its first and its last byte: asked of arrays before they
  /// are used, since a kernel that does not reach one ends all work of the process's on the device.
  /// Cost: two calls of the driver.
  virtual bool reaches(const void* memory, std::size_t bytes) const = 0;

  /// Makes memory of this process the device's too, at the same addresses.
  virtual error take(std::span<std::byte> memory) = 0;
  virtual void release(std::span<std::byte> memory) = 0;

  // whether it began, or will
  virtual bool find(const leased_table& table, const batch& b, stream on) = 0;
  virtual void write(const leased_table& table, const batch& b, stream on) = 0;
  virtual void stage(const leased_table& table, const batch& b, const staged_changes& staged,
                     stream on) = 0;
  virtual void commit(const leased_table& table, const staged_changes& staged, std::size_t count,
                      stream on) = 0;
  virtual void retry_full(const batch& b, stream on) = 0;  // answers no_space become pending
  virtual void copy_up(const leased_table& table, const leased_level& top,
                       stream on) = 0;  // growth

  virtual void export_records(const leased_table& table, std::uint64_t first_bucket,
                              std::uint64_t buckets, const exported& to, stream on) = 0;

  virtual bool find_rows(const leased_rows& rows, const row_batch& b, stream on) = 0;
  virtual bool gather_rows(const leased_rows& rows, const gather_batch& b, stream on) = 0;
  virtual void spread(const changed_blocks& blocks, stream on) = 0;

  /// For kernels that are not the library's: turns, total and copies.
  virtual void describe(device_view& into) = 0;

  /// Whether what is asked of this stream is not done, but recorded: of a CUDA graph.
  virtual bool captures(stream on) const = 0;

  /// Whether all that was asked for has begun, or will. If not, the next wait says why.
  virtual bool sound() const = 0;

  /// Of all batches that were waited for, since the device was made.
  virtual tallies counted() = 0;
};

/// Whether kernels may list there what they miss of so many keys.
inline bool reaches(const device& d, const missed_keys& missed, std::size_t keys) {
  if (missed.count == nullptr) return missed.indices == nullptr;
  return keys <= std::uint64_t{1} << 32 && d.reaches(missed.count, sizeof *missed.count) &&
         (missed.indices == nullptr || d.reaches(missed.indices, keys * sizeof *missed.indices));
}

/// The CUDA device of that number; or what stands in the way.
result<std::unique_ptr<device>> cuda_device(int number);

}  // namespace durahash::gpu
