// A durahash pool searched and changed by a GPU, in place: GPHash (FAST'25). The same pool opens as a `map` on any machine.
#pragma once

#include <memory>

#include "durahash/handle.hpp"

namespace durahash::gpu {

/// A cudaStream_t; null is the default stream. Batches of one stream are done in their order.
using stream = void*;

struct device_options {
  int number = 0;                            ///< of the CUDA device
  std::uint64_t most_staged = 1u << 20;      ///< at the level power: operations between two commits; 32 bytes of host memory each
};

/// Keys and values are 64-bit words. Arrays are memory that the device reads (cudaMalloc, cudaHostAlloc), of `n` elements; they must live until the batch is done.
/// Keys of a batch need not be unique: operations of one key are done one after another, in no particular order within a batch.
///
/// Threads   one at a time, but for batches of `find_async` in streams of their own beside all others. Nobody else has the pool open meanwhile.
/// Crash     `kill -9` at any moment, within a kernel too: as for `map`. Every operation that its stream had finished is there (level process), or every one
///           that a commit had returned for (level power); each of the others is there whole or not at all.
class map {
 public:
  /// As durahash::map::open; a new pool gets the engine gphash, and a pool of another engine is refused. The device must be able to use host memory that is
  /// registered with it at its own addresses, which CUDA devices on Linux are; the pool must lie where the kernel lets memory be pinned: /dev/shm, hugetlbfs,
  /// device DAX, says the driver's documentation. What it refuses is refused with its words.
  static result<map> open(const std::string& path, const options& how = {}, const device_options& on = {});

  /// Looks up keys. answers: ok, and the value; or not_found. `values` may be null: then it only says whether they are there.
  /// Never waits, allocates or resizes. Sees what batches before it in its stream did; at the level power, what was staged only once it is committed.
  /// Returns   ok; closed, or io_error after the device failed: then nothing was done.
  status find_async(std::size_t n, const std::uint64_t* keys, std::uint64_t* values, status* answers, stream on = nullptr);

  /// Writes. answers: as of durahash::map; no_space where all places of a key are taken: `reserve`, and again.
  /// At the level process done, and durable, when the stream is there. At the level power staged: not visible, answers open, until `commit`; then `on` is the
  /// stream of all batches until that. Never waits, allocates or resizes.
  /// Returns   ok; at the level power no_space if more than most_staged operations wait for a commit: this batch was not taken. closed, io_error.
  status put_async(std::size_t n, const std::uint64_t* keys, const std::uint64_t* values, status* answers, stream on = nullptr);
  status insert_async(std::size_t n, const std::uint64_t* keys, const std::uint64_t* values, status* answers, stream on = nullptr);
  status update_async(std::size_t n, const std::uint64_t* keys, const std::uint64_t* values, status* answers, stream on = nullptr);
  status erase_async(std::size_t n, const std::uint64_t* keys, status* answers, stream on = nullptr);

  /// Waits for the stream. When it returns ok, all writes of it are durable and their answers final.
  /// Returns   ok, closed, or io_error: the device failed; `why` has its words. From then on nothing is done, and the pool is left as a crash leaves it: close
  ///           it, and open it again.
  status commit(stream on = nullptr, std::string* why = nullptr);

  /// As the _async one and commit, with growth as often as needed.
  /// Returns   ok, no_space (neither pool nor file system has room: see the answers), io_error.
  status put(std::size_t n, const std::uint64_t* keys, const std::uint64_t* values, status* answers, stream on = nullptr);
  status insert(std::size_t n, const std::uint64_t* keys, const std::uint64_t* values, status* answers, stream on = nullptr);

  // As of durahash::handle. Each waits for the device, and commits. Closed or moved from: `closed`, or nothing.
  status reserve(std::uint64_t records);
  status compact();
  status sync();
  status close();
  std::uint64_t size();
  pool_info info();
  check_report check();
  std::vector<std::string> salvage_report() const;

  /// What a write's answer promises. At `power` a write-back by the processor follows each batch: device stores alone reach no further than its caches.
  durability_level durability() const;

  class part;  // how it is made
  explicit map(std::unique_ptr<part> made);
  map(map&&) noexcept;
  map& operator=(map&&) noexcept;
  ~map();

 private:
  bool is_open() const;
  std::unique_ptr<part> part_;
};

}  // namespace durahash::gpu
