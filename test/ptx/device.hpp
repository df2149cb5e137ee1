// A GPU that is none: streams whose work is done by interpreting kernels, a few instructions of one
// warp after a few of another, in an order that the seed decides. It gets on only while the program
// calls the runtime: who never waits sees little done.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <mutex>

#include "test/ptx/warp.hpp"

namespace durahash::ptx {

struct device_settings {
  std::uint64_t seed = 1;
  bool quiet = false;          // about faults
  bool weak = false;           // stores are seen late, and in other orders
  walk walks = walk::none;     // one execution after the other, in place of the seed's
  unsigned apart_percent = 5;  // of turns: lanes go apart
  unsigned processors = 1, blocks_per_processor = 8;  // of threads that run at a time
  unsigned first_host_block = ~0u;   // blocks from here on stand for threads of the host's
  int capability = 0;                // 75: 7.5; 0: that of the PTX
  unsigned max_resident_warps = 16;  // of a launch
  std::uint64_t max_instructions = std::uint64_t{1} << 34;  // of a launch
  std::uint64_t max_in_all = ~std::uint64_t{0};             // since the restart
};

using stream_name = void*;

class device {
 public:
  static device& the_one();

  /// Drops what is under way and all that was counted. Memory stays.
  void restart(const device_settings& s);
  /// Drops memory of a program that is over, or that a fault has left without a way to free it.
  void forget_memory();
  const device_settings& settings() const { return settings_; }

  module kernels;
  memory pieces;

  void launch(const kernel& k, std::uint32_t blocks, std::uint32_t threads, void** arguments,
              stream_name on);
  void then(stream_name on, std::function<void()> what);  // a copy, or the like
  void wait(stream_name on);
  void wait_until(stream_name on, const std::function<bool()>& reached);  // of this stream
  void wait_for_all();
  bool idle(stream_name on);
  void get_on();  // a little, as time passes

  /// Calls when so many instructions of warps have been done, since the last restart; the answer
  /// says when next.
  void at_instruction(std::uint64_t number, std::function<std::uint64_t()> what);
  std::uint64_t instructions() const { return instructions_; }
  /// In a walk, between an execution and the restart for the next one. False: that was the last.
  bool advance() { return ways_.advance(); }
  /// The execution that was under way was an earlier one, but for the order of what cannot be told
  /// apart.
  bool was_seen_before() const { return seen_before_; }

  /// What another thread of the program does while one has launched, and not yet recorded.
  std::function<void()> before_a_record;

  /// Empty, or what a kernel did wrong: as after a failed kernel, all calls fail then.
  const std::string& failure() const { return failure_; }
  const counts_by_kernel& counted() const { return counted_; }
  counts_by_kernel& counted() { return counted_; }
  weak_order& weak() { return weak_; }

  /// A lock that knows whether another thread waits for it. To give way to none costs a time slice
  /// where other processes are at work.
  class wanted_lock {
   public:
    void lock() {
      ++wanted_;
      it_.lock();
      --wanted_;
    }
    void unlock() { it_.unlock(); }
    bool is_wanted() const { return wanted_ != 0; }

   private:
    std::recursive_mutex it_;
    std::atomic<unsigned> wanted_{0};
  };
  wanted_lock lock;  // of all of it

 private:
  struct work {
    std::unique_ptr<launched> kernel;
    std::function<void()> call;  // in place of a kernel
    std::deque<std::unique_ptr<warp>> resident;
    std::uint64_t next_warp = 0, instructions = 0;
  };
  struct stream {
    std::deque<work> waiting;
    view seen;  // by all that is done
  };

  bool turn();
  bool settle_if_idle();
  bool do_some(stream& s, work& w);
  bool walk_on(work& w);
  void count_instruction(work& w);
  void refuse_what_does_not_end(const work& w) const;
  void fill(work& w);
  void finish(stream& s);

  device_settings settings_;
  choices ways_;
  weak_order weak_{ways_};
  std::vector<std::vector<lane_values>> spare_;
  std::map<stream_name, stream> streams_;
  counts_by_kernel counted_;
  std::uint64_t instructions_ = 0, next_stop_ = ~std::uint64_t{0}, blocks_ = 0;
  std::function<std::uint64_t()> at_stop_;
  std::string failure_;
  bool seen_before_ = false;
};

}  // namespace durahash::ptx
