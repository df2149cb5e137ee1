// An array in DRAM that begins as zeros and costs memory only where it is touched: for state that
// large tables need much of, and small ones little.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace durahash {

/// T means what it should when all its bytes are 0.
template <class T>
class zeroed_array {
 public:
  static_assert(std::is_trivially_destructible_v<T>);

  zeroed_array() = default;
  explicit zeroed_array(std::size_t count) : bytes_(count * sizeof(T)) {
    void* got = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (got == MAP_FAILED) throw std::bad_alloc();
    first_ = static_cast<T*>(got);
  }
  /// Of zeros that are mapped already, and this array's to give back.
  zeroed_array(T* first, std::size_t count) noexcept : first_(first), bytes_(count * sizeof(T)) {}
  ~zeroed_array() { drop(); }
  zeroed_array(const zeroed_array&) = delete;
  zeroed_array(zeroed_array&& other) noexcept
      : first_(std::exchange(other.first_, nullptr)), bytes_(other.bytes_) {}
  zeroed_array& operator=(zeroed_array&& other) noexcept {
    drop();
    first_ = other.first_, bytes_ = other.bytes_;
    other.first_ = nullptr;
    return *this;
  }

  /// Zeros again, and no memory.
  void discard() noexcept { ::madvise(first_, bytes_, MADV_DONTNEED); }

  T* data() const noexcept { return first_; }
  T& operator[](std::size_t i) const noexcept { return first_[i]; }

 private:
  void drop() noexcept {
    if (first_ != nullptr) ::munmap(first_, bytes_);
  }

  T* first_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace durahash
