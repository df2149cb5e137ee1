// An array in DRAM that begins as zeros and costs memory only where it is touched: for state that
// large tables need much of, and small ones little.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

namespace durahash {

/// T means what it should when all its bytes are 0. A short one is of the heap: a mapping takes
/// longer to get than many tables take to open.
template <class T>
class zeroed_array {
 public:
  static_assert(std::is_trivially_destructible_v<T>);

  zeroed_array() = default;
  explicit zeroed_array(std::size_t count)
      : zeroed_array(count, count * sizeof(T) > most_of_heap) {}
  /// One whose memory can be given back, however short it is.
  static zeroed_array mapped(std::size_t count) { return zeroed_array(count, true); }
  /// Of zeros that are mapped already, and this array's to give back.
  zeroed_array(T* first, std::size_t count) noexcept
      : first_(first), bytes_(count * sizeof(T)), is_mapped_(true) {}
  ~zeroed_array() { drop(); }
  zeroed_array(const zeroed_array&) = delete;
  zeroed_array(zeroed_array&& other) noexcept
      : first_(std::exchange(other.first_, nullptr)),
        bytes_(other.bytes_),
        is_mapped_(other.is_mapped_) {}
  zeroed_array& operator=(zeroed_array&& other) noexcept {
    drop();
    first_ = std::exchange(other.first_, nullptr);
    bytes_ = other.bytes_, is_mapped_ = other.is_mapped_;
    return *this;
  }

  /// Of a mapped one: its memory is the system's again, and reads find zeros.
  void give_back() noexcept { ::madvise(first_, bytes_, MADV_DONTNEED); }

  T* data() const noexcept { return first_; }
  T& operator[](std::size_t i) const noexcept { return first_[i]; }

 private:
  static constexpr std::size_t most_of_heap = 64 * 1024;
  static constexpr std::align_val_t alignment{alignof(T) > 64 ? alignof(T) : 64};

  zeroed_array(std::size_t count, bool is_mapped)
      : bytes_(count * sizeof(T)), is_mapped_(is_mapped) {
    if (is_mapped_) {
      void* got = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (got == MAP_FAILED) throw std::bad_alloc();
      first_ = static_cast<T*>(got);
    } else {
      first_ = static_cast<T*>(::operator new(bytes_, alignment));
      std::memset(static_cast<void*>(first_), 0, bytes_);
    }
  }
  void drop() noexcept {
    if (first_ == nullptr) return;
    if (is_mapped_) ::munmap(first_, bytes_);
    else ::operator delete(first_, alignment);
  }

  T* first_ = nullptr;
  std::size_t bytes_ = 0;
  bool is_mapped_ = false;
};

}  // namespace durahash
