// What runs the batches of a benchmark, where that is not the processor.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "durahash/gpu_table.hpp"

namespace durahash::bench {

/// Where the arrays of a batch are.
enum class array_place : std::uint8_t {
  host,    // pinned, which the device reads and writes over its bus
  device,  // in the device's memory: copied there and back outside of what is timed
};

/// Tests have one that needs no GPU.
class device {
 public:
  virtual ~device() = default;

  /// For the report.
  virtual std::string name() const = 0;
  virtual result<gpu::map> open(const std::string& path, const options& how,
                                const gpu::device_options& on) = 0;
  virtual result<gpu::table> open_rows(const std::string& path, const options& how,
                                       const gpu::device_options& on) = 0;

  /// Memory for arrays of batches. Null if there is none.
  virtual void* allocate(std::size_t bytes, array_place place) = 0;
  virtual void free(void* memory, array_place place) = 0;
  virtual status copy(void* to, const void* from, std::size_t bytes) = 0;
};

/// Where a device has the table: gpu::table_place, by name.
inline constexpr std::array<std::pair<std::string_view, gpu::table_place>, 4> device_memories{
    {{"automatic", gpu::table_place::automatic},
     {"pool", gpu::table_place::pool},
     {"host-mirror", gpu::table_place::host_mirror},
     {"device-mirror", gpu::table_place::device_mirror}}};
constexpr std::string_view name_of(gpu::table_place place) {
  return device_memories[static_cast<std::size_t>(place)].first;
}

inline constexpr std::array<std::pair<std::string_view, gpu::cache_policy>, 3> cache_policies{
    {{"lfu", gpu::cache_policy::lfu},
     {"lru", gpu::cache_policy::lru},
     {"random", gpu::cache_policy::random}}};
constexpr std::string_view name_of(gpu::cache_policy policy) {
  return cache_policies[static_cast<std::size_t>(policy)].first;
}

/// The CUDA device of that number; or the library's words why it cannot be used. Nothing is made.
result<std::shared_ptr<device>> cuda_device(int number);
/// In its place where none is to be used.
inline result<std::shared_ptr<device>> no_device_wanted() {
  return error{status::unusable, "no device was asked for"};
}

}  // namespace durahash::bench
