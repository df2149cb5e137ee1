// Addresses of arrays, which Python has as numbers. durahash/_gpu_kinds.py checks what lies there,
// and keeps it.
#pragma once

#include <cstdint>
#include <durahash/gpu_stream.hpp>

namespace durahash::python {

using address = std::uintptr_t;

template <class T>
T* at(address a) noexcept {
  return reinterpret_cast<T*>(a);  // NOLINT(performance-no-int-to-ptr): it is Python's number
}
inline gpu::stream stream_of(address a) noexcept { return at<void>(a); }

}  // namespace durahash::python
