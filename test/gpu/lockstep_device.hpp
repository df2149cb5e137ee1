// A device of host threads: warps in lockstep, each batch done when the call returns.
#pragma once

#include <cstdlib>
#include <thread>
#include <utility>
#include <vector>

#include "gpu/device.hpp"
#include "gpu/lockstep_side.hpp"
#include "media/process_medium.hpp"

namespace durahash::test {

class lockstep_device final : public gpu::device {
 public:
  explicit lockstep_device(unsigned warps = 2) : warps_(warps) {}

  error take(std::span<std::byte> memory) override {
    pinned_ += memory.size();
    return {status::ok, {}};
  }
  void release(std::span<std::byte> memory) override { pinned_ -= memory.size(); }
  void* allocate(std::size_t bytes) override { return std::calloc(1, bytes); }
  void free(void* memory) override { std::free(memory); }

  void find(const gpu::lent_table& t, const gpu::batch& b, gpu::stream) override {
    on_warps(t, b, [](auto& run, std::size_t first, std::size_t step) { run.find(first, step); });
  }
  void write(const gpu::lent_table& t, const gpu::batch& b, gpu::stream) override {
    on_warps(t, b, [](auto& run, std::size_t first, std::size_t step) { run.write(first, step); });
  }
  void begin(const gpu::batch& b, gpu::stream) override { std::fill_n(b.answers, b.count, gpu::pending); }
  void stage(const gpu::lent_table& t, const gpu::batch& b, gpu::change* changes, gpu::stream) override {
    on_warps(t, b, [&](auto& run, std::size_t first, std::size_t step) { run.stage(first, step, changes); });
  }
  void commit(const gpu::lent_table& t, const gpu::batch& b, const gpu::change* changes, gpu::stream) override {
    on_warps(t, b, [&](auto& run, std::size_t first, std::size_t step) { run.commit(first, step, changes); });
  }
  void retry_full(const gpu::batch& b, gpu::stream) override {
    on_warps(gpu::lent_table::none(), b, [](auto& run, std::size_t first, std::size_t step) { run.retry_full(first, step); });
  }
  error wait(gpu::stream) override { return std::exchange(fails, false) ? error{status::io_error, "the device failed"} : error{status::ok, {}}; }
  error wait_for_all() override { return {status::ok, {}}; }
  gpu::tallies counted() override { return total_; }

  bool fails = false;  // the next wait

  std::size_t pinned_bytes() const noexcept { return pinned_; }

 private:
  template <class Body>
  void on_warps(const gpu::lent_table& t, const gpu::batch& b, Body body) {
    std::vector<std::jthread> threads;
    for (unsigned w = 0; w < warps_; ++w)
      threads.emplace_back([&, w] {
        gpu::lockstep_side<process_medium> side(medium_, turns_);
        gpu::batch_run<gpu::lockstep_side<process_medium>> run(side, t, b, total_);
        body(run, w, warps_);
      });
  }

  unsigned warps_;
  process_medium medium_;
  gpu::lockstep_turns turns_;
  gpu::tallies total_;
  std::size_t pinned_ = 0;
};

}  // namespace durahash::test
