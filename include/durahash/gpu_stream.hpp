// Streams of CUDA devices, and moments in them, for programs that do without CUDA's own headers.
#pragma once

#include <cstddef>
#include <memory>

#include "durahash/gpu.hpp"

namespace durahash::gpu {

/// A new stream of the CUDA device of that number. Neither does it wait for the default stream, nor
/// that one for it. Null where there is none, or no device.
stream make_stream(int number);
/// Waits for what was asked of it. Null: nothing.
void free_stream(int number, stream made);

/// Waits until all is done that was asked of the stream; other threads go on.
/// Returns   ok; invalid_argument: the stream is being captured into a CUDA graph, which stays
///           valid; io_error: the device failed, in its words; unusable: no such device.
error wait_for_stream(int number, stream on);

/// Whether what is asked of the stream is recorded for a CUDA graph, and not done. False where
/// there is no device.
bool is_captured(int number, stream on);

/// Whether the device reads and writes that memory at its address, as it must for arrays of
/// batches: its first and its last byte are asked about. False where there is no device; true of no
/// bytes.
/// Cost      two calls of the driver
bool is_reached(int number, const void* memory, std::size_t bytes);

/// A moment in a stream: behind all that was asked of the stream before it. Who lends arrays to a
/// batch knows by it when they are free again.
/// Threads   of one mark one at a time
/// Fork      in a child it is reached, and waits for nothing
class mark {
 public:
  /// Where the stream is now.
  /// Returns   the mark; or invalid_argument: the stream is being captured; io_error; unusable.
  static result<mark> set(int number, stream on);

  /// Whether the stream has come here, or never will, since the device failed. Waits for nothing.
  bool is_reached() const;
  /// Waits until it has.
  /// Returns   ok, or io_error: the device failed, in its words.
  error wait() const;

  class part;                                 // how it is made
  explicit mark(std::unique_ptr<part> made);  ///< for set
  mark(mark&&) noexcept;
  mark& operator=(mark&&) noexcept;
  ~mark();

 private:
  std::unique_ptr<part> part_;
};

}  // namespace durahash::gpu
