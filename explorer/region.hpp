// The memory that stands for a medium in the explorer: bytes at fixed addresses, a length as a file
// has one, and whole states put in and taken back cheaply.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "media/beside_mapping.hpp"
#include "media/mapping.hpp"

namespace durahash::crash {

using bytes = std::vector<std::byte>;

class region {
 public:
  static constexpr std::uint64_t max_bytes = 64 << 20;

  region();
  ~region();
  region(const region&) = delete;

  std::byte* base() noexcept { return base_; }
  std::uint64_t length() const noexcept { return length_; }
  std::uint64_t offset_of(const void* at) const noexcept {
    return static_cast<std::uint64_t>(static_cast<const std::byte*>(at) - base_);
  }

  /// The contents become `image`, the length its size.
  void load(const bytes& image);
  bytes copy() const { return {base_, base_ + length_}; }
  void set_length(std::uint64_t length) noexcept { length_ = length; }

  /// As a process of its own has it that reads beside who has the other one.
  std::unique_ptr<beside_mapping> map_beside();
  /// What no crash leaves (docs/explanation/readers.md), and no trace tells.
  std::byte* readers_line() noexcept { return readers_line_; }

  /// A mapping for a pool. New bytes hold what a device might: anything but zeros. `resized` hears
  /// of every new length.
  std::unique_ptr<mapping> map(std::function<void(std::uint64_t length)> resized);

 private:
  friend class region_mapping;
  friend class region_beside;
  std::byte* base_;
  std::uint64_t length_ = 0;
  alignas(64) std::byte readers_line_[64] = {};
};

}  // namespace durahash::crash
