// A device of host threads: warps in lockstep, each batch done when the call returns.
#pragma once

#include <atomic>
#include <cstdlib>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <set>
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
    if (refuses_pins) return {status::io_error, "this memory cannot be pinned"};
    pinned_ += memory.size();
    return {status::ok, {}};
  }
  void release(std::span<std::byte> memory) override { pinned_ -= memory.size(); }
  void* allocate(std::size_t bytes, gpu::memory_kind kind) override {
    if (kind == gpu::memory_kind::own && bytes > most_own_bytes) return nullptr;
    return std::aligned_alloc(line_bytes, align_up(bytes, line_bytes));
  }
  void free(void* memory, gpu::memory_kind) override { std::free(memory); }
  void clear(void* memory, std::size_t bytes) override { std::memset(memory, 0, bytes); }
  error copy(void* to, const void* from, std::size_t bytes) override {
    auto* into = static_cast<std::uint32_t*>(to);  // all that is copied has whole words, and finds may mark some of them meanwhile
    auto* out_of = static_cast<std::uint32_t*>(const_cast<void*>(from));
    for (std::size_t n = 0; n < bytes / sizeof(std::uint32_t); ++n)
      std::atomic_ref(into[n]).store(std::atomic_ref(out_of[n]).load(std::memory_order_relaxed), std::memory_order_relaxed);
    return {status::ok, {}};
  }

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
  void copy_up(const gpu::lent_table& t, const gpu::lent_level& top, gpu::stream) override {
    on_warps(t, {}, [&](auto& run, std::size_t first, std::size_t step) { run.copy_up(first, step, t.bottom_buckets(), top); });
  }
  void export_records(const gpu::lent_table& t, std::uint64_t first_bucket, std::uint64_t buckets, const gpu::exported& to, gpu::stream) override {
    on_warps(t, {}, [&](auto& run, std::size_t first, std::size_t every) { run.export_records(first_bucket, buckets, to, first, every); });
  }
  void use_copies(const gpu::bucket_copies& copies) override { copies_ = copies; }
  void run_copies(gpu::copies_step step, const gpu::lent_table& t, const gpu::copy_task* tasks, std::size_t count, gpu::stream) override {
    on_warps(t, {}, [&](auto& run, std::size_t first, std::size_t every) { run.copies(step, tasks, count, first, every); });
  }
  gpu::stream stream_for_copies() override { return nullptr; }
  void describe(gpu::device_view&) const override {}  // no kernels but the library's
  error wait(gpu::stream) override { return fails.exchange(false) ? error{status::io_error, "the device failed"} : error{status::ok, {}}; }
  /// All kernels that have begun by now, in threads other than this one.
  error wait_for_all() override {
    std::unique_lock lock(running_lock_);
    std::uint64_t begun = begun_;
    ended_.wait(lock, [&] { return running_.empty() || *running_.begin() >= begun; });
    return {status::ok, {}};
  }
  gpu::tallies counted() override {  // beside finds, which count their looks
    auto now = [](auto& count) { return std::atomic_ref(count).load(); };
    return {now(total_.records), now(total_.full), now(total_.pending), now(total_.moved), now(total_.misplaced), now(total_.looks), now(total_.copies)};
  }

  std::atomic<bool> fails{false};  // the next wait
  bool refuses_pins = false;
  std::size_t most_own_bytes = ~std::size_t{0};  // of one piece

  std::size_t pinned_bytes() const noexcept { return pinned_; }

 private:
  template <class Body>
  void on_warps(const gpu::lent_table& t, const gpu::batch& b, Body body) {
    std::uint64_t number = begin_kernel();
    std::vector<std::jthread> threads;
    for (unsigned w = 0; w < warps_; ++w)
      threads.emplace_back([&, w] {
        gpu::lockstep_side<process_medium> side(medium_, turns_, copies_);
        gpu::batch_run<gpu::lockstep_side<process_medium>> run(side, t, b, total_);
        body(run, w, warps_);
      });
    threads.clear();
    end_kernel(number);
  }
  std::uint64_t begin_kernel() {
    std::scoped_lock lock(running_lock_);
    running_.insert(begun_);
    return begun_++;
  }
  void end_kernel(std::uint64_t number) {
    {
      std::scoped_lock lock(running_lock_);
      running_.erase(number);
    }
    ended_.notify_all();
  }

  unsigned warps_;
  process_medium medium_;
  gpu::lockstep_turns turns_;
  std::mutex running_lock_;
  std::condition_variable ended_;
  std::uint64_t begun_ = 0;
  std::set<std::uint64_t> running_;
  gpu::bucket_copies copies_;
  gpu::tallies total_;
  std::size_t pinned_ = 0;
};

}  // namespace durahash::test
