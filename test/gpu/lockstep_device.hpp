// A device of host threads: warps in lockstep. A stream is a thread that does one thing after
// another, some time after it was asked for, or only once somebody waits for it; streams do not
// wait for one another.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "durahash/gpu_memory.hpp"
#include "gpu/device.hpp"
#include "gpu/lockstep_side.hpp"
#include "media/process_medium.hpp"

namespace durahash::test {

/// Where `make gpu-report` runs the tests there is one: a test that finds none has failed.
inline bool must_have_a_gpu() {
  const char* set = std::getenv("DURAHASH_REQUIRE_GPU");
  return set != nullptr && *set != 0;
}

/// Whether kernels are interpreted (test/ptx), thousands of times slower than on a device.
inline bool interpreted() {
  static const bool is = [] {
    auto name = gpu::device_name(0);
    return name && name->starts_with("interpreter");
  }();
  return is;
}

/// What one thread does in order; a lazy one when it is waited for. Its destructor waits until all
/// is done.
class work_queue {
 public:
  explicit work_queue(bool lazy) : lazy_(lazy) {}
  ~work_queue() {
    wait_until(asked());
    {
      std::scoped_lock lock(lock_);
      closed_ = true;
    }
    changed_.notify_all();
  }

  void ask(std::function<void()> what) {
    {
      std::scoped_lock lock(lock_);
      waiting_.push_back(std::move(what));
      ++asked_;
    }
    changed_.notify_all();
  }
  std::uint64_t asked() {
    std::scoped_lock lock(lock_);
    return asked_;
  }
  /// Until so many things that were asked for are done.
  void wait_until(std::uint64_t asked) {
    std::unique_lock lock(lock_);
    wanted_ = std::max(wanted_, asked);
    changed_.notify_all();
    changed_.wait(lock, [&] { return done_ >= asked; });
  }

 private:
  void work() {
    std::unique_lock lock(lock_);
    while (true) {
      changed_.wait(lock,
                    [&] { return closed_ || (!waiting_.empty() && (!lazy_ || done_ < wanted_)); });
      if (waiting_.empty()) return;
      std::function<void()> next = std::move(waiting_.front());
      waiting_.pop_front();
      constexpr std::uint64_t late_every = 4;  // who does not wait is ahead of it now
      bool late = !lazy_ && done_ % late_every == 0;
      lock.unlock();
      if (late) std::this_thread::sleep_for(std::chrono::microseconds(200));
      next();
      next = nullptr;
      lock.lock();
      ++done_;
      changed_.notify_all();
    }
  }

  std::mutex lock_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  std::uint64_t asked_ = 0, wanted_ = 0, done_ = 0;
  const bool lazy_;
  bool closed_ = false;
  std::jthread worker_{[this] { work(); }};
};

class lockstep_device final : public gpu::device {
 public:
  explicit lockstep_device(unsigned warps = 2) : warps_(warps) {}

  bool reaches(const void*, std::size_t) const override { return true; }
  error take(std::span<std::byte> memory) override {
    if (refuses_pins) return {status::io_error, "this memory cannot be pinned"};
    if (lacks_memory) throw std::bad_alloc();
    pinned_ += memory.size();
    return {status::ok, {}};
  }
  void release(std::span<std::byte> memory) override { pinned_ -= memory.size(); }
  void* allocate(std::size_t bytes, gpu::memory_kind kind) override {
    if (kind == gpu::memory_kind::own && bytes > max_own_bytes) return nullptr;
    return std::aligned_alloc(line_bytes, align_up(bytes, line_bytes));
  }
  void free(void* memory, gpu::memory_kind) override { std::free(memory); }
  void clear(void* memory, std::size_t bytes) override { std::memset(memory, 0, bytes); }
  error copy(void* to, const void* from, std::size_t bytes) override {
    // finds may mark words of what is copied meanwhile
    auto* into = static_cast<std::uint32_t*>(to);
    auto* out_of = static_cast<std::uint32_t*>(const_cast<void*>(from));
    for (std::size_t n = 0; n < bytes / sizeof(std::uint32_t); ++n)
      std::atomic_ref(into[n]).store(std::atomic_ref(out_of[n]).load(std::memory_order_relaxed),
                                     std::memory_order_relaxed);
    std::size_t words = bytes / sizeof(std::uint32_t) * sizeof(std::uint32_t);
    std::memcpy(static_cast<std::byte*>(to) + words, static_cast<const std::byte*>(from) + words,
                bytes - words);
    return {status::ok, {}};
  }

  bool find(const gpu::leased_table& t, const gpu::batch& b, gpu::stream on) override {
    on_warps(on, t, b,
             [](auto& run, std::size_t first, std::size_t step) { run.find(first, step); });
    return true;
  }
  void write(const gpu::leased_table& t, const gpu::batch& b, gpu::stream on) override {
    on_warps(on, t, b,
             [](auto& run, std::size_t first, std::size_t step) { run.write(first, step); });
  }
  void fill(void* memory, std::uint8_t byte, std::size_t bytes, gpu::stream on) override {
    queue_of(on).ask([=] { std::memset(memory, byte, bytes); });
  }
  void stage(const gpu::leased_table& t, const gpu::batch& b, const gpu::staged_changes& staged,
             gpu::stream on) override {
    ++stages;
    on_warps(on, t, b, [staged](auto& run, std::size_t first, std::size_t step) {
      run.stage(first, step, staged);
    });
  }
  void commit(const gpu::leased_table& t, const gpu::staged_changes& staged, std::size_t count,
              gpu::stream on) override {
    committed += count;
    on_warps(on, t, {}, [staged, count](auto& run, std::size_t first, std::size_t step) {
      run.commit(first, step, staged, count);
    });
  }
  void retry_full(const gpu::batch& b, gpu::stream on) override {
    on_warps(on, gpu::leased_table::none(), b,
             [](auto& run, std::size_t first, std::size_t step) { run.retry_full(first, step); });
  }
  void copy_up(const gpu::leased_table& t, const gpu::leased_level& top, gpu::stream on) override {
    on_warps(on, t, {},
             [buckets = t.bottom_buckets(), top](auto& run, std::size_t first, std::size_t step) {
               run.copy_up(first, step, buckets, top);
             });
  }
  void export_records(const gpu::leased_table& t, std::uint64_t first_bucket, std::uint64_t buckets,
                      const gpu::exported& to, gpu::stream on) override {
    on_warps(on, t, {}, [=](auto& run, std::size_t first, std::size_t every) {
      run.export_records(first_bucket, buckets, to, first, every);
    });
  }
  bool find_rows(const gpu::leased_rows& rows, const gpu::row_batch& b, gpu::stream on) override {
    if (refuses_launches) return false;
    ask_warps(on, [this, rows, b, copies = copies_](std::size_t first, std::size_t step) {
      gpu::lockstep_side<process_medium> side(medium_, turns_, copies);
      gpu::row_search(side, rows).find_all(b, total_, first, step);
    });
    return true;
  }
  bool gather_rows(const gpu::leased_rows& rows, const gpu::gather_batch& b,
                   gpu::stream on) override {
    if (refuses_launches) return false;
    ask_warps(on, [this, rows, b, copies = copies_](std::size_t first, std::size_t step) {
      gpu::lockstep_side<process_medium> side(medium_, turns_, copies);
      gpu::row_gather(side, rows).gather_all(b, total_, first, step);
    });
    return true;
  }
  void write_rows(gpu::row_step step, const gpu::leased_rows& rows, const gpu::row_writes& all,
                  std::size_t count, gpu::stream on) override {
    ++row_steps;
    if (count == 0) return;
    ask_warps(on, [this, step, rows, all, copies = copies_](std::size_t first, std::size_t every) {
      gpu::lockstep_side<process_medium> side(medium_, turns_, copies);
      gpu::row_writer(side, rows, all).run(step, first, every);
    });
  }
  void spread(const gpu::changed_blocks& blocks, gpu::stream on) override {
    ask_warps(on, [blocks](std::size_t first, std::size_t step) {
      gpu::spread_blocks(lockstep_warp(), blocks, first, step);
    });
  }
  void use_copies(const gpu::bucket_copies& copies) override { copies_ = copies; }
  void run_copies(gpu::copies_step step, const gpu::leased_table& t, const gpu::copy_task* tasks,
                  std::size_t count, gpu::stream on) override {
    on_warps(on, t, {}, [=](auto& run, std::size_t first, std::size_t every) {
      run.copies(step, tasks, count, first, every);
    });
  }
  gpu::stream stream_for_copies() override { return &copies_; }  // one that no test has
  void describe(gpu::device_view&) override {}                   // no kernels but the library's
  bool captures(gpu::stream on) const override { return captured && *captured == on; }
  bool sound() const override { return true; }
  error wait(gpu::stream on) override {
    work_queue& queue = queue_of(on);
    queue.wait_until(queue.asked());
    return outcome();
  }
  /// For all that was asked for by now.
  error wait_for_all() override {
    std::vector<std::pair<work_queue*, std::uint64_t>> all;
    {
      std::scoped_lock lock(queues_lock_);
      for (auto& [name, queue] : queues_) all.emplace_back(queue.get(), queue->asked());
    }
    for (auto [queue, asked] : all) queue->wait_until(asked);
    return outcome();
  }
  gpu::tallies counted() override {  // beside finds, which count their looks
    auto now = [](auto& count) { return std::atomic_ref(count).load(); };
    return {now(total_.records),   now(total_.staged), now(total_.moved),
            now(total_.misplaced), now(total_.looks),  now(total_.copies)};
  }

  std::atomic<bool> fails{false};         // the next wait
  std::atomic<int> fails_after{-1};       // the one behind so many more
  std::size_t stages = 0, committed = 0;  // kernels of writes that are staged; changes of keys
  std::size_t row_steps = 0;              // likewise of rows
  bool lacks_memory = false;              // of the process, when the pool has got larger
  bool refuses_pins = false, refuses_launches = false, lazy = false;
  std::size_t max_own_bytes = ~std::size_t{0};  // of one piece
  std::optional<gpu::stream> captured;

  std::size_t pinned_bytes() const noexcept { return pinned_; }

 private:
  error outcome() {
    if (fails_after >= 0 && fails_after-- == 0) fails = true;
    return fails.exchange(false) ? error{status::io_error, "the device failed"}
                                 : error{status::ok, {}};
  }
  /// A kernel: what it is given is what there was when it was asked for.
  template <class Body>
  void on_warps(gpu::stream on, const gpu::leased_table& t, const gpu::batch& b, Body body) {
    ask_warps(on, [this, t, b, body, copies = copies_](std::size_t first, std::size_t step) {
      gpu::lockstep_side<process_medium> side(medium_, turns_, copies);
      gpu::batch_run<gpu::lockstep_side<process_medium>> run(side, t, b, total_);
      body(run, first, step);
    });
  }
  template <class Warp>
  void ask_warps(gpu::stream on, Warp warp) {
    queue_of(on).ask([this, warp] {
      std::vector<std::jthread> threads;
      for (unsigned w = 0; w < warps_; ++w) threads.emplace_back([&, w] { warp(w, warps_); });
    });
  }
  work_queue& queue_of(gpu::stream on) {
    std::scoped_lock lock(queues_lock_);
    std::unique_ptr<work_queue>& queue = queues_[on];
    if (!queue) queue = std::make_unique<work_queue>(lazy);
    return *queue;
  }

  unsigned warps_;
  process_medium medium_;
  gpu::lockstep_turns turns_;
  gpu::bucket_copies copies_;
  gpu::tallies total_;
  std::size_t pinned_ = 0;
  std::mutex queues_lock_;
  std::map<gpu::stream, std::unique_ptr<work_queue>> queues_;  // the last, so that they end first
};

}  // namespace durahash::test
