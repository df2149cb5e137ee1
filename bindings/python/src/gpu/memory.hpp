// Memory, streams and moments of a CUDA device, as objects of Python's. In a fork of the process
// that made them they are left alone.
#pragma once

#include <nanobind/ndarray.h>

#include <optional>
#include <string>
#include <vector>

#include "../openable.hpp"
#include "address.hpp"

namespace durahash::python {

/// Pinned memory of the host, or a device's own, until it goes. Throws where there is none.
class device_memory : openable {
 public:
  device_memory(std::size_t bytes, int number, bool pinned);
  ~device_memory();

  address where() const noexcept { return reinterpret_cast<address>(memory_); }
  std::size_t bytes() const noexcept { return bytes_; }
  int number() const noexcept { return number_; }
  bool is_pinned() const noexcept { return pinned_; }

 private:
  std::size_t bytes_;
  int number_;
  bool pinned_;
  void* memory_;
};

class device_stream : openable {
 public:
  explicit device_stream(int number);
  ~device_stream();
  address where() const noexcept { return reinterpret_cast<address>(made_); }
  int number() const noexcept { return number_; }

 private:
  int number_;
  gpu::stream made_;
};

/// See gpu::mark. Throws what keeps it from being set.
class moment {
 public:
  moment(int number, address on);
  bool is_reached() const { return mark_->is_reached(); }
  void wait() const;

 private:
  std::optional<gpu::mark> mark_;
};

/// An array that another library lends, for as long as this lives.
class lent {
 public:
  explicit lent(nb::ndarray<nb::ro> array) : array_(std::move(array)) {}
  address where() const { return reinterpret_cast<address>(array_.data()); }
  std::vector<std::size_t> shape() const;
  bool is_contiguous() const;
  nb::tuple element() const;  ///< DLPack's code, bits, lanes
  nb::tuple device() const;   ///< DLPack's kind of device, and its number

 private:
  nb::ndarray<nb::ro> array_;
};

/// An object with `__dlpack__`. `owner` is kept as long as it.
nb::object lend(nb::handle owner, address where, const std::vector<std::size_t>& shape, int code,
                int bits, int kind, int number);

void copy(int number, address to, address from, std::size_t bytes);
void wait_for(int number, address on);

}  // namespace durahash::python
