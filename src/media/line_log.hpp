// What a disk asks of the medium: lines go to a log.
#pragma once

#include <cstddef>

namespace durahash {

class line_log {
 public:
  /// Behind stores that nobody flushes, or that are flushed later.
  virtual void mark(const void* at, std::size_t bytes) noexcept = 0;
  /// The lines get a place in the log. What a thread flushes later has a later one.
  virtual void flush(const void* at, std::size_t bytes) noexcept = 0;

 protected:
  ~line_log() = default;
};

}  // namespace durahash
