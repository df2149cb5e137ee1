// A pool's file, mapped to be read beside a writer of another process. Nobody waits for who has it,
// and it may be used in a child of the process that opened it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "durahash/status.hpp"

namespace durahash {

class beside_mapping {
 public:
  /// The file is not cut while this is there.
  static result<std::unique_ptr<beside_mapping>> open(const std::string& path);
  virtual ~beside_mapping();
  beside_mapping(const beside_mapping&) = delete;

  const std::byte* base() const noexcept { return base_; }
  std::uint64_t bytes() const noexcept { return mapped_.load(std::memory_order_acquire); }
  /// Whether [offset, offset + bytes) can be read. Maps what the file has grown by.
  bool holds(std::uint64_t offset, std::uint64_t bytes) noexcept {
    const std::uint64_t have = this->bytes();
    return (bytes <= have && offset <= have - bytes) || holds_now(offset, bytes);
  }
  int descriptor() const noexcept { return descriptor_; }
  /// Whether some process has the pool to write to it.
  virtual bool writer_is_there() const noexcept;

 protected:
  beside_mapping() = default;
  /// Opens the file, with a share of its length; sets addresses aside for it.
  error open_file(const std::string& path);
  virtual bool holds_now(std::uint64_t offset, std::uint64_t bytes) noexcept;
  /// How much of the file the addresses have room for, in whole pages; 0 where that is not known.
  std::uint64_t bytes_now() const noexcept;
  std::uint64_t addresses() const noexcept { return reserved_; }
  void set_bytes(std::uint64_t bytes) noexcept { mapped_.store(bytes, std::memory_order_release); }
  std::byte* base_ = nullptr;

 private:
  bool map_more() noexcept;

  std::uint64_t reserved_ = 0;
  int descriptor_ = -1;
  std::atomic<std::uint64_t> mapped_{0};
};

/// What the writer shows of its memory, mapped to be read: null, if this process may not look.
class shown_memory {
 public:
  shown_memory(std::uint64_t process, int descriptor) noexcept;
  ~shown_memory();
  shown_memory(const shown_memory&) = delete;
  const std::byte* at() const noexcept { return at_; }
  std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  const std::byte* at_ = nullptr;
  std::uint64_t bytes_ = 0;
};

}  // namespace durahash
