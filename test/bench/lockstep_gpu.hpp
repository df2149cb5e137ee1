// A device of a benchmark that needs no GPU: threads in lockstep.
#pragma once

#include <cstdlib>
#include <cstring>
#include <memory>

#include "bench/device.hpp"
#include "gpu/map.hpp"
#include "gpu/table.hpp"
#include "test/gpu/lockstep_device.hpp"

namespace durahash::bench {

class threads_in_lockstep : public device {
 public:
  std::string name() const override { return "threads in lockstep"; }
  result<gpu::map> open(const std::string& path, const options& how,
                        const gpu::device_options& on) override {
    return gpu::open_on(std::make_unique<test::lockstep_device>(), path, how, on);
  }
  result<gpu::table> open_rows(const std::string& path, const options& how,
                               const gpu::device_options& on) override {
    return gpu::open_rows_on(std::make_unique<test::lockstep_device>(), path, how, on);
  }
  void* allocate(std::size_t bytes, array_place place) override {
    ++arrays;
    apart += place == array_place::device;
    return std::malloc(bytes);
  }
  void free(void* memory, array_place) override {
    --arrays;
    std::free(memory);
  }
  status copy(void* to, const void* from, std::size_t bytes) override {
    return std::memcpy(to, from, bytes), status::ok;
  }
  std::atomic<int> arrays = 0, apart = 0;
};

}  // namespace durahash::bench
