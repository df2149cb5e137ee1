// One thread runs at a time; at every access to the medium, and where a thread waits, another one
// may get the turn. Which one is decided by the caller, so that every run can be repeated, and all
// runs of small programs gone through. The library's background work is one more thread.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <semaphore>
#include <string>
#include <utility>
#include <vector>

#include "base/background.hpp"
#include "base/turns.hpp"
#include "explorer/tracer.hpp"

namespace durahash::crash {

/// For runs of one thread: it waits for nobody, or for ever.
class solo final : public turns {
 public:
  void pass() override;
};

/// The same while the library's thread sleeps: of what it is asked it does nothing.
class asleep final : public turns {
 public:
  asleep() : before_(turns::current()) { turns::install(this); }
  ~asleep() override { turns::install(before_); }
  asleep(const asleep&) = delete;

  void pass() override { before_->pass(); }
  bool has_background() const override { return true; }

 private:
  turns* before_;
};

class turn_scheduler final : public turns, public scheduler {
 public:
  using job = background::job;
  /// Who goes on, of `ready`? If not `forced`, the first of them could, and has the turn.
  using decision = std::function<unsigned(const std::vector<unsigned>& ready, bool forced)>;

  /// Runs the bodies as threads 0, 1, ... to their end, and with them, as the last thread, the jobs
  /// that were submitted since the run before.
  void run(const std::vector<std::function<void()>>& bodies, decision decide);

  unsigned thread() override { return running_; }
  void yield() override;

  void pass() override;

  bool has_background() const override { return true; }
  void submit(background& owner, job work) override;
  void drop_jobs(background& owner) override;

 private:
  struct state {
    std::binary_semaphore turn{0};
    bool finished = false;
    // until another thread has got on: till then there is no use in its turn
    bool waits = false;
    bool idle = false;  // has no job
  };
  void do_jobs();
  void next_job();
  void hand_to(unsigned next);
  void choose(bool may_go_on);
  void got_on();

  std::vector<std::unique_ptr<state>> threads_;  // the last one does the jobs
  std::deque<std::pair<background*, job>> jobs_;
  background* busy_ = nullptr;  // whose job runs
  decision decide_;
  unsigned running_ = 0;
  unsigned passes_ = 0;  // in a row, with nobody getting on
  bool active_ = false;
  std::binary_semaphore all_done_{0};
};

}  // namespace durahash::crash
